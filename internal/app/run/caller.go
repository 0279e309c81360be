package run

import (
	"os"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// findCaller returns the program that talks to the command over standard input, such as an editor, with which the run ends; nil for none.
// It starts a guard process that cleans up in case that program's end kills both the command and this process.
func (x *process) findCaller() *sandbox.Caller {
	caller, ok := sandbox.FindCaller()
	if !ok {
		return nil
	}
	self, err := os.Executable()
	if err == nil && x.claim != nil {
		var dismiss func()
		if dismiss, err = sandbox.Guard(self, self, "gc"); err == nil {
			x.closer.Do(dismiss)
		}
	}
	if err != nil {
		x.report.warn("caller", "what the run leaves if both it and plimsoll are killed waits for the next command: "+err.Error())
	}
	return &caller
}
