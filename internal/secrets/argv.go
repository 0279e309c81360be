package secrets

import "strings"

// Argv is a command line fit to be kept: what follows a flag with the name of a secret is masked, and in every other word
// what its shape gives away, as [Text] does.
func Argv(argv []string) []string {
	out := make([]string, len(argv))
	hide := false
	for i, word := range argv {
		switch {
		case hide && !Harmless(word):
			out[i] = Hidden
		default:
			out[i] = Text(word)
			if name, value, ok := strings.Cut(word, "="); ok && Flag(name) && !Harmless(value) {
				out[i] = name + "=" + Hidden
			}
		}
		hide = !hide && Flag(word)
		if hide && i+1 < len(argv) && !NumbersToo(word) && isNumber(argv[i+1]) {
			hide = false // --max-tokens 4096
		}
	}
	return out
}

func isNumber(word string) bool { return word != "" && strings.Trim(word, "0123456789") == "" }
