package sysfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"slices"

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

// Leaf reports whether a directory has no directories in it, where the file system counts them as links. A directory of
// which that is not known, or that is gone, is none.
func Leaf(dir string) bool {
	if links, ok := links(dir); ok {
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
