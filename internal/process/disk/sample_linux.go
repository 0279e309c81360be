package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
	"github.com/plimsoll/plimsoll/limit"
)

// Supported reports whether this system can be watched.
const Supported = true

// Bounds of what is kept and read. What is beyond them is not seen as a file of the run; the
// growth of its file system is.
const (
	maxFiles  = 4096
	maxFDs    = 512
	maxSpaces = 64
)

type fileID struct{ dev, ino uint64 }

// grown is one open file of the run: its size on disk when it was first seen, and at the last look.
type grown struct {
	first, now limit.Bytes
	before     limit.Bytes // at the look before the last
	round      int
}

// sampler reads a run. It is used from one goroutine.
type sampler struct {
	spaces  map[string]*Space // by mount point
	files   map[fileID]*grown
	last    map[int]limit.Bytes // what each process had written, children it has waited for included
	own     map[int]limit.Bytes // what its living threads had written, while near
	sum     limit.Bytes
	written limit.Bytes
	round   int
	buf     []byte
	spare   [2]map[int]limit.Bytes // last and own of the look before the last, to be filled again
	held    map[int][]fileID
	seen    []Space             // of the last reading
	agents  limit.Bytes         // what the agent has written itself
	agent   map[int]limit.Bytes // what the living threads of its processes had
	ownFile string              // the one of its files that has grown the most, by ownMost
	ownMost limit.Bytes
	vmstat  *sysfile.File  // nil where it cannot be read
	machine machineWritten // before the last look
}

// newSampler returns a sampler that watches the file systems of these directories from the start. The caller closes it.
func newSampler(dirs []string) *sampler {
	s := &sampler{
		spaces: map[string]*Space{}, files: map[fileID]*grown{}, last: map[int]limit.Bytes{}, agent: map[int]limit.Bytes{}, buf: make([]byte, 4096),
	}
	s.vmstat, _ = sysfile.OpenFile("/proc/vmstat")
	mounts := readMounts()
	for _, dir := range dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			if m := mounts.mountFor(abs); m != nil {
				s.addFileSystem(m)
			}
		}
	}
	return s
}

// addFileSystem adds a file system to those that are watched, unless a look at it may hang or it is not a disk.
func (s *sampler) addFileSystem(m *mount) {
	if m.isLocalDisk() && s.spaces[m.point] == nil && len(s.spaces) < maxSpaces {
		if total, free, ok := statfs(m.point); ok {
			s.spaces[m.point] = &Space{Path: m.point, Total: total, Free: free, First: free}
		}
	}
}

// statfs returns the size and the free space of the file system that a path is on; false if it cannot be asked.
func statfs(path string) (total, free limit.Bytes, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil || st.Blocks == 0 {
		return 0, 0, false
	}
	return limit.Bytes(st.Blocks) * limit.Bytes(st.Bsize), limit.Bytes(st.Bavail) * limit.Bytes(st.Bsize), true
}

// hasFilled reports whether a file system has lost at least enough bytes of free space since the last look, no matter to whom. It also
// returns true if one cannot be asked.
func (s *sampler) hasFilled(enough limit.Bytes) bool {
	for _, sp := range s.spaces {
		if _, free, ok := statfs(sp.Path); !ok || sp.Free-free >= enough {
			return true
		}
	}
	return false
}

// isMachineQuiet reports whether the whole machine has written less than enough bytes, in each way that the kernel counts, since the last look. It is
// false where the kernel does not say.
func (s *sampler) isMachineQuiet(enough limit.Bytes) bool {
	now, ok := s.machineWrites()
	for i, then := range s.machine {
		ok = ok && then > 0 && now[i]-then < enough
	}
	return ok
}

// writeCounters are lines of proc_vmstat(5): pages of files that became dirty, pages of files in memory, and what went to disks, also around
// the page cache, with their units in bytes.
var writeCounters = [...]struct {
	name string
	unit limit.Bytes
}{
	{"\nnr_dirtied ", limit.Bytes(os.Getpagesize())},
	{"\nnr_shmem ", limit.Bytes(os.Getpagesize())},
	{"\npgpgout ", limit.KiB},
}

