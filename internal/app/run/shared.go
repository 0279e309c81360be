package run

import (
	"fmt"
	"runtime"

	"github.com/plimsoll/plimsoll/process/admission"
)

// sharedNotes returns sentences for doctor about the directory that shares claims between users, and what is seen there.
func sharedNotes(dir string) []string {
	if dir == "" {
		if runtime.GOOS == "windows" { // where nothing could be set
			return nil
		}
		return []string{"Runs of other users are not seen: no shared_ledger is set."}
	}
	others, warnings, err := admission.Others(dir)
	if err != nil {
		return []string{"Runs of other users are not seen: " + err.Error() + "."}
	}
	runs := "runs"
	if len(others) == 1 {
		runs = "run"
	}
	notes := []string{fmt.Sprintf("Claims are shared with other users through %s: %d %s of theirs seen now.", dir, len(others), runs)}
	for _, w := range warnings {
		notes = append(notes, w.Text)
	}
	return notes
}
