//go:build !linux

package proctree

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/plimsoll/plimsoll/limit"
)

// Tree is a process and all its descendants. Make one with [New]. Where the system is not
// Linux it takes a snapshot of all processes at each scan.
type Tree struct {
	o    Options
	self int
	root identity

	mu        sync.Mutex
	closed    bool
	members   []*member
	byID      map[identity]*member
	past      pidRing
	highWater limit.Bytes
	counters  Counters
}

// testOptions: a snapshot cannot be recorded.
type testOptions struct{}

type member struct {
	Process
	private, resident limit.Bytes
	seen              uint64
}

// New identifies the root; call Scan to fill the tree. It fails without a root, and where the system does not let the processes be listed.
func New(o Options) (*Tree, error) {
	if o.Root <= 0 {
		return nil, fmt.Errorf("proctree: root %d: want the PID of a process", o.Root)
	}
	if o.MaxMembers <= 0 {
		o.MaxMembers = DefaultMaxMembers
	}
	t := &Tree{o: o, self: os.Getpid(), root: identity{pid: o.Root}, byID: make(map[identity]*member)}
	if _, err := listProcesses(); err != nil {
		return nil, fmt.Errorf("proctree: list processes: %w", err)
	}
	t.root.start = StartTime(o.Root)
	return t, nil
}

// Close removes all members. Scan of a closed tree returns an error.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.members = nil
	clear(t.byID)
	return nil
}

// Scan finds new members and drops those that ended. It fails only when the processes
// cannot be listed at all.
func (t *Tree) Scan() (Changes, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var changes Changes
	if t.closed {
		return changes, errors.New("proctree: scan of a closed tree")
	}
	t.counters.Scans++
	all, err := listProcesses()
	if err != nil {
		return changes, fmt.Errorf("proctree: list processes: %w", err)
	}
	now := make(map[int]Process, len(all))
	for _, p := range all {
		now[p.PID] = p
		if m := t.byID[p.identity()]; m != nil {
			m.Process, m.seen = p, t.counters.Scans
		}
	}
	for added := true; added; {
		added = false
		for _, p := range all {
			if t.byID[p.identity()] != nil || !t.belongs(p, now) {
				continue
			}
			if len(t.members) >= t.o.MaxMembers {
				t.counters.OverMembers++
				continue
			}
			if t.o.Exclude != nil && !t.isRoot(p) && t.o.Exclude(p) {
				continue
			}
			m := &member{Process: p, seen: t.counters.Scans}
			t.byID[p.identity()] = m
			t.members = append(t.members, m)
			changes.Appeared = append(changes.Appeared, p)
			added = true
		}
	}
	t.members = slices.DeleteFunc(t.members, func(m *member) bool {
		if m.seen == t.counters.Scans {
			return false
		}
		delete(t.byID, m.identity())
		if t.past.add(m.PID) {
			t.counters.ForgottenLeaders++
		}
		changes.Gone = append(changes.Gone, m.Process)
		return true
	})
	return changes, nil
}

// belongs reports whether p is a member of the tree: by its parent, which must not be younger than p (Windows gives a parent's number to
// somebody else), and for orphans by the process group. now has all processes by pid.
func (t *Tree) belongs(p Process, now map[int]Process) bool {
	if t.isRoot(p) {
		return true
	}
	if p.PID == t.self || p.Start < t.root.start {
		return false
	}
	if parent, ok := now[p.PPID]; ok && parent.PID != p.PID && parent.Start <= p.Start && t.byID[parent.identity()] != nil {
		return true
	}
	if !orphansGoToInit || p.PPID != 1 || p.PGID <= 0 {
		return false
	}
	leader, alive := now[p.PGID]
	return alive && t.byID[leader.identity()] != nil || !alive && t.past.has(p.PGID)
}

// maxBytes is the most that one process is believed to hold, so that sums stay positive.
const maxBytes = 1 << 46

// Members returns the processes of the tree as the last scan left them, in the order in
// which they were found.
func (t *Tree) Members() []Process { return t.AppendMembers(nil) }

// AppendMembers appends the processes that Members returns to out, for callers that look again and again.
func (t *Tree) AppendMembers(out []Process) []Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		out = append(out, m.Process)
	}
	return out
}

// Contains reports whether the process with this PID is a member, as of the last scan.
func (t *Tree) Contains(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.members, func(m *member) bool { return m.PID == pid })
}

// Measure reads the memory of every member that the last scan found.
func (t *Tree) Measure() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	var u Usage
	for _, m := range t.members {
		m.private, m.resident = 0, 0
		if m.Zombie() {
			continue
		}
		private, resident, err := readMemory(m.Process)
		if err != nil {
			u.Unreadable++
			continue
		}
		private, resident = min(private, maxBytes), min(resident, maxBytes)
		m.private, m.resident = private, resident
		u.Processes++
		u.Anon = addSaturating(u.Anon, private)
		u.RSS = addSaturating(u.RSS, resident)
		u.Shared = max(u.Shared, resident-min(resident, private))
		if private > u.LargestBytes {
			u.Largest, u.LargestBytes = m.Process, private
		}
		t.highWater = max(t.highWater, resident)
	}
	u.HighWater = t.highWater
	return u
}

// Precise returns the result of Measure: this system has no more exact figure.
func (t *Tree) Precise() Usage { return t.Measure() }

// Largest returns the member that held the most private memory at the last measurement, and the bytes it held. ok is false when no member
// was measured.
func (t *Tree) Largest(excludeRoot bool) (p Process, held limit.Bytes, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if excludeRoot && t.isRoot(m.Process) {
			continue
		}
		if m.private > held {
			p, held, ok = m.Process, m.private, true
		}
	}
	return p, held, ok
}

// EachHeld calls take for the members that held private memory at the last measurement, with their names and those bytes, until it returns
// false.
func (t *Tree) EachHeld(take func(name string, held limit.Bytes) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.private > 0 && !take(m.Name, m.private) {
			return
		}
	}
}

// RaiseOOMScore does nothing: only Linux has OOM scores.
func (t *Tree) RaiseOOMScore(int) (raised int, err error) { return 0, nil }

// ownsGroup returns false: groups are signalled at once on Linux only.
func (t *Tree) ownsGroup(int) bool { return false }

// isSettled returns true: a snapshot leaves nothing undecided.
func (t *Tree) isSettled() bool { return true }

// stopGroup does nothing: groups are signalled at once on Linux only.
func stopGroup(int) {}

// raisePriority does nothing here; on Linux it raises the priority of the calling thread.
func raisePriority() (done func()) { return func() {} }

// scanLiving scans and returns the living members, without the root when spareRoot is true.
func (t *Tree) scanLiving(spareRoot bool) ([]Process, error) {
	if _, err := t.Scan(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Process
	for _, m := range t.members {
		if !m.Zombie() && !(spareRoot && t.isRoot(m.Process)) {
			out = append(out, m.Process)
		}
	}
	return out, nil
}

// OOMScoreAdj does nothing: only Linux has OOM scores.
func OOMScoreAdj(pid, value int) (changed bool, err error) { return false, nil }

// OOMScoreAs does nothing: only Linux has OOM scores.
func OOMScoreAs(pid, model int) error { return nil }

// Dying returns false: here it is not known whether a process is about to end.
func Dying(int) bool { return false }
