package extract

import (
	"slices"
	"strings"
	"sync"
)

// A vocabulary is words by their first byte, so that a text is gone through once. It is made when it is first wanted: most commands
// extract nothing.
type vocabulary func() *[256][]string

func vocabularyOf(words []string) vocabulary {
	return sync.OnceValue(func() *[256][]string {
		var v [256][]string
		for _, w := range words {
			v[w[0]] = append(v[w[0]], w)
		}
		return &v
	})
}

// maxBegins is how many words are told apart; more say no more.
const maxBegins = 3

// begins counts the words of a vocabulary that stand in a text, each at the start of a word.
// Scripts that write without spaces have none.
func (v vocabulary) begins(text string) (n int) {
	words := v()
	var found [maxBegins]string
	for at := range len(text) {
		c := text[at]
		if len(words[c]) == 0 || c >= 'A' && c < 0xE0 && at > 0 && class[text[at-1]] != 0 && class[text[at-1]] != 'p' {
			continue
		}
		for _, w := range words[c] {
			if strings.HasPrefix(text[at:], w) && !slices.Contains(found[:n], w) {
				if found[n], n = w, n+1; n == maxBegins {
					return n
				}
				break
			}
		}
	}
	return n
}
