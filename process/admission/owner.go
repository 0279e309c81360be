package admission

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// Owner is the process that holds a claim, for people and for signals. Whether it lives is told by the lock on its claim file alone.
type Owner struct {
	// Boot identifies the host and its boot.
	Boot string `json:"boot"`
	// PIDNamespace is the inode of its PID namespace (Linux), 0 where there is none: PID means
	// something only inside it.
	PIDNamespace uint64 `json:"pid_namespace,omitempty"`
	// PID is its process id.
	PID int `json:"pid"`
	// Start is the time at which the process began in the kernel's own unit (Linux: clock ticks since
	// boot, field 22 of /proc/PID/stat), 0 where it is not known. With PID it names one process.
	Start uint64 `json:"start,omitempty"`
}

// Self returns this process as an owner.
func Self() Owner { return self() }

// Boot returns a name for the time since this machine was started; where the system does not tell one start from another, a name for the
// machine.
func Boot() string { return strings.TrimSpace(bootID()) }

// self returns this process as an owner.
func self() Owner {
	pid := os.Getpid()
	return Owner{Boot: fileName(bootID()), PIDNamespace: pidNamespace(), PID: pid, Start: startTime(pid)}
}

// isAlive reports whether the process still exists. It is asked only when a claim's lock file is gone. A process of another PID namespace (another
// container) cannot be seen from us and counts as alive, since a claim too many does less harm than cleaning up after a run that goes on.
func (o Owner) isAlive(us Owner) bool {
	if o.PIDNamespace != us.PIDNamespace {
		return true
	}
	return o.Start != 0 && startTime(o.PID) == o.Start
}

// isGone reports whether the process is known to have ended; false for a process that us cannot see.
func (o Owner) isGone(us Owner) bool {
	return o.Start != 0 && o.PIDNamespace == us.PIDNamespace && o.PIDNamespace != 0 && startTime(o.PID) != o.Start
}

// Gone reports whether the process, one of this boot, is known to have ended; false for a process that cannot be seen from here.
func (o Owner) Gone() bool { return o.isGone(self()) }

// hasNoPID reports whether no process has the owner's pid any more. It is cheaper than isGone, and false for a process that is dead and was not
// waited for yet. On Windows it is always true for a process of ours.
func (o Owner) hasNoPID(us Owner) bool {
	return o.PID > 0 && o.PIDNamespace == us.PIDNamespace && processEnded(o.PID)
}

// fileName returns s as one path element of at most 64 bytes: each character that [validByte] does not accept becomes "-", and "" becomes
// "unknown".
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x80 && validByte(byte(r)) {
			return r
		}
		return '-'
	}, strings.TrimSpace(s))
	if s == "" {
		return "unknown"
	}
	return s[:min(len(s), 64)]
}

// validByte reports whether a claim ID may have the byte c.
func validByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// NewID returns a new ID for a run: 60 random bits, in letters and digits that cgroups, units and files all accept.
func NewID() string { return strings.ToLower(rand.Text()[:12]) }

// ValidID reports whether id can name a claim: 1 to 64 letters, digits, - and _.
func ValidID(id string) bool {
	if len(id) == 0 || len(id) > 64 {
		return false
	}
	for i := range len(id) {
		if !validByte(id[i]) {
			return false
		}
	}
	return true
}

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
// namespace. If the lock cannot be tried, it reports true.
func (s Supervisor) Alive() bool {
	f, err := openRegular(s.dir.claimLockPath(s.Run), os.O_RDWR)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // what cannot be read is not known to be dead
	}
	defer f.Close()
	ok, err := filelock.Try(f, filelock.Shared)
	return err != nil || !ok
}

// Here reports whether PID is a number in this process's own PID namespace.
func (s Supervisor) Here() bool { return s.PIDNamespace == pidNamespace() }

// Supervisors returns the owners of all claims in a runtime directory, dead ones too, and takes no lock. It is nil without an error where no
// run has ever been. It is an error if there are too many claims, or one that is held cannot be read.
func Supervisors(dir string) ([]Supervisor, error) {
	l := unopened(dir)
	ids, all, err := l.claimNames(maxSupervisors)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the claims of runs: %w", err)
	case !all:
		return nil, fmt.Errorf("read the claims of runs: %s holds too many files", l.claimsDir())
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
