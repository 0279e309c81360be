// Package proctree finds all descendants of a process, measures them and ends them. It is the machinery under the sandbox's tree monitor and the
// pressure watcher.
//
//	tree, err := proctree.New(proctree.Options{Root: cmd.Process.Pid, Cookie: "PLIMSOLL_RUN_ID=" + id, Subreaper: true})
//	changes, err := tree.Scan() // who came, who went
//	usage := tree.Measure()     // memory of all of them
//	left, err := tree.KillTree(ctx, proctree.KillOptions{Grace: 2 * time.Second})
//
// To a tree belong its root, every process whose parent belongs, and one whose ancestry is lost and that gives evidence of where it came from; see
// [Options]. What escapes: an orphan that began a session of its own and wiped its environment while its parent and grandparent died between two
// scans, without a subreaper. In the steady state neither Scan nor Measure allocates; `go run ./bench monitor` measures the whole.
//
// All methods of a Tree may be called from any goroutine; they take turns. On macOS and Windows the cookie, the subreaper and Precise have no
// effect, and neither has been proven on a real machine. Everywhere else New says that it is unsupported.
package proctree

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// ErrGone is wrapped by every error that says that a process no longer exists, or that
// its number now belongs to another one.
var ErrGone = errors.New("the process is gone")

// Process describes one process as it was when it was last looked at.
type Process struct {
	PID, PPID int
	// PGID and SID are the process group and session (0 where the system has none).
	PGID, SID int
	// Start is the start time, which differs for two processes that had the same PID. It is comparable only with other Start values of this
	// machine and boot: clock ticks since boot on Linux, microseconds since 1970 on macOS, 100 ns units since 1601 on Windows.
	Start uint64
	// Name is the command name; Linux cuts it to 15 bytes, and it may hold any byte.
	Name string
	// State is the kernel's letter for the state (R, S, D, Z, T, …), or 0 where it is not known.
	State byte
	// CPU is the processor time that it has used, its threads' included and its children's not; negative
	// where it is not known.
	CPU time.Duration
	// Waited is the processor time of its children that have ended and that it has waited for, theirs included; 0 where it is not known.
	Waited time.Duration
	// Threads is the number of threads, or 0 where it is not known.
	Threads int

	kernel bool // a thread of the kernel, which has no environment
	ending bool // its first thread is on the way out, or out
}

// Zombie reports whether nothing of p is left but its exit status. A process whose first
// thread ended before the others shows state Z too, but is alive.
func (p Process) Zombie() bool {
	return (p.State == 'Z' || p.State == 'X') && p.Threads <= 1
}

// StartTime returns the start time of the process with this PID, as in [Process.Start]; 0 if it has gone or cannot be read.
func StartTime(pid int) uint64 {
	p, err := Lookup(pid)
	if err != nil {
		return 0
	}
	return p.Start
}

// Alive reports whether the process that had this PID and start time still runs. It is false for a zombie.
func Alive(pid int, start uint64) bool {
	p, err := Lookup(pid)
	return err == nil && p.Start == start && !p.Zombie()
}

// Name returns the command name of a process; "" when there is none.
func Name(pid int) string {
	p, _ := Lookup(pid)
	return p.Name
}

// String returns the pid and the name of p for messages: `123 (node)`.
func (p Process) String() string { return fmt.Sprintf("%d (%s)", p.PID, p.Name) }

// identity returns the numbers that tell the process from a later one with the same PID.
func (p Process) identity() identity { return identity{p.PID, p.Start} }

type identity struct {
	pid   int
	start uint64
}

// Defaults of [Options].
const (
	// DefaultMaxMembers bounds the members of a tree. It is twice the usual pid_max of 32768.
	DefaultMaxMembers = 65536
	// DefaultMaxOpenFiles bounds the statm files kept open; a quarter of the soft limit
	// of open files (RLIMIT_NOFILE) bounds them too.
	DefaultMaxOpenFiles = 512
	// DefaultPreciseLargest is the number of processes that [Tree.Precise] asks for exact figures.
	DefaultPreciseLargest = 32
)

// MaxOOMScore is the oom_score_adj with which the kernel ends a process first when memory runs out (OOM_SCORE_ADJ_MAX in
// include/uapi/linux/oom.h).
const MaxOOMScore = 1000

// Options configure a [Tree].
type Options struct {
	// Root is the PID the tree grows from. It may already have ended: its descendants are
	// then found by the other evidence. 0 means that there is no root, and that the
	// cookie is looked for in every process (to find what a dead run left behind).
	Root int
	// Cookie is an environment entry, NAME=VALUE, that the root was started with and that
	// no process outside the tree carries. Empty: not used.
	Cookie string
	// Subreaper is true when this process adopts the tree's orphans
	// (PR_SET_CHILD_SUBREAPER): its children that are younger than the root belong to the
	// tree, unless Exclude takes them out.
	Subreaper bool
	// Exclude, if set, is asked once about each process that would become a member; true
	// leaves it and its descendants out. It is called while the tree is locked and must
	// not call it.
	Exclude func(Process) bool
	// Spare, if set, is asked about each member whose score [Tree.RaiseOOMScore] would raise; true leaves the member alone until the next
	// call, and out of what [Tree.Largest] returns when the root is excluded. It is called while the tree is locked and must not call it.
	Spare func(Process) bool
	// Since leaves out processes whose ancestry is lost and that started before (a
	// [Process.Start] value). 0: when the root started.
	Since uint64
	// MaxMembers bounds the tree (DefaultMaxMembers).
	MaxMembers int
	// MaxOpenFiles bounds the files kept open (DefaultMaxOpenFiles); negative keeps none.
	MaxOpenFiles int
	// PreciseLargest bounds what Precise reads (DefaultPreciseLargest).
	PreciseLargest int

	testing testOptions
}

