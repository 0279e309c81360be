package core

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Before, every error of the ledger started the run, under `required` too.
func TestOnlyALedgerThatCannotBeWrittenStartsRunsUncoordinated(t *testing.T) {
	off := func(err error) error { return &admission.UnavailableError{Dir: "/run/x", Err: err} }
	for _, test := range []struct {
		name   string
		err    error
		starts bool
	}{
		{"no runtime directory", &admission.UnavailableError{Dir: admission.NoDir, Err: errors.New("belongs to user 7")}, true},
		{"no permission", off(&fs.PathError{Op: "open", Path: "lock", Err: fs.ErrPermission}), true},
		{"the lock is held", off(fmt.Errorf("lock: %w", admission.ErrLocked)), false},
		{"a newer version's ledger", off(admission.ErrNewer), false},
		{"too many open files", off(errors.New("too many open files")), false},
		{"anything else", errors.New("who knows"), false},
	} {
		for _, enforcement := range []config.Enforcement{"best-effort", "off", "required"} {
			err := MayBeUncoordinated(enforcement, test.err)
			if want := test.starts && enforcement != "required"; (err == nil) != want {
				t.Errorf("%s under %s: %v", test.name, enforcement, err)
			}
		}
	}
}
