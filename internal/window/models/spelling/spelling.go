// Package spelling brings the names of models into one spelling, so that the table of
// windows and a lookup in it agree: "claude-sonnet-4.5", "Claude-Sonnet-4-5" and
// "claude_sonnet_4_5" are one model.
//
//	spelling.Fold("Qwen/Qwen3.5:free") // "qwen/qwen3-5-free"
//
// It is a pure function, shared by the generator of the table and its reader.
package spelling

// MaxName is the longest name that is folded; the rest of a longer one is cut off. The
// longest in the catalogue has 80 bytes, an ARN in front of one at most 120 more.
const MaxName = 256

// Fold puts ASCII letters into lower case and replaces every byte that is no letter, digit or "/" by "-". It cuts a name at MaxName bytes.
func Fold(name string) string {
	name = name[:min(len(name), MaxName)]
	b := []byte(name)
	for i, c := range b {
		switch {
		case c >= 'A' && c <= 'Z':
			b[i] = c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '/':
		default:
			b[i] = '-'
		}
	}
	return string(b)
}
