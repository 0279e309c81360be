package sysfile

import (
	"bytes"
	"errors"

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
