package modelapi

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// maxText bounds the text of an error in bytes.
const maxText = 300

// hidden stands for a credential.
const hidden = "[hidden]"

// Secrets returns a key and the values of headers that may be credentials: short ones are none,
// and hiding them would hide common words.
func Secrets(key string, header map[string]string) []string {
	list := []string{key}
	for _, value := range header {
		if len(value) >= 8 {
			list = append(list, value)
		}
	}
	return list
}

// replacer hides secrets. Those of less than four characters are skipped, because hiding them would hide common words.
func replacer(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < 4 {
			continue
		}
		pairs = append(pairs, s, hidden)
		// "Bearer sk-…" as a header's value is said again without its first word.
		if _, token, ok := strings.Cut(s, " "); ok && len(token) >= 8 {
			pairs = append(pairs, token, hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// clean makes a text one printable line of at most maxText bytes.
func clean(s string) string {
	var b strings.Builder
	space := false
	for i, r := range s {
		switch {
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				r = '?'
			}
		case unicode.IsSpace(r) || !unicode.IsPrint(r):
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return limit.Short(b.String(), maxText)
}

// sanitize makes a text of the endpoint's safe to show. Secrets are hidden before the text is cut, so that no part of one remains.
func (e *Endpoint) sanitize(s string) string { return clean(e.secrets.Replace(s)) }