// machineWritten holds the bytes that all processes of the machine have written, by [writeCounters].
type machineWritten [len(writeCounters)]limit.Bytes

// machineWrites reads how much the whole machine has written since it started; ok is false if the kernel does not tell.
func (s *sampler) machineWrites() (w machineWritten, ok bool) {
	if s.vmstat == nil {
		return w, false
	}
	text, err := s.vmstat.Read(sysfile.Small)
	if err != nil {
		return w, false
	}
	for i, counter := range writeCounters {
		_, rest, found := bytes.Cut(text, []byte(counter.name))
		digits, _, whole := bytes.Cut(rest, []byte("\n"))
		n, err := strconv.ParseInt(string(digits), 10, 64)
		if !found || !whole || err != nil || n < 0 || n > 1<<50 {
			return w, false
		}
		w[i] = limit.Bytes(n) * counter.unit
	}
	return w, true
}

// close closes the file that is kept open.
func (s *sampler) close() { s.vmstat.Close() }

// look reads how much the processes have written and how far the file systems have filled up. With near it also finds the writers since the
// last look. The reading is valid until the next look.
func (s *sampler) look(processes []Process, near bool) Reading {
	s.round++
	s.machine, _ = s.machineWrites()
	var r Reading
	sum := limit.Bytes(0)
	last, own := emptyMap(s.spare[0]), emptyMap(s.spare[1])
	var mounts *mountTable
	held := emptyMap(s.held) // what who writes has open
	s.held = held
	r.Processes = processes
	for i := range processes {
		p := &processes[i]
		all, ok := s.readWritten(p.PID, "io")
		if !ok {
			continue
		}
		sum += all
		last[p.PID] = all
		before, known := s.last[p.PID]
		writes := all > before
		if near || p.Agent && writes {
			own[p.PID] = s.writtenByThreads(p.PID)
			s.splitWritten(p, all-before, own[p.PID], known)
		}
		if !writes {
			continue
		}
		if mounts == nil {
			mounts = readMounts()
		}
		held[p.PID] = s.openFiles(p, mounts)
	}
	if near {
		s.findKeepers(&r, held, mounts)
	}
	s.written += max(0, sum-s.sum)
	s.spare = [...]map[int]limit.Bytes{s.last, s.own}
	s.sum, s.last, s.own = sum, last, own
	r.Written, r.Own, r.OwnFile = s.written, s.agents, s.ownFile
	for id, f := range s.files {
		if f.round < s.round-1 {
			if mounts != nil { // somebody writes, and it is not open any more
				delete(s.files, id)
			}
			continue
		}
		r.Files += max(0, f.now-f.first)
	}
	s.seen = s.seen[:0]
	for _, sp := range s.spaces {
		if total, free, ok := statfs(sp.Path); ok {
			sp.Total, sp.Free = total, free
		}
		s.seen = append(s.seen, *sp)
	}
	r.Spaces = s.seen
	return r
}

// emptyMap returns m without its entries, or a new map if m has more than 512 entries.
func emptyMap[V any](m map[int]V) map[int]V {
	const most = 512
	if m == nil || len(m) > most {
		return map[int]V{}
	}
	clear(m)
	return m
}

// splitWritten divides grown, the bytes that p has written more than at the last look: p.Recent is what it has written itself, p.Collected what its
// children wrote for which it has waited since. own is what its threads have written; known says that p was there at the last look.
func (s *sampler) splitWritten(p *Process, grown, own limit.Bytes, known bool) {
	before, counted := s.own[p.PID]
	if p.Agent {
		before, counted = s.agent[p.PID]
		s.agent[p.PID] = own
		if len(s.agent) > maxFiles {
			clear(s.agent)
		}
	}
	if !known || counted {
		p.Recent = max(0, own-before)
	}
	if known && counted {
		p.Collected = max(0, grown-p.Recent)
	}
	if p.Agent {
		s.agents += p.Recent
	}
}

