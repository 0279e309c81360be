package proctree

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/limit"
)

// Tree is a process and all its descendants. Make one with [New].
type Tree struct {
	o        Options
	procDir  string
	self     int
	pageSize limit.Bytes

	mu     sync.Mutex
	closed bool
	// dir is a descriptor of /proc, kept open.
	dir int
	// root is the root's identity; start is 0 when it was gone before New.
	root identity
	// adopters are those who may inherit the tree's orphans: the root's and our own
	// ancestors, and ourselves, each with its start time. They are never members.
	adopters map[int]uint64
	since    uint64

	scan    uint64 // number of the scan under way, or of the last one
	known   map[int]*entry
	members []*member // in order of discovery
	recheck []*member // seen once, to be looked at again: they may just have exec'd
	past    pidRing   // members that ended: they may still name a session or group
	fresh   []listed
	// undecided is the number of processes that the last scan could not decide about yet, or saw only in
	// the listing, or found dead that may have forked after it (see living).
	undecided int
	lastPID   int // the number given out last when living looked before; 0: not known
	pending   map[int]*candidate
	// What a scan needs and the next one takes again.
	candidates []candidate
	chain      []*candidate
	spare      []*entry // of processes that have gone

	dirents []byte
	buf     []byte
	path    []byte

	highWater limit.Bytes
	data      limit.Bytes // see [Usage.Data]
	hwmCursor int
	counters  Counters
}

// entry is one process of the machine as the last scan saw it.
type entry struct {
	inode uint64 // of the directory entry in /proc; 0: look again
	scan  uint64 // the last scan that saw it
	start uint64
	m     *member // nil: not of the tree

	undecided time.Time // when its environment was first found empty
}

// member is one process of the tree.
type member struct {
	Process
	statm       int // descriptor of its statm file, -1: not open
	private     limit.Bytes
	resident    limit.Bytes
	named       limit.Bytes // private when its name was read for EachHeld
	hwmRead     bool
	oomAdjusted bool
	spared      bool
	gone        bool
	ended       uint64 // the scan that first found it a zombie; 0: it was none
}

// listed is a process of the listing that has to be asked who it is.
type listed struct {
	pid   int
	inode uint64
}

// testOptions let tests use a recorded tree.
type testOptions struct {
	procRoot string // in place of /proc
	self     int    // in place of our own PID
}

// maxKnown bounds the processes outside the tree that are remembered, 64 bytes each.
const maxKnown = 65536

// New opens the process table and identifies the root; call Scan to fill the tree. It is an error when o.Root is negative, or 0 without a
// cookie, or /proc can't be used. The caller must Close the tree.
func New(o Options) (*Tree, error) {
	if o.Root < 0 || o.Root == 0 && o.Cookie == "" {
		return nil, fmt.Errorf("proctree: root %d: want the PID of a process, or a cookie to search by", o.Root)
	}
	o.MaxMembers = cmp.Or(max(o.MaxMembers, 0), DefaultMaxMembers)
	o.MaxOpenFiles = cmp.Or(o.MaxOpenFiles, DefaultMaxOpenFiles)
	o.PreciseLargest = cmp.Or(max(o.PreciseLargest, 0), DefaultPreciseLargest)
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur/4 < uint64(max(o.MaxOpenFiles, 0)) {
		o.MaxOpenFiles = int(files.Cur / 4)
	}
	t := &Tree{
		o:        o,
		procDir:  o.testing.procRoot,
		self:     o.testing.self,
		pageSize: limit.Bytes(os.Getpagesize()),
		adopters: map[int]uint64{1: 0},
		known:    make(map[int]*entry),
		pending:  make(map[int]*candidate),
		spare:    make([]*entry, 0, 64),
		dirents:  make([]byte, 8<<10),
		buf:      make([]byte, 4<<10),
	}
	t.procDir = cmp.Or(t.procDir, "/proc")
	if t.self == 0 {
		t.self = os.Getpid()
	}
	dir, err := unix.Open(t.procDir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("proctree: open %s to list processes: %w", t.procDir, err)
	}
	t.dir = dir
	if _, err := t.readStat(t.self); err != nil {
		unix.Close(dir)
		return nil, fmt.Errorf("proctree: %s does not show this process (%d): %w; mount a proc file system of this PID namespace there",
			t.procDir, t.self, err)
	}
	t.since = o.Since
	t.root = identity{pid: o.Root}
	if o.Root > 0 {
		if p, err := t.readStat(o.Root); err == nil {
			t.root = p.identity()
			if t.since == 0 {
				t.since = p.Start
			}
			t.addAdopters(p.PPID)
		}
	}
	t.addAdopters(t.self)
	t.lastPID = t.newestPID()
	return t, nil
}

// addAdopters adds pid and its ancestors to t.adopters.
func (t *Tree) addAdopters(pid int) {
	for range 1024 { // a chain read while processes die could be a circle
		if pid <= 0 || t.adopters[pid] != 0 {
			return
		}
		p, err := t.readStat(pid)
		if err != nil {
			return
		}
		t.adopters[pid] = p.Start
		pid = p.PPID
	}
}

