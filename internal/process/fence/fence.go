// Package fence finds out whether this process is inside a run, where an agent may be the one who acts and not the person. Commands that only a
// person may give ask it.
//
//	found := fence.Find([]string{"/run/plimsoll"})
//
// An agent can give a command another environment, another session and another parent, so the environment does not decide alone. What a process
// cannot shed does: its control group, and the processes above it, among which is the supervisor that adopts what loses its parent
// (PR_SET_CHILD_SUBREAPER, on Linux). A supervisor is known by its claim in the ledger, and by the name of its program. Where the processes above
// cannot be followed to the end, as in a PID namespace of one's own, a run that lives elsewhere is enough: what cannot be decided counts as inside.
//
// No fence can tell who is behind a process that something else started for the agent (systemd-run, at, cron, a container's daemon), and one that
// outlives its run without a control group is nobody's child any more. On macOS and Windows nobody adopts for the supervisor.
package fence

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// program is the name of the program that supervises runs.
const program = "plimsoll"

// maxAncestors bounds how far up the processes are followed. No person's shell is so deep below the first process.
const maxAncestors = 4096

// Finding is the run around this process, with the evidence. The zero value is outside of every run.
type Finding struct {
	// Run is the run's id, "" where it is not known, and outside.
	Run string
	// Why is the evidence in words, "" outside.
	Why string
}

// Inside reports whether an agent may be behind this process.
func (f Finding) Inside() bool { return f.Why != "" }

// Find looks for a run around this process. ledgers are the runtime directories whose claims count; one that does not exist is no error.
func Find(ledgers []string) Finding {
	if id := os.Getenv(sandbox.CookieName); id != "" {
		return Finding{id, fmt.Sprintf("%s=%.64s is in its environment", sandbox.CookieName, id)}
	}
	if id, group := sandbox.OwnGroup(); id != "" {
		return Finding{id, "it is in the control group " + group}
	}
	var claims []admission.Supervisor
	for _, dir := range ledgers {
		list, err := admission.Supervisors(dir)
		if err != nil {
			return Finding{Why: "it cannot be told which runs there are: " + err.Error()}
		}
		claims = append(claims, list...)
	}
	above, unseen := listAncestors(os.Getpid())
	for _, p := range above {
		if f := checkAncestor(p, claims); f.Inside() {
			return f
		}
	}
	if unseen != nil {
		for _, c := range claims {
			if own := c.Here() && c.PID == os.Getpid(); !own && c.Alive() {
				return Finding{c.Run, fmt.Sprintf("run %s lives, and it cannot be told whether this process is below it: %v", c.Run, unseen)}
			}
		}
	}
	return checkNamespace(claims)
}

// checkAncestor reports whether one process above this one supervises a run, is this program, or has the cookie of a run in its environment.
func checkAncestor(p proctree.Process, claims []admission.Supervisor) Finding {
	for _, c := range claims {
		if c.PID == p.PID && c.Here() && (c.Start == p.Start || c.Start == 0 && c.Alive()) {
			return Finding{c.Run, fmt.Sprintf("process %d above it supervises run %s", p.PID, c.Run)}
		}
	}
	if isProgramName(p.Name) || isProgramName(readProgramName(p.PID)) {
		return Finding{Why: fmt.Sprintf("process %d above it is %s", p.PID, program)}
	}
	if id := readCookie(p.PID); id != "" {
		return Finding{id, fmt.Sprintf("%s=%.64s is in the environment of process %v above it", sandbox.CookieName, id, p)}
	}
	return Finding{}
}

// isProgramName reports whether a process's name is that of the program that supervises runs.
func isProgramName(name string) bool {
	return strings.TrimSuffix(strings.ToLower(name), ".exe") == program
}

// listAncestors returns the processes above pid, the nearest first. err says why there may be more of them.
func listAncestors(pid int) (list []proctree.Process, err error) {
	p, err := proctree.Lookup(pid)
	for err == nil && p.PPID > 0 && p.PID != 1 {
		if len(list) == maxAncestors {
			return list, fmt.Errorf("more than %d processes are above it", maxAncestors)
		}
		var parent proctree.Process
		if parent, err = proctree.Lookup(p.PPID); err != nil {
			// A parent that has just ended has left its child to another one.
			if again, gone := proctree.Lookup(p.PID); gone == nil && again.Start == p.Start && again.PPID != p.PPID {
				p, err = again, nil
				continue
			}
			if !adopted {
				return list, nil // the number is of a parent that ended, and this is the top
			}
			return list, fmt.Errorf("process %d above it cannot be seen", p.PPID)
		}
		if parent.Start > p.Start && !adopted {
			return list, nil // another process has the number of the parent that ended
		}
		list, p = append(list, parent), parent
	}
	if errors.Is(err, proctree.ErrGone) {
		err = errors.New("a process above it ended while it was looked at")
	}
	return list, err
}
