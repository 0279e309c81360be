// Package atomicfile replaces a file as a whole: whoever opens it sees the old content or the new one, whenever the writer dies.
//
//	err := atomicfile.Write("report.json", body, 0o600, atomicfile.Durable)
//	err := atomicfile.Replacement{Root: root, Name: "tasks", Perm: 0o600, Kept: atomicfile.Volatile}.Write(body)
//
// The new content goes into a temporary file beside the old one, which is then renamed. Each caller says whether it must survive a power cut
// ([Durable]) or not ([Volatile], with the reason beside it). A writer that is killed leaves the temporary file, NAME.tmp-RANDOM unless
// [Replacement.Temporary] says otherwise. A symbolic link is replaced, not followed, and within an [os.Root] nothing outside of it is reached.
//
// All functions may be called from any goroutine and process; of several writers the last one wins, with [Replacement.Create] the first.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Durability is the guarantee that a new file has after a power cut.
type Durability int

const (
	// Durable files are on the disk, name and content, when the call returns.
	Durable Durability = iota
	// DurableContent leaves the name to a later call of [SyncDir]: until then a power cut may bring the old file back.
	DurableContent
	// Volatile files may be old, new or empty after a power cut. The caller says why that harms nobody.
	Volatile
)

// Replacement is a file that is about to take the place of another.
type Replacement struct {
	// Root is the directory that Name is in; nil means that Name is a path.
	Root *os.Root
	Name string
	// Perm is the mode before umask.
	Perm fs.FileMode
	Kept Durability
	// Temporary is the name of the file that is written first, in the same directory; "" is Name.tmp-RANDOM. One that is
	// there is written over, so a name that does not change is for writers that hold a lock: at most one file is left behind.
	Temporary string
	// Before is called between writing and renaming (may be nil).
	Before func()
}

// Write replaces the file at path, or makes it. On an error the old file is as it was.
func Write(path string, body []byte, perm fs.FileMode, kept Durability) error {
	return Replacement{Name: path, Perm: perm, Kept: kept}.Write(body)
}

// Write puts a file with this content into its place. On an error the old file is as it was.
func (r Replacement) Write(body []byte) error {
	return r.Stream(func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

// Stream works like Write for a content that write writes, unbuffered. An error of write's is returned, and the old file is as it was.
func (r Replacement) Stream(write func(io.Writer) error) error {
	temporary, err := r.prepare(write)
	if err != nil {
		return err
	}
	if err := retryRename(func() error { return r.dir().Rename(temporary, r.Name) }); err != nil {
		_ = r.dir().Remove(temporary)
		return err
	}
	r.syncName()
	return nil
}

// Create puts a file into its place unless something has the name; first reports whether it did. Of several that create it at once one is first,
// wherever the file system has hard links.
func (r Replacement) Create(body []byte) (first bool, err error) {
	temporary, err := r.prepare(func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
	if err != nil {
		return false, err
	}
	defer func() { _ = r.dir().Remove(temporary) }()
	switch err := r.dir().Link(temporary, r.Name); {
	case err == nil:
	case errors.Is(err, fs.ErrExist):
		return false, nil
	default:
		// A file system without links. Between the look and the rename another one may come:
		// then the later one stays, and is found by both from then on.
		if _, err := r.dir().Lstat(r.Name); err == nil {
			return false, nil
		}
		if err := retryRename(func() error { return r.dir().Rename(temporary, r.Name) }); err != nil {
			return false, err
		}
	}
	r.syncName()
	return true, nil
}

// prepare makes the temporary file with the content that write writes, calls Before if it is set, and returns the file's name. After an error it
// leaves no file.
func (r Replacement) prepare(write func(io.Writer) error) (temporary string, err error) {
	temporary, flag := r.Temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC
	if temporary == "" {
		temporary, flag = r.Name+".tmp-"+rand.Text(), os.O_WRONLY|os.O_CREATE|os.O_EXCL
	}
	f, err := r.open(temporary, flag)
	if err != nil {
		if r.Temporary != "" { // what only has the name must not be in the way of the next writer
			_ = r.dir().Remove(temporary)
		}
		return "", err
	}
	err = write(f)
	if err == nil && r.Kept != Volatile {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = r.dir().Remove(temporary)
		return "", err
	}
	if r.Before != nil {
		r.Before()
	}
	return temporary, nil
}

func (r Replacement) open(name string, flag int) (*os.File, error) {
	if r.Root != nil {
		return statefile.OpenIn(r.Root, name, flag, r.Perm)
	}
	return statefile.Open(name, flag, r.Perm)
}

// syncName makes the new name survive a power cut, if Kept is Durable. Errors are ignored: the file is in its place.
func (r Replacement) syncName() {
	switch {
	case r.Kept != Durable:
	case r.Root != nil:
		SyncDir(r.Root)
	default:
		d, err := os.Open(filepath.Dir(r.Name))
		syncAndClose(d, err)
	}
}

// SyncDir makes the names in a directory survive a power cut. Some systems cannot sync a directory,
// and every reader sees the new files anyhow, so there is no error.
func SyncDir(root *os.Root) {
	d, err := root.Open(".")
	syncAndClose(d, err)
}

// syncAndClose writes directory d to disk and closes it, ignoring errors. It does nothing if err, the error of opening d, is not nil.
func syncAndClose(d *os.File, err error) {
	if err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// directory looks up names: an [os.Root], or the working directory.
type directory interface {
	Rename(from, to string) error
	Link(from, to string) error
	Lstat(name string) (fs.FileInfo, error)
	Remove(name string) error
}

func (r Replacement) dir() directory {
	if r.Root != nil {
		return r.Root
	}
	return paths{}
}

type paths struct{}

func (paths) Rename(from, to string) error           { return os.Rename(from, to) }
func (paths) Link(from, to string) error             { return os.Link(from, to) }
func (paths) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }
func (paths) Remove(name string) error               { return os.Remove(name) }

const (
	tries = 10
	pause = 2 * time.Millisecond
)

// retryRename calls again, which renames a file. On Windows it calls it up to ten times within about 20 ms until it returns nil. It returns
// the last error.
func retryRename(again func() error) error {
	err := again()
	for range tries - 1 {
		if err == nil || runtime.GOOS != "windows" {
			break
		}
		time.Sleep(pause)
		err = again()
	}
	return err
}
