package sysfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// File is a file that is looked at again and again: it is opened once, and then a look is one call to the kernel. It is for files
// that the kernel writes as one piece (memory.stat, /proc/meminfo), not for lists (cgroup.procs, the mount table), of which one
// call may give a part. It is used from one goroutine at a time.
type File struct {
	name string
	fd   int // -1 when it is closed
	text []byte
}

// Keep opens a file to look at it many times. Errors are of type *[os.PathError].
func Keep(name string) (*File, error) {
	fd, err := retry(func() (int, error) { return unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return &File{name: name, fd: fd}, nil
}

// Read returns at most maxBytes bytes of what is in the file now. They are good until the next call. An error says that the
// process or the group has gone, or that the file is closed.
func (k *File) Read(maxBytes int) ([]byte, error) { return k.ReadWith(&k.text, maxBytes) }

// ReadWith reads into a buffer that several files share, for those of which one is looked at after the other: what it returns is
// good until the buffer is used again. The buffer is made, and made larger, where it must be.
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

// Close lets go of the file; it may be nil.
func (k *File) Close() {
	if k != nil && k.fd >= 0 {
		_ = unix.Close(k.fd)
		k.fd = -1
	}
}
