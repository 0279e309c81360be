package shellwords

import (
	"errors"
	"strings"
)

// Split splits as a POSIX shell does, without expanding anything; operators and # are letters like any other. A backslash before a line feed joins two lines.
// The error names what is not closed.
func Split(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	in := false // a word, also an empty one in quotes
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		case '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				return nil, errors.New("a ' is not closed")
			}
			word.WriteString(text[i+1 : i+1+end])
			i += end + 1
			in = true
		case '"':
			in = true
			for i++; ; i++ {
				if i >= len(text) {
					return nil, errors.New(`a " is not closed`)
				}
				if text[i] == '"' {
					break
				}
				if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("\"\\$`\n", text[i+1]) >= 0 {
					if i++; text[i] == '\n' {
						continue
					}
				}
				word.WriteByte(text[i])
			}
		case '\\':
			if i++; i == len(text) {
				return nil, errors.New(`it ends with a \`)
			}
			if text[i] != '\n' {
				word.WriteByte(text[i])
				in = true
			}
		default:
			word.WriteByte(c)
			in = true
		}
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// Quote returns a word so quoted that a POSIX shell, and [Split], read it back. Within single quotes nothing has a meaning but the quote
// itself. fish knows the same quotes, for texts without a ' or \.
func Quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
