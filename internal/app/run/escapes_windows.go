package run

import (
	"os"

	"golang.org/x/sys/windows"
)

// drawsEscapes reports whether the console of standard error understands escape sequences.
// It is not told to: the setting belongs to the console, which the command shares.
func drawsEscapes() bool {
	var mode uint32
	err := windows.GetConsoleMode(windows.Handle(os.Stderr.Fd()), &mode)
	return err == nil && mode&windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING != 0
}
