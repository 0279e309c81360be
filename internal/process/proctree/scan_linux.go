package proctree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sys/unix"
)

// candidate is a process that a scan saw for the first time.
type candidate struct {
	Process
	inode uint64
	state candidateState
}

type candidateState uint8

const (
	undecided candidateState = iota
	outside
	inside
)

// Scan finds new members and drops those that ended. When nothing changed it allocates
// nothing. It fails only when the processes cannot be listed at all.
func (t *Tree) Scan() (Changes, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.scanLocked()
}

// scanLocked works like Scan; the caller holds t.mu.
func (t *Tree) scanLocked() (Changes, error) {
	var changes Changes
	if t.closed {
		return changes, errors.New("proctree: scan of a closed tree")
	}
	t.scan++
	t.counters.Scans++
	t.fresh, t.undecided = t.fresh[:0], 0
	same, err := t.listProcesses()
	if err != nil {
		return changes, fmt.Errorf("proctree: list %s: %w", t.procDir, err)
	}
	t.rereadNewMembers()
	added := 0
	if len(t.fresh) > 0 {
		before := len(t.members)
		added = t.readFresh(&changes)
		changes.Appeared = slices.Grow(changes.Appeared, len(t.members)-before)
		for _, m := range t.members[before:] { // drop leaves the list as it is
			changes.Appeared = append(changes.Appeared, m.Process)
		}
	}
	if same+added < len(t.known) {
		t.dropUnseen(&changes)
	}
	if len(changes.Gone) > 0 {
		t.members = slices.DeleteFunc(t.members, func(m *member) bool { return m.gone })
	}
	return changes, nil
}

// listProcesses reads the directory of processes. It marks the entries that are the same as last time, returns their number, and collects the others
// in t.fresh.
func (t *Tree) listProcesses() (same int, err error) {
	if _, err := unix.Seek(t.dir, 0, unix.SEEK_SET); err != nil {
		return 0, err
	}
	for {
		n, err := unix.Getdents(t.dir, t.dirents)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return same, err
		}
		same += t.listEntries(t.dirents[:n])
	}
}

// listEntries does the work of listProcesses for one buffer of directory entries.
func (t *Tree) listEntries(b []byte) (same int) {
	for pid, inode := range direntPIDs(b) {
		if e := t.known[pid]; e != nil && e.inode == inode {
			e.scan = t.scan
			same++
		} else {
			t.fresh = append(t.fresh, listed{pid, inode})
		}
	}
	return same
}

// direntPIDs yields the entries of one getdents buffer that are numbers, with their
// inodes. An entry is: inode (8 bytes), offset (8), length of the entry (2), type (1), and
// the name, ending in NUL.
func direntPIDs(b []byte) iter.Seq2[int, uint64] {
	const header = 8 + 8 + 2 + 1
	return func(yield func(int, uint64) bool) {
		for len(b) > header {
			length := int(binary.NativeEndian.Uint16(b[16:]))
			if length <= header || length > len(b) {
				return
			}
			if pid := direntPID(b[header:length]); pid > 0 && !yield(pid, binary.NativeEndian.Uint64(b)) {
				return
			}
			b = b[length:]
		}
	}
}

// direntPID returns the number that name consists of, up to its NUL; 0 when it is not a number.
func direntPID(name []byte) int {
	pid := 0
	for _, c := range name {
		if c == 0 {
			return pid
		}
		if c < '0' || c > '9' || pid > 1<<30/10 {
			return 0
		}
		pid = pid*10 + int(c-'0')
	}
	return 0
}

// rereadNewMembers reads the members that were new in the last scan once more: a process is
// often first seen between fork and exec, with its parent's name, group and session.
func (t *Tree) rereadNewMembers() {
	for i, m := range t.recheck {
		t.recheck[i] = nil
		if !m.gone {
			t.reread(m)
		}
	}
	t.recheck = t.recheck[:0]
}

// reread reads m again and reports whether it is still the same process; when not, m stays as it was.
func (t *Tree) reread(m *member) bool {
	p, err := t.readStat(m.PID)
	if err != nil || p.Start != m.Start {
		return false
	}
	m.Process = p
	if p.Zombie() && m.ended == 0 {
		m.ended = t.scan
	}
	return true
}