// Changes is the result of a scan.
type Changes struct {
	// Appeared are the processes that became members, ancestors before descendants.
	Appeared []Process
	// Gone are the members that no longer exist.
	Gone []Process
}

// Usage is the memory of the tree at one moment. All sizes are in bytes.
type Usage struct {
	// Processes is the number of members measured, zombies not among them.
	Processes int
	// Anon is private memory: heaps, stacks, written copies. When Precise is false it sums resident minus shared: tmpfs and memfd pages are
	// not in it, and pages that a fork still shares with its parent are in it twice.
	Anon limit.Bytes
	// RSS is everything resident; when Precise is false a page that several processes
	// share counts once for each of them.
	RSS limit.Bytes
	// Shared is file and tmpfs pages: when Precise is false those of the process that has
	// most of them, which is a lower bound for the tree.
	Shared limit.Bytes
	// Shmem is tmpfs, memfd and shared anonymous memory that is mapped (0 unless Precise).
	Shmem limit.Bytes
	// Swap is the memory that was swapped out, each shared page once (0 unless Precise).
	Swap limit.Bytes
	// HighWater is the largest resident size of any one member since New, file pages included, as the kernel recorded it on Linux and as it
	// was measured elsewhere: a lower bound of the tree's peak.
	HighWater limit.Bytes
	// Data is the largest data segment (with stacks, in use or not, which RLIMIT_DATA bounds) that any one member was seen with since New;
	// 0 outside of Linux.
	Data limit.Bytes
	// Largest is the member with the most private memory, the root included, and
	// LargestBytes what it holds; see [Tree.Largest] for the largest descendant.
	Largest      Process
	LargestBytes limit.Bytes
	// Precise is true when shared pages were counted once, for all but Estimated processes.
	Precise bool
	// Estimated is the number of processes of a precise figure that were too small to be asked, or
	// did not allow it, and count with their private resident memory instead.
	Estimated int
	// Unreadable is the number of members that could not be measured at all.
	Unreadable int
}

// Working returns the memory the tree cannot give back without swapping: anonymous, tmpfs and
// what is already swapped out.
func (u Usage) Working() limit.Bytes { return u.Anon + u.Shmem + u.Swap }

// Counters count what a [Tree] did, and what its bounds left out.
type Counters struct {
	// Scans is the number of times the processes were listed.
	Scans uint64
	// StatReads is the number of times a process had to be asked for its identity.
	StatReads uint64
	// CookieReads is the number of environments searched.
	CookieReads uint64
	// OverMembers counts processes left out because the tree was full.
	OverMembers uint64
	// OverKnown counts processes outside the tree that were too many to remember, and
	// were asked again.
	OverKnown uint64
	// ForgottenLeaders counts former members whose session could no longer be remembered.
	ForgottenLeaders uint64
	// Reopened counts readings of a process whose file could not be kept open.
	Reopened uint64
	// OOMScoreFailed counts members whose OOM score could not be raised.
	OOMScoreFailed uint64
	// OpenFiles is the number of files kept open now.
	OpenFiles int
}

// Counters returns the counts so far.
func (t *Tree) Counters() Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counters
}

// isRoot reports whether p is the process the tree grows from.
func (t *Tree) isRoot(p Process) bool { return t.root.start != 0 && p.identity() == t.root }

// Fate is the end of a leftover.
type Fate string

// The fates of a [Leftover].
const (
	// Terminated: it ended by itself or on SIGTERM.
	Terminated Fate = "terminated"
	// Killed: it had to be killed.
	Killed Fate = "killed"
	// Survived: it is still there, for instance blocked in the kernel.
	Survived Fate = "survived"
)

// Leftover is one process that [Tree.KillTree] found, and its fate.
type Leftover struct {
	Process
	Fate Fate
}

// addSaturating returns a + b, and at most the largest size.
func addSaturating(a, b limit.Bytes) limit.Bytes {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// pidRing holds the pids of the last 4096 members that ended.
type pidRing struct {
	set   map[int]struct{}
	order []int
	next  int
}

const maxPast = 4096

// add adds pid and reports whether an older one was dropped for it.
func (r *pidRing) add(pid int) (forgot bool) {
	if r.set == nil {
		r.set = make(map[int]struct{})
	}
	if _, ok := r.set[pid]; ok {
		return false
	}
	r.set[pid] = struct{}{}
	if len(r.order) < maxPast {
		r.order = append(r.order, pid)
		return false
	}
	old := r.order[r.next]
	r.order[r.next] = pid
	r.next = (r.next + 1) % maxPast
	_, forgot = r.set[old]
	delete(r.set, old)
	return forgot
}

// has reports whether a pid is among the last that ended.
func (r *pidRing) has(pid int) bool { _, ok := r.set[pid]; return ok }

// remove takes a pid out, because another process has it now.
func (r *pidRing) remove(pid int) { delete(r.set, pid) }
