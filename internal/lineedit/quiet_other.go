//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package lineedit

import (
	"os"

	"golang.org/x/term"
)

// setQuiet sets a terminal to its state between two prompts: as it was before.
func setQuiet(f *os.File, before *term.State) error { return term.Restore(int(f.Fd()), before) }