// readFresh reads the stat files of the fresh processes and decides which of them are members. It returns how many entries it added to, or confirmed
// in, t.known for this scan.
func (t *Tree) readFresh(changes *Changes) (added int) {
	clear(t.pending)
	if most := 256; len(t.fresh) > cap(t.candidates) && cap(t.candidates) < most {
		t.candidates = make([]candidate, 0, min(len(t.fresh)+len(t.fresh)/2+8, most))
	}
	t.candidates = t.candidates[:0]
	for _, f := range t.fresh {
		p, err := t.readStat(f.pid)
		if err != nil {
			// It ended meanwhile; the sweep drops an entry it may have had. It may have
			// left a child that only the next listing shows.
			t.undecided++
			continue
		}
		if e := t.known[f.pid]; e != nil {
			if e.start == p.Start && (e.inode != 0 || e.m != nil) {
				// The same process under a new inode: the kernel had dropped its
				// directory entry for want of memory, or it was met as a parent.
				e.inode, e.scan = f.inode, t.scan
				added++
				continue
			}
			if e.m != nil {
				t.forgetMember(e.m, changes)
				delete(t.known, f.pid)
			}
		}
		// The kernel gives a number out again only when no session and no group is named
		// after it any more.
		t.past.remove(f.pid)
		t.pending[f.pid] = t.newCandidate(p, f.inode)
	}
	for _, f := range t.fresh {
		if c := t.pending[f.pid]; c != nil {
			t.decide(c)
		}
	}
	for pid := range t.pending {
		if e := t.known[pid]; e != nil && e.scan == t.scan {
			added++
		}
	}
	return added
}

// newCandidate returns a candidate that is valid until the next scan, which uses its memory again: on a busy host many processes come and
// go that do not belong to the tree.
func (t *Tree) newCandidate(p Process, inode uint64) *candidate {
	if len(t.candidates) == cap(t.candidates) {
		return &candidate{Process: p, inode: inode}
	}
	t.candidates = append(t.candidates, candidate{Process: p, inode: inode})
	return &t.candidates[len(t.candidates)-1]
}

// decide decides about c after its ancestors that are not decided yet.
func (t *Tree) decide(c *candidate) {
	chain := t.chain[:0]
	for c.state == undecided && len(chain) <= len(t.pending) {
		chain = append(chain, c)
		parent := t.pending[c.PPID]
		if parent == nil && c.PPID > 0 && t.known[c.PPID] == nil {
			parent = t.findParent(c)
		}
		if parent == nil {
			break
		}
		c = parent
	}
	t.chain = chain[:0]
	for _, c := range slices.Backward(chain) {
		if c.state == undecided {
			t.settleCandidate(c)
		}
	}
}

// findParent returns the parent of c if the listing did not show it; nil if there is none. Either the parent began after the listing had passed its
// number, or it has ended, and c has another parent by now.
func (t *Tree) findParent(c *candidate) *candidate {
	for range 4 {
		if p, err := t.readStat(c.PPID); err == nil {
			parent := t.newCandidate(p, 0)
			t.pending[p.PID] = parent
			return parent
		}
		again, err := t.readStat(c.PID)
		if err != nil || again.Start != c.Start || again.PPID == c.PPID {
			return nil
		}
		c.Process = again
		if parent := t.pending[c.PPID]; parent != nil {
			return parent
		}
		if t.known[c.PPID] != nil {
			return nil
		}
	}
	return nil
}

// dropUnseen drops the entries that this scan did not see.
func (t *Tree) dropUnseen(changes *Changes) {
	for pid, e := range t.known {
		if e.scan == t.scan {
			continue
		}
		delete(t.known, pid)
		if e.m != nil {
			t.forgetMember(e.m, changes)
		} else if len(t.spare) < cap(t.spare) {
			t.spare = append(t.spare, e)
		}
	}
}

// forgetMember forgets a member that ended; the scan takes it out of the list when it is through.
func (t *Tree) forgetMember(m *member, changes *Changes) {
	t.closeStatm(m)
	m.gone = true
	if m.ended == 0 && m.PID > t.lastPID {
		t.undecided++
	}
	changes.Gone = append(changes.Gone, m.Process)
	if t.past.add(m.PID) {
		t.counters.ForgottenLeaders++
	}
}
