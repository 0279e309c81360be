package sysfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// firstRead is more than most of these files hold, in bytes.
const firstRead = 4 << 10

// Read returns at most maxBytes bytes of a file. Errors are of type *[os.PathError].
func Read(name string, maxBytes int) ([]byte, error) {
	var first [firstRead]byte // on the stack: most files hold some hundred bytes, and a supervisor reads many
	text, err := ReadInto(name, first[:min(maxBytes, firstRead)])
	if err != nil || len(text) < firstRead {
		return bytes.Clone(text), err
	}
	for size := firstRead; len(text) == size && size < maxBytes; { // anew, so that it is of one moment
		size = min(2*size, maxBytes)
		if text, err = ReadInto(name, make([]byte, size)); err != nil {
			return nil, err
		}
	}
	return bytes.Clone(text), nil
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// IsLeaf reports whether a directory has no directories in it, where the file system counts them as links. A directory of
// which that is not known, or that is gone, is none.
func IsLeaf(dir string) bool {
	if links, ok := countLinks(dir); ok {
		return links == 2
	}
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Nlink == 2
}

// Subdirectories returns the names of the directories in dir, sorted. It allocates for them alone: a directory of a control group
// holds some forty files, and is looked into all day.
func Subdirectories(dir string) (names []string, err error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	var buf [4096]byte
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(fd, buf[:]) })
		if err != nil {
			return names, &os.PathError{Op: "readdir", Path: dir, Err: err}
		}
		if n <= 0 {
			slices.Sort(names)
			return names, nil
		}
		// struct linux_dirent64 of getdents64(2): inode and offset of 8 bytes each, length of 2, type of 1, name to its 0.
		const head = 19
		for b := buf[:n]; len(b) > head; {
			size := int(binary.NativeEndian.Uint16(b[16:]))
			if size <= head || size > len(b) {
				return names, &os.PathError{Op: "readdir", Path: dir, Err: unix.EIO}
			}
			name, _, _ := bytes.Cut(b[head:size], []byte{0})
			kind := b[18]
			b = b[size:]
			if kind != unix.DT_DIR && kind != unix.DT_UNKNOWN || string(name) == "." || string(name) == ".." {
				continue
			}
			if kind == unix.DT_UNKNOWN { // the file system does not tell
				if info, err := os.Lstat(path.Join(dir, string(name))); err != nil || !info.IsDir() {
					continue
				}
			}
			names = append(names, string(name))
		}
	}
}

// ReadProcess reads a file of a process, such as "stat", into buf, as much as fits, and allocates nothing unless it fails: a supervisor
// asks every process of its run all day. It is for files that the kernel writes as one piece ("stat", "io", "status"), of which a read that
// leaves room has got all. Errors are of type *[os.PathError].
func ReadProcess(pid int, name string, buf []byte) ([]byte, error) {
	var room [64]byte
	path := append(room[:0], "/proc/"...)
	path = append(append(strconv.AppendInt(path, int64(pid), 10), '/'), name...)
	return readInto(append(path, 0), buf, true)
}

// ReadInto reads a file into buf, as much as fits, and returns the part of buf that was filled.
func ReadInto(name string, buf []byte) ([]byte, error) {
	var room [256]byte
	return readInto(append(append(room[:0], name...), 0), buf, false)
}

// ReadIn calls ReadInto for a file in a directory.
func ReadIn(dir, name string, buf []byte) ([]byte, error) {
	var room [256]byte
	return readInto(append(append(append(append(room[:0], dir...), '/'), name...), 0), buf, false)
}

// IsMissing reports whether there is no file of this name. On any other error it returns false: whoever wants to know more opens it.
func IsMissing(name string) bool {
	var room [256]byte
	path := append(append(room[:0], name...), 0)
	at := unix.AT_FDCWD
	_, _, errno := unix.Syscall(unix.SYS_FACCESSAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), unix.F_OK)
	return errno == unix.ENOENT
}

// countLinks counts the links to a directory; ok is false where it is gone, or the kernel has no statx(2), as before 4.11.
func countLinks(dir string) (n uint32, ok bool) {
	var room [256]byte
	path := append(append(room[:0], dir...), 0)
	at := unix.AT_FDCWD
	var st unix.Statx_t
	_, _, errno := unix.Syscall6(unix.SYS_STATX, uintptr(at), uintptr(unsafe.Pointer(&path[0])), 0, unix.STATX_NLINK, uintptr(unsafe.Pointer(&st)), 0)
	return st.Nlink, errno == 0 && st.Mask&unix.STATX_NLINK != 0
}

// readInto reads the file whose name, path, ends in a zero byte; one that comes in one piece takes one call. It makes the call that opens it
// itself: unix.Open copies the name each time.
func readInto(path, buf []byte, inOnePiece bool) ([]byte, error) {
	at := unix.AT_FDCWD
	var fd int
	for {
		r, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
		if errno == 0 {
			fd = int(r)
			break
		}
		if errno != unix.EINTR {
			return nil, &os.PathError{Op: "open", Path: string(path[:len(path)-1]), Err: errno}
		}
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: string(path[:len(path)-1]), Err: err}
		}
		total += n
		if n == 0 || inOnePiece && total < len(buf) {
			break
		}
	}
	return buf[:total], nil
}

// File is a file that is looked at again and again: it is opened once, and then a look is one call to the kernel. It is for files
// that the kernel writes as one piece (memory.stat, /proc/meminfo), not for lists (cgroup.procs, the mount table), of which one
// call may give a part. It is used from one goroutine at a time.
type File struct {
	name string
	fd   int // -1 when it is closed
	text []byte
}

// OpenFile opens a file to read it many times. Errors are of type *[os.PathError].
func OpenFile(name string) (*File, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return &File{name: name, fd: fd}, nil
}

// Read returns at most maxBytes bytes of the present content, valid until the next call. An error says that the process or the group has gone, or
// that the file is closed.
func (k *File) Read(maxBytes int) ([]byte, error) { return k.ReadWith(&k.text, maxBytes) }

// ReadWith is Read into a buffer that several files share, of which one is read after the other: the result is valid until the buffer is used again.
// The buffer is made, and made larger, as needed.
func (k *File) ReadWith(buf *[]byte, maxBytes int) ([]byte, error) {
	if len(*buf) == 0 {
		*buf = make([]byte, min(maxBytes, firstRead))
	}
	for {
		n, err := retry(func() (int, error) { return unix.Pread(k.fd, *buf, 0) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: k.name, Err: err}
		}
		if n < len(*buf) || n >= maxBytes {
			return (*buf)[:min(n, maxBytes)], nil
		}
		*buf = make([]byte, min(maxBytes, max(2*n, firstRead)))
	}
}

// Close closes the file; it may be nil.
func (k *File) Close() {
	if k != nil && k.fd >= 0 {
		_ = unix.Close(k.fd)
		k.fd = -1
	}
}
