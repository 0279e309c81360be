package admission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// maxSupervisors bounds the claims that [Supervisors] reads: more than a host has processes by default.
const maxSupervisors = 65536

// Supervisor is the process that holds a claim.
type Supervisor struct {
	// Run is the claim's id.
	Run string
	Owner
	dir *Ledger
}

// Alive reports whether the process still holds the claim. It tries the claim's lock and not the process, which may be in another PID
// namespace.
func (s Supervisor) Alive() bool {
	f, err := openRegular(s.dir.claimLock(s.Run), os.O_RDWR)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // what cannot be read is not known to be dead
	}
	defer f.Close()
	ok, err := filelock.Try(f, filelock.Shared)
	return err != nil || !ok
}

// Here reports whether PID is a number in this process's own PID namespace.
func (s Supervisor) Here() bool { return s.PIDNamespace == pidNamespace() }

// Supervisors returns the owners of all claims in a runtime directory, dead ones too, and takes no lock. It is nil where no run has ever
// been. With an error nothing is returned.
func Supervisors(dir string) ([]Supervisor, error) {
	l := peeked(dir)
	ids, all, err := l.claimNames(maxSupervisors)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the claims of runs: %w", err)
	case !all:
		return nil, fmt.Errorf("read the claims of runs: %s holds too many files", l.claims())
	}
	var list []Supervisor
	for _, id := range ids {
		s := Supervisor{Run: id, dir: l}
		c, err := l.readClaimFile(id)
		if err != nil && s.Alive() { // what was left damaged by a dead one says nothing of anybody
			return nil, fmt.Errorf("read the claim of run %s: %w", id, err)
		}
		if err == nil {
			s.Owner = c.Entry.Owner
			list = append(list, s)
		}
	}
	return list, nil
}
