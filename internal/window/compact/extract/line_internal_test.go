package extract

import "testing"

func TestOnlyReads(t *testing.T) {
	for command, want := range map[string]bool{
		"cat a.go | head":                      true,
		"cd x && sed -n 1,20p a.go":            true,
		"sed 's/a/b/' a.go":                    true,
		"sed -i 's/a/b/' a.go":                 false,
		"sed -Ei.bak 's/a/b/' a.go":            false,
		"sed --in-place=.bak -e s/a/b/ a.go":   false,
		"git diff && /usr/bin/sed -i s/a/b/ x": false,
		"make":                                 false,
	} {
		if got := onlyReads(command); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

func TestCues(t *testing.T) {
	for text, want := range map[string]cue{
		"you must not rename it":                cueConstraint,
		"the keymust be there":                  0,
		"the keymust is read and must be there": cueConstraint,
		"terror, horror and mirror":             0,
		"a mirror with an error":                cueError,
	} {
		if got := cuesIn(text, cueConstraint|cueError, nil); got != want {
			t.Errorf("%q: %b, want %b", text, got, want)
		}
	}
}
