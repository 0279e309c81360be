package admission

import (
	"crypto/rand"
	"os"
	"strings"
)

// Owner is the process that holds a claim, for people and for signals. Whether it
// lives shows in the lock on its claim file and in nothing else.
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

// Self returns the owner that this process is.
func Self() Owner { return self() }

// Boot names this start of the machine, where the system tells one from another, else the machine.
func Boot() string { return strings.TrimSpace(bootID()) }

func self() Owner {
	pid := os.Getpid()
	return Owner{Boot: fileName(bootID()), PIDNamespace: pidNamespace(), PID: pid, Start: startTime(pid)}
}

// alive reports whether the process still exists: it is asked only when a claim's lock
// file is gone. One of another PID namespace (another container) cannot be seen and counts as alive, since
// a claim too many does less harm than cleaning up after a run that goes on.
func (o Owner) alive(us Owner) bool {
	if o.PIDNamespace != us.PIDNamespace {
		return true
	}
	return o.Start != 0 && startTime(o.PID) == o.Start
}

// gone reports whether the process is known to have ended: a process that we cannot see is not.
func (o Owner) gone(us Owner) bool {
	return o.Start != 0 && o.PIDNamespace == us.PIDNamespace && o.PIDNamespace != 0 && startTime(o.PID) != o.Start
}

// ended works like gone for a process whose number nobody has: cheap, and false for one that is dead and not waited for yet.
func (o Owner) ended(us Owner) bool {
	return o.PID > 0 && o.PIDNamespace == us.PIDNamespace && processEnded(o.PID)
}

// fileName makes s fit for one path element.
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

// validByte reports the bytes that a claim id may have.
func validByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// NewID names a run: 60 random bits, in the alphabet that cgroups, units and files share.
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
