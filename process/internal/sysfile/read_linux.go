package sysfile

import (
	"bytes"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// firstRead is more than most of these files hold, in bytes.
const firstRead = 4 << 10

// Read returns at most maxBytes bytes of a file. Errors are of type *[os.PathError].
func Read(name string, maxBytes int) ([]byte, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer unix.Close(fd)
	var first [firstRead]byte // on the stack: most files hold some hundred bytes, and a supervisor reads many
	text := first[:0:min(maxBytes, firstRead)]
	for len(text) < maxBytes {
		if len(text) == cap(text) {
			text = slices.Grow(text, min(maxBytes-len(text), len(text)))
		}
		n, err := retry(func() (int, error) { return unix.Read(fd, text[len(text):min(cap(text), maxBytes)]) })
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		}
		if n == 0 {
			break
		}
		text = text[:len(text)+n]
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

// Leaf reports that a directory has no directories in it, where the file system counts them as links. A directory of
// which that is not known, or that is gone, is none.
func Leaf(dir string) bool {
	if links, ok := links(dir); ok {
		return links == 2
	}
	var st unix.Stat_t
	return unix.Stat(dir, &st) == nil && st.Nlink == 2
}
