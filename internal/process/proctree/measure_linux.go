package proctree

import (
	"cmp"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// largeResident is the resident size from which a newly met process is asked for its
	// high-water mark at once, rather than in its turn.
	largeResident = 32 * limit.MiB
	// hwmTurns is the number of measurements in which every member is asked once for its high-water mark: reading status costs ten times as
	// much as statm.
	hwmTurns = 16
)

// Measure reads the memory of every member the last scan found, from /proc/PID/statm. It does not allocate. The kernel's counters are
// approximate: up to about 64 pages per CPU or thread may not have reached them. See [Usage] for what the figures mean.
func (t *Tree) Measure() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.measureLocked()
}

// measureLocked reads the memory of all members, and of some in turn also the highest they have had. The caller holds t.mu.
func (t *Tree) measureLocked() Usage {
	var u Usage
	var largest *member
	for _, m := range t.members {
		pages, ok := t.readStatm(m)
		if !ok {
			m.private, m.resident = 0, 0
			u.Unreadable++
			continue
		}
		if pages.resident == 0 {
			m.private, m.resident = 0, 0
			if !t.measureByThreads(m, &pages) {
				continue
			}
		}
		m.private = limit.Bytes(pages.privatePages()) * t.pageSize
		m.resident = limit.Bytes(pages.resident) * t.pageSize
		t.data = max(t.data, limit.Bytes(pages.data)*t.pageSize)
		u.Processes++
		u.Anon = addSaturating(u.Anon, m.private)
		u.RSS = addSaturating(u.RSS, m.resident)
		u.Shared = max(u.Shared, m.resident-m.private)
		if largest == nil || m.private > largest.private {
			largest = m
		}
		if m.resident >= largeResident && !m.hwmRead {
			t.readHighWater(m)
		}
	}
	for range (len(t.members) + hwmTurns - 1) / hwmTurns {
		t.hwmCursor = (t.hwmCursor + 1) % len(t.members)
		t.readHighWater(t.members[t.hwmCursor])
	}
	if largest != nil {
		u.Largest, u.LargestBytes = largest.Process, largest.private
	}
	t.highWater = max(t.highWater, u.LargestBytes)
	u.HighWater, u.Data = t.highWater, t.data
	return u
}

// readStatm reads m's statm file, and keeps it open for the next time while MaxOpenFiles allows; false if it cannot be read.
func (t *Tree) readStatm(m *member) (statm, bool) {
	fd := m.statm
	if fd < 0 {
		var err error
		if fd, err = t.open(m.PID, "statm"); err != nil {
			return statm{}, false
		}
		if t.counters.OpenFiles < t.o.MaxOpenFiles {
			// The path may lead to another process by now; only a file whose process is
			// the one meant is kept.
			if p, err := t.readStat(m.PID); err != nil || p.Start != m.Start {
				unix.Close(fd)
				return statm{}, false
			}
			m.statm = fd
			t.counters.OpenFiles++
		} else {
			t.counters.Reopened++
			defer unix.Close(fd)
		}
	}
	for {
		n, err := unix.Pread(fd, t.buf[:256], 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return statm{}, false
		}
		pages, err := parseStatm(t.buf[:n])
		return pages, err == nil
	}
}

// closeStatm closes the statm file of a member, if it is kept open.
func (t *Tree) closeStatm(m *member) {
	if m.statm >= 0 {
		unix.Close(m.statm)
		m.statm = -1
		t.counters.OpenFiles--
	}
}

// measureByThreads measures a member without resident memory: a zombie, or a process whose first thread has ended before the others, whose memory
// only its other threads show. It reports whether pages now holds that memory.
func (t *Tree) measureByThreads(m *member, pages *statm) bool {
	if m.Process.Zombie() {
		return false
	}
	if !t.reread(m) || m.State != 'Z' || m.Threads < 2 {
		return false
	}
	dir, err := t.open(m.PID, "task")
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	n, err := unix.Getdents(dir, t.dirents)
	if err != nil || n <= 0 {
		return false
	}
	for tid := range direntPIDs(t.dirents[:n]) {
		if tid == m.PID {
			continue
		}
		n, err := t.readFile(m.PID, "task/"+strconv.Itoa(tid)+"/statm", t.buf)
		if err != nil {
			continue
		}
		if *pages, err = parseStatm(t.buf[:n]); err == nil && pages.resident > 0 {
			return true
		}
	}
	return false
}

// readHighWater adds the largest resident size that the kernel recorded for m to t.highWater.
func (t *Tree) readHighWater(m *member) {
	n, err := t.readFile(m.PID, "status", t.buf)
	if err != nil {
		return
	}
	if hwm, ok := parseKilobytes(t.buf[:n], "VmHWM"); ok {
		m.hwmRead = true
		t.highWater = max(t.highWater, hwm)
	}
}

// Precise measures like Measure and then asks the kernel for the proportional figures of
// the largest members ([Options.PreciseLargest]), so that shared pages count once and
// tmpfs and swap are seen. It costs 50 to 500 microseconds for each of them, more for
// processes of many GiB: ask only when Measure comes near a limit.
func (t *Tree) Precise() Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.measureLocked()
	u.Precise = true
	order := slices.Clone(t.members)
	sorting.By(order, func(a, b *member) int { return cmp.Compare(b.resident, a.resident) })
	u.Anon, u.RSS, u.Shared, u.Largest, u.LargestBytes = 0, 0, 0, Process{}, 0
	for i, m := range order {
		if m.resident == 0 {
			break
		}
		held := m.private
		r, err := rollup{}, error(nil)
		if i < t.o.PreciseLargest {
			var n int
			if n, err = t.readFile(m.PID, "smaps_rollup", t.buf); err == nil {
				r, err = parseRollup(t.buf[:n])
			}
		}
		if err != nil || i >= t.o.PreciseLargest {
			u.Estimated++
			u.Anon = addSaturating(u.Anon, m.private)
			u.RSS = addSaturating(u.RSS, m.private)
		} else {
			held = addSaturating(r.anon, addSaturating(r.shmem, r.swap))
			u.Anon = addSaturating(u.Anon, r.anon)
			u.RSS = addSaturating(u.RSS, r.rss)
			u.Shmem = addSaturating(u.Shmem, r.shmem)
			u.Swap = addSaturating(u.Swap, r.swap)
			u.Shared = addSaturating(u.Shared, addSaturating(r.file, r.shmem))
		}
		if held > u.LargestBytes {
			u.Largest, u.LargestBytes = m.Process, held
		}
	}
	return u
}

// Largest returns the member with the most private memory at the last measurement, with its present name, and the bytes it held then.
// excludeRoot leaves out the root and the members that [Options].Spare has spared. ok is false when no member is left.
func (t *Tree) Largest(excludeRoot bool) (p Process, held limit.Bytes, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var largest *member
	for _, m := range t.members {
		if excludeRoot && (m.spared || t.isRoot(m.Process)) || m.resident == 0 {
			continue
		}
		if largest == nil || m.private > largest.private {
			largest = m
		}
	}
	if largest == nil {
		return Process{}, 0, false
	}
	t.reread(largest)
	return largest.Process, largest.private, true
}

// EachHeld calls take for the members that held private memory at the last measurement, with their names and those bytes, until it returns
// false. A name is read again when a member has grown to twice what it held: perhaps as another program.
func (t *Tree) EachHeld(take func(name string, held limit.Bytes) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.members {
		if m.private == 0 {
			continue
		}
		if m.private > 2*m.named {
			m.named = m.private
			t.reread(m)
		}
		if !take(m.Name, m.private) {
			return
		}
	}
}
