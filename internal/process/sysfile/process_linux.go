package sysfile

import (
	"errors"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadProcess reads a file of a process, such as "stat", into buf, as much as fits, and allocates nothing unless it fails: a supervisor
// asks every process of its run all day. It is for files that the kernel writes as one piece ("stat", "io", "status"), of which a read that
// leaves room has got all. Errors are of type *[os.PathError].
func ReadProcess(pid int, name string, buf []byte) ([]byte, error) {
	var room [64]byte
	path := append(room[:0], "/proc/"...)
	path = append(append(strconv.AppendInt(path, int64(pid), 10), '/'), name...)
	return readInto(append(path, 0), buf, true)
}

// ReadInto reads into buf, as much as fits.
func ReadInto(name string, buf []byte) ([]byte, error) {
	var room [256]byte
	return readInto(append(append(room[:0], name...), 0), buf, false)
}

// ReadIn calls ReadInto for a file in a directory.
func ReadIn(dir, name string, buf []byte) ([]byte, error) {
	var room [256]byte
	return readInto(append(append(append(append(room[:0], dir...), '/'), name...), 0), buf, false)
}

// Missing reports whether a file is not there, of which path is the name. Any other answer is false: whoever wants to know more opens it.
func Missing(name string) bool {
	var room [256]byte
	path := append(append(room[:0], name...), 0)
	at := unix.AT_FDCWD
	_, _, errno := unix.Syscall(unix.SYS_FACCESSAT, uintptr(at), uintptr(unsafe.Pointer(&path[0])), unix.F_OK)
	return errno == unix.ENOENT
}

// links counts the links to a directory; ok is false where it is gone, or the kernel has no statx(2), as before 4.11.
func links(dir string) (n uint32, ok bool) {
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