// findKeepers sets r.Writers, and for each its Keeper: the ancestor that also has the file open which the writer makes grow.
func (s *sampler) findKeepers(r *Reading, held map[int][]fileID, mounts *mountTable) {
	for i := range r.Processes {
		p := &r.Processes[i]
		files, writes := held[p.PID]
		if !writes {
			continue
		}
		if p.Recent >= recentLeast {
			for _, pid := range ancestors(p, *r) {
				above, read := held[pid]
				if !read {
					above = s.openFiles(r.find(pid), mounts)
					held[pid] = above
				}
				if slices.ContainsFunc(files, func(id fileID) bool {
					f := s.files[id]
					return f != nil && f.now-f.before >= recentLeast && slices.Contains(above, id)
				}) {
					p.Keeper = pid
					break
				}
			}
		}
		r.Writers = append(r.Writers, *p)
	}
}

// readWritten returns write_bytes less cancelled_write_bytes of a process's file (proc_pid_io(5)); false when it can't be read.
func (s *sampler) readWritten(pid int, file string) (limit.Bytes, bool) {
	text, err := sysfile.ReadProcess(pid, file, s.buf)
	if err != nil {
		return 0, false
	}
	return parseIO(text)
}

// parseIO returns write_bytes less cancelled_write_bytes of an io file; false if it has no write_bytes.
func parseIO(b []byte) (limit.Bytes, bool) {
	wrote, ok := parseField(b, "write_bytes: ")
	cancelled, _ := parseField(b, "cancelled_write_bytes: ")
	return limit.Bytes(max(0, wrote-cancelled)), ok
}

// parseField returns the number after name at the start of a line; false when there is none.
func parseField(b []byte, name string) (int64, bool) {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// writtenByThreads returns how much the living threads of a process have written, 0 if they cannot be read. Unlike the count of the process, their
// counts do not jump when a child that has written is waited for.
func (s *sampler) writtenByThreads(pid int) limit.Bytes {
	d, err := os.Open("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return 0
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxFDs)
	sum := limit.Bytes(0)
	for _, name := range names {
		n, _ := s.readWritten(pid, "task/"+name+"/io")
		sum += n
	}
	return sum
}

// openFiles returns the regular files on disks of this machine that a process has open for writing, and adds them and their file systems to those
// that are watched, of which there are at most maxFiles and maxSpaces.
func (s *sampler) openFiles(p *Process, mounts *mountTable) (ids []fileID) {
	root := "/proc/" + strconv.Itoa(p.PID)
	d, err := os.Open(root + "/fdinfo")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxFDs)
	for _, name := range names {
		body, err := os.ReadFile(root + "/fdinfo/" + name)
		if err != nil {
			continue
		}
		writable, id, ok := parseFDInfo(body)
		m := mounts.byID[id]
		if !ok || !writable || m == nil || !m.isLocalDisk() {
			continue
		}
		var st unix.Stat_t
		if unix.Stat(root+"/fd/"+name, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		s.addFileSystem(m)
		size := limit.Bytes(st.Blocks) * 512
		key := fileID{uint64(st.Dev), st.Ino}
		f := s.files[key]
		if f == nil && len(s.files) < maxFiles {
			f = &grown{first: size, now: size}
			s.files[key] = f
		}
		if f == nil {
			continue
		}
		if f.round != s.round {
			f.before = f.now
		}
		f.now, f.round = size, s.round
		ids = append(ids, key)
		if more := f.now - f.first; p.Agent && more > s.ownMost {
			s.ownMost = more
			s.ownFile, _ = os.Readlink(root + "/fd/" + name)
		}
	}
	return ids
}

// parseFDInfo reads whether a descriptor is open for writing and the mount that it is on, from flags (octal, as in open(2)) and mnt_id of
// its fdinfo (proc_pid_fdinfo(5)); ok is false when they are missing.
func parseFDInfo(b []byte) (writable bool, mountID int64, ok bool) {
	for line := range bytes.Lines(b) {
		name, value, _ := strings.Cut(string(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "flags":
			flags, err := strconv.ParseInt(value, 8, 64)
			if err != nil {
				return false, 0, false
			}
			writable = flags&unix.O_ACCMODE != unix.O_RDONLY
		case "mnt_id":
			id, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return false, 0, false
			}
			mountID, ok = id, true
		}
	}
	return writable, mountID, ok
}
