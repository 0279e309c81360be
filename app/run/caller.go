package run

import (
	"os"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// findCaller finds the editor, or whoever else started this process to talk to the command over standard input: the run ends with it.
// Should both be killed at once, a guard beside us cleans up. nil: nobody does.
func (x *process) findCaller() *sandbox.Caller {
	caller, ok := sandbox.FindCaller()
	if !ok {
		return nil
	}
	self, err := os.Executable()
	if err == nil && x.claim != nil {
		var dismiss func()
		if dismiss, err = sandbox.Guard(self, self, "gc"); err == nil {
			x.cleanup = append(x.cleanup, dismiss)
		}
	}
	if err != nil {
		x.report.warn("caller", "what the run leaves if both it and plimsoll are killed waits for the next command: "+err.Error())
	}
	return &caller
}
