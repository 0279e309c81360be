package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/limit"
)

// Supported says that this system can be looked at.
const Supported = true

// Bounds of what is kept and read. What is beyond them is not seen as a file of the run; the
// growth of its file system is.
const (
	maxFiles  = 4096
	maxFDs    = 512
	maxSpaces = 64
)

type fileID struct{ dev, ino uint64 }

// grown is one open file: its size on disk when it was first seen, and at the last look.
type grown struct {
	first, now limit.Bytes
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
}

func newSampler(dirs []string) *sampler {
	s := &sampler{
		spaces: map[string]*Space{}, files: map[fileID]*grown{}, last: map[int]limit.Bytes{}, buf: make([]byte, 4096),
	}
	mounts := readMounts()
	for _, dir := range dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			if m := mounts.of(abs); m != nil {
				s.addFileSystem(m)
			}
		}
	}
	return s
}

// addFileSystem takes in a file system, unless a look at it may hang or it is no disk.
func (s *sampler) addFileSystem(m *mount) {
	if m.local() && s.spaces[m.point] == nil && len(s.spaces) < maxSpaces {
		if total, free, ok := statfs(m.point); ok {
			s.spaces[m.point] = &Space{Path: m.point, Total: total, Free: free, First: free}
		}
	}
}

func statfs(path string) (total, free limit.Bytes, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil || st.Blocks == 0 {
		return 0, 0, false
	}
	return limit.Bytes(st.Blocks) * limit.Bytes(st.Bsize), limit.Bytes(st.Bavail) * limit.Bytes(st.Bsize), true
}

// look reads what the processes have written and how far the file systems have grown. With near it
// tells also who has written since the last look.
func (s *sampler) look(processes []Process, near bool) Reading {
	s.round++
	var r Reading
	sum := limit.Bytes(0)
	last, own := make(map[int]limit.Bytes, len(processes)), map[int]limit.Bytes{}
	var mounts *mountTable
	for _, p := range processes {
		all, ok := s.writtenBy("/proc/" + strconv.Itoa(p.PID) + "/io")
		if !ok {
			continue
		}
		sum += all
		last[p.PID] = all
		if near {
			own[p.PID] = s.ownOf(p.PID)
			if before, known := s.own[p.PID]; known {
				p.Recent = max(0, own[p.PID]-before)
			}
		}
		if all > s.last[p.PID] {
			if mounts == nil {
				mounts = readMounts()
			}
			s.openFiles(p.PID, mounts)
			if near {
				r.Writers = append(r.Writers, p)
			}
		}
	}
	s.written += max(0, sum-s.sum)
	s.sum, s.last, s.own = sum, last, own
	r.Written = s.written
	for id, f := range s.files {
		if f.round < s.round-1 {
			if mounts != nil { // somebody writes, and it is not open any more
				delete(s.files, id)
			}
			continue
		}
		r.Files += max(0, f.now-f.first)
	}
	for _, sp := range s.spaces {
		if total, free, ok := statfs(sp.Path); ok {
			sp.Total, sp.Free = total, free
		}
		r.Spaces = append(r.Spaces, *sp)
	}
	return r
}

// writtenBy reads write_bytes less cancelled_write_bytes (proc_pid_io(5)).
func (s *sampler) writtenBy(file string) (limit.Bytes, bool) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	n, err := unix.Read(fd, s.buf)
	_ = unix.Close(fd)
	if err != nil || n <= 0 {
		return 0, false
	}
	return parseIO(s.buf[:n])
}

func parseIO(b []byte) (limit.Bytes, bool) {
	wrote, ok := field(b, "write_bytes: ")
	cancelled, _ := field(b, "cancelled_write_bytes: ")
	return limit.Bytes(max(0, wrote-cancelled)), ok
}

// field reads the number after name at the start of a line.
func field(b []byte, name string) (int64, bool) {
	for line := range bytes.Lines(b) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// ownOf sums the living threads of a process. Their counts, unlike that of the process, do not
// jump when a child that has written is waited for.
func (s *sampler) ownOf(pid int) limit.Bytes {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	d, err := os.Open(dir)
	if err != nil {
		return 0
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxFDs)
	sum := limit.Bytes(0)
	for _, name := range names {
		n, _ := s.writtenBy(dir + "/" + name + "/io")
		sum += n
	}
	return sum
}

// openFiles takes in the files that a process has open for writing, and their file systems.
func (s *sampler) openFiles(pid int, mounts *mountTable) {
	root := "/proc/" + strconv.Itoa(pid)
	d, err := os.Open(root + "/fdinfo")
	if err != nil {
		return
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
		if !ok || !writable || m == nil || !m.local() {
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
			f = &grown{first: size}
			s.files[key] = f
		}
		if f != nil {
			f.now, f.round = size, s.round
		}
	}
}

// parseFDInfo reads flags (octal, as of open(2)) and mnt_id (proc_pid_fdinfo(5)).
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
