package run

import (
	"errors"
	"os/exec"
)

// isRelativeDot accepts what PATH finds in the working directory: the user's PATH says
// so, and a wrapper has no business deciding otherwise.
func isRelativeDot(err error) bool { return errors.Is(err, exec.ErrDot) }
