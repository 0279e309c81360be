package run

import (
	"errors"
	"os/exec"
)

// isRelativeDot reports whether err only says that PATH found the program in the working directory, which is accepted as the user's wish.
func isRelativeDot(err error) bool { return errors.Is(err, exec.ErrDot) }
