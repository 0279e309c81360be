// Package statefile opens files that Plimsoll keeps between runs, and believes of them no more than it must: whoever can write into the
// directory may have put something else there.
//
//	f, err := statefile.Open(filepath.Join(dir, "ledger"), os.O_RDWR|os.O_CREATE, 0o600)
//	text, err := statefile.Read(path, 64<<10)
//
// What is opened is a regular file or nothing. A named pipe would keep its opener waiting for ever, a device does whatever it does, and a
// symbolic link leads out of the directory: each is an error that wraps [ErrNotRegular], and nothing was created, cut short or waited for.
// Only the last element of a path is looked at in this way: people move their state directory with a link. [ReadLinked] reads what others
// keep, and follows links.
//
// All functions may be called from any goroutine.
package statefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/limit"
)

// ErrNotRegular is the error of a name that stands for no regular file.
var ErrNotRegular = errors.New("is no regular file")

// ErrNotDirectory is the error of a name that should stand for a directory.
var ErrNotDirectory = errors.New("is no directory")

// ErrTooLarge is the error of a file that has more bytes than its reader takes.
var ErrTooLarge = errors.New("is larger")

// Open works like [os.OpenFile] for regular files, and never waits. Anything else, a symbolic link too, is an error that wraps [ErrNotRegular], or
// fs.ErrExist with O_CREATE and O_EXCL.
func Open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	return open(path, flag, opener{
		lstat: func() (fs.FileInfo, error) { return os.Lstat(path) },
		open:  func(flag int) (*os.File, error) { return os.OpenFile(path, flag, perm) },
	})
}

// OpenIn works like [os.Root.OpenFile] for regular files, with the errors of [Open].
func OpenIn(root *os.Root, name string, flag int, perm fs.FileMode) (*os.File, error) {
	return open(name, flag, opener{
		lstat: func() (fs.FileInfo, error) { return root.Lstat(name) },
		open:  func(flag int) (*os.File, error) { return root.OpenFile(name, flag, perm) },
	})
}

// OpenRoot works like [os.OpenRoot], but never waits: what is no directory, such as a pipe, is an error that wraps [ErrNotDirectory].
func OpenRoot(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: fmt.Errorf("%w but %s: move it away", ErrNotDirectory, kindWords(info))}
	}
	if err != nil {
		return nil, err
	}
	// With a separator at its end a name is a directory's, or open(2) fails before it waits.
	return os.OpenRoot(dir + string(os.PathSeparator))
}

// Read returns the content of a regular file of at most maxBytes. A larger file is an error that wraps [ErrTooLarge], a symbolic link or anything
// else one that wraps [ErrNotRegular].
func Read(path string, maxBytes int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, path, maxBytes)
}

// ReadLinked works like [Read] for a file that others made: symbolic links are followed, and must lead to a regular file. It never waits for
// the other end of a pipe, even if one is put in the place of the file between the checks.
func ReadLinked(path string, maxBytes int64) ([]byte, error) {
	f, err := OpenLinked(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readBounded(f, path, maxBytes)
}

// OpenLinked opens a file that others made for reading. Symbolic links are followed, and must lead to a regular file. It never waits for
// the other end of a pipe. The caller closes the file.
func OpenLinked(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(path, info)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unwaiting, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = notRegular(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// readBounded returns the content of f. If that is more than maxBytes, the error wraps [ErrTooLarge] and the beginning comes with it; path is for the
// error.
func readBounded(f *os.File, path string, maxBytes int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && int64(len(text)) > maxBytes {
		err = fmt.Errorf("%s %w than %s", path, ErrTooLarge, limit.Bytes(maxBytes).Human())
	}
	return text, err
}

// opener is a name in a directory.
type opener struct {
	lstat func() (fs.FileInfo, error)
	open  func(flag int) (*os.File, error)
}

// open opens a regular file. It checks that the name is one before opening, so that opening has no effect on a pipe or a device, and checks
// the opened file again, in case something else was put there in between. A file is truncated only after these checks.
func open(name string, flag int, p opener) (*os.File, error) {
	info, err := p.lstat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		if flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
		}
		return nil, notRegular(name, info)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	f, err := p.open(flag&^os.O_TRUNC | careful)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !opened.Mode().IsRegular() {
		err = notRegular(name, opened)
	}
	if err == nil {
		// os.Root resolves links within itself whatever the flags say.
		if info, gone := p.lstat(); gone == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = notRegular(name, info)
		}
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// notRegular returns an error that wraps [ErrNotRegular] and says what kind of file name is.
func notRegular(name string, info fs.FileInfo) error {
	return &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("%w but %s: move it away", ErrNotRegular, kindWords(info))}
}

func kindWords(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}
