package run

import (
	"errors"
	"os/exec"
)

// isRelativeDot reports whether err only says that PATH found the program in the working directory. That is accepted: it is the user's
// PATH.
func isRelativeDot(err error) bool { return errors.Is(err, exec.ErrDot) }