// Close closes all files of the tree. A closed tree has no members, and Scan returns an error.
func (t *Tree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	for _, m := range t.members {
		t.closeStatm(m)
	}
	t.members, t.recheck = nil, nil
	clear(t.known)
	return unix.Close(t.dir)
}

// Members returns the processes of the tree as the last scan left them, in the order in
// which they were found: the root first, ancestors before descendants.
func (t *Tree) Members() []Process { return t.AppendMembers(make([]Process, 0, 16)) }

// AppendMembers appends the processes that Members returns to out, for callers that look again and again.
func (t *Tree) AppendMembers(out []Process) []Process {
	t.mu.Lock()
	defer t.mu.Unlock()
	out = slices.Grow(out, len(t.members))
	for _, m := range t.members {
		out = append(out, m.Process)
	}
	return out
}

// Contains reports whether the process with this PID is a member, as of the last scan.
func (t *Tree) Contains(pid int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.known[pid]
	return e != nil && e.m != nil
}

// scanLiving scans and returns the members that are no zombies, described anew. When it returns none
// and the tree is settled, there are none, whatever forks meanwhile. For a process that the listing
// missed was born after it, or behind it; its parent then was alive as long, and is either in the
// result or has died since, and each that has died since makes the tree unsettled:
//
//   - one that was listed, and is ending, dead or gone when it is asked;
//   - a member that is not listed any more and whose child may have got a smaller number, which the
//     listing had passed; those of others are larger, unless numbers began anew since the last look.
func (t *Tree) scanLiving(spareRoot bool) ([]Process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	newest := t.newestPID()
	anew := newest < t.lastPID
	t.lastPID = newest
	if _, err := t.scanLocked(); err != nil {
		return nil, err
	}
	var out []Process
	for _, m := range t.members {
		if spareRoot && t.isRoot(m.Process) {
			continue
		}
		if t.reread(m) && !m.Zombie() {
			out = append(out, m.Process)
		} else if m.ended == 0 || m.ended == t.scan {
			t.undecided++
		}
	}
	if anew || t.newestPID() < newest {
		t.undecided++
	}
	return out, nil
}

// newestPID returns the process number that was given out last; 0 if the kernel does not tell (it does if built with CONFIG_CHECKPOINT_RESTORE, as
// those of distributions are).
func (t *Tree) newestPID() int {
	fd, err := unix.Openat(t.dir, "sys/kernel/ns_last_pid", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	var text [16]byte
	n, err := readAll(fd, text[:])
	if err != nil {
		return 0
	}
	value, _, ok := parseNumber(text[:n])
	if !ok || value > 1<<30 {
		return 0
	}
	return int(value)
}

// readStat reads and parses the stat file of a process.
func (t *Tree) readStat(pid int) (Process, error) {
	t.counters.StatReads++
	n, err := t.readFile(pid, "stat", t.buf)
	if err != nil {
		return Process{}, err
	}
	p, err := parseStat(t.buf[:n])
	if err == nil && p.PID != pid {
		err = fmt.Errorf("%w: %s/%d/stat speaks of process %d", errFormat, t.procDir, pid, p.PID)
	}
	return p, err
}

// readFile reads a file of a process into buf, as much as fits, and returns the number of bytes.
func (t *Tree) readFile(pid int, name string, buf []byte) (int, error) {
	fd, err := t.open(pid, name)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	n, err := readAll(fd, buf)
	if err != nil {
		return 0, t.fileError(pid, name, err)
	}
	return n, nil
}

// open opens a file of a process and returns its descriptor. It makes the system call itself, because unix.Openat allocates a copy of the path each
// time.
func (t *Tree) open(pid int, name string) (int, error) {
	t.path = strconv.AppendInt(t.path[:0], int64(pid), 10)
	t.path = append(t.path, '/')
	t.path = append(t.path, name...)
	t.path = append(t.path, 0)
	for {
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(t.dir), uintptr(unsafe.Pointer(&t.path[0])),
			unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EINTR {
			return -1, t.fileError(pid, name, errno)
		}
	}
}

// fileError returns an error that names the file, or wraps [ErrGone] for a process that has ended, which shows as ENOENT on open and as
// ESRCH on read.
func (t *Tree) fileError(pid int, name string, err error) error {
	if isGoneError(err) {
		return fmt.Errorf("process %d: %w", pid, ErrGone)
	}
	return fmt.Errorf("read %s/%d/%s: %w", t.procDir, pid, name, err)
}

// readAll reads from the start of fd, a file that the kernel writes as one piece, as much as fits into buf, and returns the number of bytes.
func readAll(fd int, buf []byte) (int, error) {
	for {
		n, err := unix.Pread(fd, buf, 0)
		if err != unix.EINTR {
			return max(0, n), err
		}
	}
}
