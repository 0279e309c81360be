package headroom

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// Read takes a reading. It fails only when the host's own memory cannot be read; cgroups that cannot be read are named in
// [Reading.Approximate].
func Read(s Source) (Reading, error) {
	if s.Root != nil {
		return readLinux(s.Root)
	}
	return readLinux(machineRoot())
}

// machine is the whole file system, with a cheap way to read small files: a supervisor reads a dozen every two seconds.
type machine struct{ fs.FS }

// readFile reads at most maxBytes of a file with one call, see [sysfile.Read].
func (machine) readFile(name string, maxBytes int) ([]byte, error) {
	return sysfile.Read("/"+name, maxBytes)
}

// machineRoot returns the file system of this machine.
func machineRoot() fs.FS { return machine{os.DirFS("/")} }

// placesFor is the time for which a [Reader] takes for granted in which cgroups we are and which of them have limits. A move to another
// cgroup, or a limit where there was none, is noticed that much later; a limit that is there is read at every look.
const placesFor = 30 * time.Second

// maxKept bounds the files that a [Reader] keeps open: a dozen where there are no more than five cgroups with limits.
const maxKept = 64

// Reader takes one reading of this machine after the other, for a fifth of the cost of [Read]: it keeps the files open, and finds the
// cgroups anew only every half minute. While nothing changes it makes no garbage. It is used by one goroutine.
type Reader struct {
	root   *kept
	places places
	found  time.Time // when places were found, or found to be the same
	told   [2]uint64 // what they were found in
}

// NewReader returns a reader, which opens nothing yet.
func NewReader() *Reader {
	return &Reader{root: &kept{machine: machine{os.DirFS("/")}, files: map[string]*sysfile.File{}, none: map[string]error{}}}
}

// Read takes a reading as the function [Read] does. The Reading is valid until the next call.
func (r *Reader) Read() (Reading, error) {
	if now := time.Now(); r.found.IsZero() || now.Sub(r.found) >= placesFor {
		r.updatePlaces(now)
	}
	reading, err := readPlaces(r.root, r.places)
	if err != nil {
		r.Close() // the next one begins anew
	}
	return reading, err
}

// updatePlaces updates r.places. The table of mounts is long on some hosts and seldom changes, so it is parsed only when it has changed.
func (r *Reader) updatePlaces(now time.Time) {
	cgroup, ok := r.hashFile("/proc/self/cgroup")
	mounts, also := r.hashFile("/proc/self/mountinfo")
	told := [2]uint64{cgroup, mounts}
	if ok && also && told == r.told && !r.found.IsZero() {
		clear(r.root.none) // who gets a limit meanwhile has a file for it
		for i := range r.places.levels {
			r.places.levels[i].unlimited = false
		}
		r.found = now
		return
	}
	r.forgetFiles()
	r.places, r.found, r.told = findCgroups(r.root.machine), now, told
}

// hashFile returns a hash of a file's content; ok is false if the file cannot be read or is longer than maxMounts.
func (r *Reader) hashFile(name string) (sum uint64, ok bool) {
	if len(r.root.text) == 0 {
		r.root.text = make([]byte, 4<<10)
	}
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	for read := 0; ; {
		n, err := unix.Read(fd, r.root.text)
		if err != nil || read > maxMounts {
			return 0, false
		}
		if n == 0 {
			return sum, true
		}
		read += n
		for _, c := range r.root.text[:n] { // FNV-1a: nobody gains by a table that looks like another one
			sum = (sum ^ uint64(c)) * 1099511628211
		}
	}
}

// Close closes the files. Read may be called again, and opens them anew.
func (r *Reader) Close() {
	r.root.text = nil
	r.forgetFiles()
}

// forgetFiles closes all files and forgets what was found; the next reading begins anew.
func (r *Reader) forgetFiles() {
	for _, f := range r.root.files {
		f.Close()
	}
	clear(r.root.files)
	clear(r.root.none)
	r.found = time.Time{}
}

// kept is the machine with its files kept open.
type kept struct {
	machine
	files map[string]*sysfile.File
	none  map[string]error // those that could not be opened, and why
	text  []byte           // of the file that was read last
}

// readFile returns the present content of a file, which is valid until the next file is read. A file that could not be opened is not tried again
// before the places are looked up anew.
func (k *kept) readFile(name string, maxBytes int) ([]byte, error) {
	if err := k.none[name]; err != nil {
		return nil, err
	}
	f := k.files[name]
	if f == nil {
		if len(k.files)+len(k.none) >= maxKept {
			return k.machine.readFile(name, maxBytes)
		}
		var err error
		if f, err = sysfile.OpenFile("/" + name); err != nil {
			k.none[name] = err
			return nil, err
		}
		k.files[name] = f
	}
	text, err := f.ReadWith(&k.text, maxBytes)
	if err != nil { // the group has gone; another may have its name
		f.Close()
		delete(k.files, name)
		return k.machine.readFile(name, maxBytes)
	}
	return text, nil
}
