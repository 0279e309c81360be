package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Member is one process of a run as it was when it was looked at.
type Member struct {
	PID, Parent int
	// Start is its start time, by which it is told from a later process with the same PID.
	Start uint64
	// Name may hold any byte.
	Name string
	// State is the kernel's letter for its state (R, S, D, T, …), or 0 where it is not known.
	State byte
	// Memory is its private resident memory in bytes.
	Memory limit.Bytes
	// CPU is the processor time that it has used; negative where it is not known.
	CPU time.Duration
	// Age is the time since it started; 0 where it is not known.
	Age time.Duration
	// Command is true for the run's command and for the processes that lead from it to the agent.
	Command bool
	// Orphan is true when its parent has ended and the parent that it has now is not in the run.
	Orphan bool
	// Daemon is true for an orphan that was meant to outlive its parent: it leads a session of its own, as a daemon does, or ignores SIGHUP
	// though the command does not, as under nohup.
	Daemon bool
}

// maxFamily bounds what [Run.Family] and [Family] return; beyond it the youngest are left out.
const maxFamily = 4096

// Family returns the processes of the run, those of inner runs included, ancestors before descendants, at most 4096.
// It is nil once the run is over.
//
// A process whose parent has ended gets another one: the next subreaper above it, or init. Where that one is outside of the run, the
// process is an orphan. A subreaper inside the run (an init of a container, a plimsoll) adopts the orphans below it.
func (r *Run) Family() []Member {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if r.over {
		return nil
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	family := r.watch.livingMembers()
	return membersOf(family, r.watch.protectedPIDs(family))
}

// EachProcess calls take for the processes that [Run.Family] returns, including the command, in any order. Memory, Age, Orphan and Daemon are
// not set, since finding them out takes more than one file. take must not call the run.
func (r *Run) EachProcess(take func(Member)) {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	if r.over {
		return
	}
	r.watch.mu.Lock()
	defer r.watch.mu.Unlock()
	family := r.watch.livingMembers()
	protected := r.watch.protectedPIDs(family)
	for _, p := range family[:min(len(family), maxFamily)] {
		take(Member{PID: p.PID, Parent: p.PPID, Start: p.Start, Name: p.Name, State: p.State, CPU: p.CPU, Command: protected[p.PID]})
	}
}

// eachMemory calls yield with the name and the private memory of each process of the run. A tree has just been measured; in a group, each
// process is asked. The caller holds w.mu.
func (w *watcher) eachMemory(yield func(string, limit.Bytes) bool) {
	if w.tree != nil {
		w.tree.EachHeld(yield)
		return
	}
	for _, p := range w.livingMembers() {
		if !yield(p.Name, privateMemory(p.PID)) {
			return
		}
	}
}

// Family returns the processes of a run that another process supervises. supervisor is the pid of that process, 0 if it is dead. The processes
// are found by the groups in r, else by the command in r and, on Linux, by the cookie in their environments.
func Family(r Remains, supervisor int) ([]Member, error) {
	if !validID(r.ID) {
		return nil, fmt.Errorf("list the processes of a run: its ID is %q", r.ID)
	}
	family, err := findFamily(r)
	if err != nil {
		return nil, err
	}
	// In cgroup v1 a thread of the supervisor is in the groups while it forks, and the kernel lists its process.
	family = slices.DeleteFunc(family, func(p proctree.Process) bool { return p.PID == supervisor })
	// The command is the first child of the supervisor. Later ones were adopted.
	protected := map[int]bool{}
	var first *proctree.Process
	for i, p := range family {
		if p.PID == r.PID && p.Start == r.Start || supervisor > 0 && p.PPID == supervisor && r.PID == 0 && (first == nil || p.Start < first.Start) {
			first = &family[i]
		}
	}
	if first != nil {
		protected[first.PID] = true
	}
	return membersOf(family, protected), nil
}

// membersOf describes the processes of one run, ancestors first. protected has the pids of the command and of those that lead to the agent.
func membersOf(family []proctree.Process, protected map[int]bool) []Member {
	sorting.By(family, func(a, b proctree.Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	family = family[:min(len(family), maxFamily)]
	in := make(map[int]bool, len(family))
	nohup := false // the command itself ignores SIGHUP, and so do all
	for _, p := range family {
		in[p.PID] = true
		nohup = nohup || protected[p.PID] && ignoresHangup(p.PID)
	}
	list := make([]Member, len(family))
	for i, p := range family {
		m := Member{
			PID: p.PID, Parent: p.PPID, Start: p.Start, Name: p.Name, State: p.State, CPU: p.CPU,
			Memory: privateMemory(p.PID), Age: processAge(p), Command: protected[p.PID],
		}
		if !m.Command && !in[p.PPID] {
			m.Orphan = true
			m.Daemon = p.SID == p.PID || !nohup && ignoresHangup(p.PID)
		}
		list[i] = m
	}
	return list
}

// EndMember sends a process of the run SIGTERM, or SIGKILL when kill is true; a stopped one is then continued, so that it can act on
// SIGTERM. The signal never reaches another process that has the PID by now. It is an error when m is the command or the run is over; a
// process that has ended is none.
func (r *Run) EndMember(m Member, kill bool) error {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	c := Child{PID: m.PID, Start: m.Start, Name: m.Name}
	if err := r.checkChild(c); err != nil {
		return err
	}
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	err := proctree.Signal(c.process(), sig)
	if err == nil && !kill && m.State == 'T' {
		err = signalAll([]proctree.Process{c.process()}, false)
	}
	if errors.Is(err, proctree.ErrGone) {
		return nil
	}
	return err
}

// Adopts reports whether the run's orphans become children of this process.
func (r *Run) Adopts() bool { return r.adopts }

// launchers are commands that start another one and then only wait for it. npm gives its
// process the title "npm exec PACKAGE".
var launchers = []string{
	"sh", "bash", "dash", "zsh", "ash", "busybox", "env", "nice", "timeout", "stdbuf", "sudo",
	"npx", "npm", "pnpm", "yarn", "bunx", "uv", "uvx", "pipx",
}

// isLauncherName reports whether the first word of a process's name is that of a launcher.
func isLauncherName(name string) bool {
	word, _, _ := strings.Cut(name, " ")
	return slices.Contains(launchers, word)
}
