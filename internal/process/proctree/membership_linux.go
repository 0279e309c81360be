package proctree

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// maxUndecided bounds the time for which a process without an environment is looked at again. An exec takes milliseconds, on a machine that
// is out of memory perhaps a second.
const maxUndecided = 2 * time.Second

// settleCandidate decides whether a candidate, whose parent is decided, belongs to the tree, and records the result. If that is not certain, the
// next scan asks again.
func (t *Tree) settleCandidate(c *candidate) {
	e := t.known[c.PID]
	if e == nil || e.start != c.Start {
		if last := len(t.spare) - 1; last >= 0 {
			e, t.spare = t.spare[last], t.spare[:last]
			*e = entry{start: c.Start}
		} else {
			e = &entry{start: c.Start}
		}
	}
	e.inode, e.scan = c.inode, t.scan
	c.state = outside
	belongs, sure := t.belongs(c.Process)
	if !belongs && sure {
		// The parent may have ended after c named it; then c has been handed on.
		if p, err := t.readStat(c.PID); err == nil && p.Start == c.Start && p.PPID != c.PPID {
			c.Process = p
			belongs, sure = t.belongs(p)
		}
	}
	switch {
	case !belongs:
		if !sure {
			if e.undecided.IsZero() {
				e.undecided = time.Now()
			}
			if time.Since(e.undecided) < maxUndecided {
				c.inode, e.inode = 0, 0
				t.undecided++
			}
		} else if (c.ending || c.Zombie()) && t.mayBelong(c.Process) {
			t.undecided++ // it may have forked after the listing
		}
		if len(t.known) >= maxKnown+len(t.members) && t.known[c.PID] == nil {
			t.counters.OverKnown++
			return
		}
	case t.o.Exclude != nil && !t.isRoot(c.Process) && t.o.Exclude(c.Process):
	case len(t.members) >= t.o.MaxMembers:
		t.counters.OverMembers++
	default:
		c.state = inside
		e.m = &member{Process: c.Process, statm: -1}
		if c.Zombie() {
			e.m.ended = t.scan
		}
		t.members = append(t.members, e.m)
		t.recheck = append(t.recheck, e.m)
	}
	t.known[c.PID] = e
}

// mayBelong reports whether a process that has no environment any more, because it is ending or a zombie, may have belonged to the tree: its parent
// is not known to be outside.
func (t *Tree) mayBelong(p Process) bool {
	if p.Start < t.since {
		return false
	}
	if t.o.Root == 0 {
		return true
	}
	if _, lost := t.adopters[p.PPID]; lost {
		return true
	}
	e := t.known[p.PPID]
	return e == nil || e.inode == 0
}

// belongs reports whether p is a member of the tree. sure is false when the next scan may find otherwise.
func (t *Tree) belongs(p Process) (yes, sure bool) {
	if t.isRoot(p) {
		return true, true
	}
	if start, ok := t.adopters[p.PID]; ok && start == p.Start {
		return false, true
	}
	if parent := t.pending[p.PPID]; parent != nil {
		if parent.state == inside {
			return true, true
		}
	}
	e := t.known[p.PPID]
	if e != nil && e.m != nil {
		return true, true
	}
	if p.Start < t.since {
		return false, true
	}
	if t.o.Root != 0 {
		if _, lost := t.adopters[p.PPID]; !lost {
			// A child of an undecided parent is as undecided as that.
			return false, e == nil || e.inode != 0
		}
		if t.o.Subreaper && p.PPID == t.self || t.ledByMember(p.SID) || t.ledByMember(p.PGID) {
			return true, true
		}
	}
	if t.o.Cookie == "" || p.Zombie() || p.kernel {
		return false, true
	}
	return t.carriesCookie(p)
}

// ledByMember reports whether a session or process group is named after a member, alive
// or ended.
func (t *Tree) ledByMember(leader int) bool {
	if leader <= 0 {
		return false
	}
	if e := t.known[leader]; e != nil && e.m != nil {
		return true
	}
	return t.past.has(leader)
}

// maxEnviron bounds how much of an environment is searched; the kernel's own bound for
// arguments and environment together is 6 MiB with the usual stack limit.
const maxEnviron = 6 << 20

// carriesCookie reports whether the environment of p has the cookie. sure is false when the answer means nothing, because p was ending: it
// may still be named as the parent of one that carries the cookie.
func (t *Tree) carriesCookie(p Process) (yes, sure bool) {
	yes, sure = t.searchEnviron(p.PID)
	if yes || !sure {
		return yes, sure
	}
	// A process that ends lets go of its memory before it is a zombie. Its files then belong to root, so
	// that to anybody else it looks like a stranger's (task_dump_owner of fs/proc/base.c), and what
	// was being read of its environment ends early. So it is asked after, not before.
	again, err := t.readStat(p.PID)
	return false, err == nil && again.Start == p.Start && !again.ending
}

// searchEnviron reports whether the cookie is in the environment as it can be read now. sure is false when that could not be read or was
// empty: a process in the middle of an exec or of its exit shows none.
func (t *Tree) searchEnviron(pid int) (yes, sure bool) {
	t.counters.CookieReads++
	fd, err := t.open(pid, "environ")
	if err != nil { // another user's, or it is gone or the system out of something
		return false, errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
	}
	defer unix.Close(fd)
	search := cookieSearch{cookie: t.o.Cookie}
	offset := int64(0)
	for offset < maxEnviron {
		n, err := unix.Pread(fd, t.buf, offset)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, false
		}
		if n == 0 {
			break
		}
		if search.feed(t.buf[:n]) {
			return true, true
		}
		offset += int64(n)
	}
	return search.endsWithCookie(), offset > 0
}
