// Package notes keeps Markdown files for agents and for their user: the notes that an agent writes with Anthropic's memory tool, and the
// pinned profile with the user's standing instructions.
//
//	answer, err := dir.Execute(ctx, notes.Command{Command: "view", Path: "/memories"})
//	text, err := profile.InForce()
//
// [Dir.Execute] takes the six commands of the memory tool (memory_20250818), and answers in the words of Anthropic's documentation, on which models
// were trained. Paths are resolved through [os.Root]. A note has at most [MaxNote] bytes, a directory [MaxFiles] files and [MaxTotal] bytes:
// past that the note that was written longest ago goes. The profile is one file of at most [MaxProfile] bytes beside that directory, where no
// path of the tool leads; of an edit nothing counts before a person has confirmed it ([Profile.Confirm]).
//
// Any goroutine and many processes may use a directory: changes take turns by a lock file, and files are replaced whole.
package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// The bounds of a directory of notes.
const (
	// MaxNote is the largest size of one note: 100 kB, as in Anthropic's memory stores.
	MaxNote = 100_000
	// MaxFiles is the largest number of notes in a directory.
	MaxFiles = 1000
	// MaxTotal is the largest size in bytes of the notes in a directory.
	MaxTotal = 16 * limit.MiB
	// MaxDepth is the largest number of directories above a note.
	MaxDepth = 16
	// maxRead is the largest size in bytes of a file that is read; a person may put larger ones there than MaxNote.
	maxRead = 1 << 20
	// maxLines is the limit of the memory tool's documentation.
	maxLines = 999_999
)

// Options configure a [Dir]. Dir is required.
type Options struct {
	// Dir holds the notes. It is made when the first note is written.
	Dir string
	// MaxFiles and MaxTotal bound the directory; 0 means the constants of the same name.
	MaxFiles int
	MaxTotal limit.Bytes
	// Changed is called for each note that was written or removed (text is "" then), in the order of the changes of this process, after
	// the change is on the disk (may be nil). The path begins with /memories.
	Changed func(path, text string, removed bool)
	// Evicted is called for each note that was removed because of a bound; why is "count" or "bytes". It may be nil.
	Evicted func(path string, bytes int64, why string)
}

// Stats counts what a [Dir] did since it was opened.
type Stats struct {
	Written, Removed, Evicted int64
	EvictedBytes              int64
	Refused                   int64 // for their size, or since the file had changed
}

// Dir is a directory of notes.
type Dir struct {
	o Options

	written, removed, evicted, evictedBytes, refused atomic.Int64
}

// Open returns the notes in o.Dir. It touches no file.
func Open(o Options) (*Dir, error) {
	if o.Dir == "" {
		return nil, errors.New("notes: no directory is given")
	}
	o.MaxFiles = cmp.Or(max(o.MaxFiles, 0), MaxFiles)
	o.MaxTotal = cmp.Or(max(o.MaxTotal, 0), MaxTotal)
	return &Dir{o: o}, nil
}

// Stats returns the counts.
func (d *Dir) Stats() Stats {
	return Stats{
		Written: d.written.Load(), Removed: d.removed.Load(), Evicted: d.evicted.Load(),
		EvictedBytes: d.evictedBytes.Load(), Refused: d.refused.Load(),
	}
}

// Note is a file of the directory.
type Note struct {
	// Path begins with /memories.
	Path    string
	Bytes   int64
	Written time.Time
}

// List returns all notes in the order of their paths. A directory that does not exist has none.
func (d *Dir) List() ([]Note, error) {
	root, err := d.openDir(false)
	if root == nil {
		return nil, err
	}
	defer root.Close()
	return listNotes(root)
}

// Read returns a note's text. The path begins with /memories.
func (d *Dir) Read(notePath string) (string, error) {
	name, err := resolvePath(notePath)
	if err != nil {
		return "", err
	}
	root, err := d.openDir(false)
	if err != nil {
		return "", err
	}
	if root == nil {
		return "", noPathForView(notePath)
	}
	defer root.Close()
	return readNote(root, name, notePath)
}

// openDir opens the directory for the caller to close. If it does not exist, openDir makes it if create is set, else it returns nil without an error.
func (d *Dir) openDir(create bool) (*os.Root, error) {
	if create {
		if err := os.MkdirAll(d.o.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("notes: %w", err)
		}
	}
	root, err := statefile.OpenRoot(d.o.Dir)
	if errors.Is(err, fs.ErrNotExist) && !create {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	return root, nil
}

// whileLocked calls change while it holds the lock against changes by other processes. It makes the directory if it does not exist.
func (d *Dir) whileLocked(ctx context.Context, change func(*os.Root) error) error {
	root, err := d.openDir(true)
	if err != nil {
		return err
	}
	defer root.Close()
	lock, err := filelock.Open(ctx, d.o.Dir+".lock")
	if err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	defer filelock.Release(lock)
	return change(root)
}

// listNotes returns all regular files below the root. It skips links, pipes, temporary files and what cannot be read.
func listNotes(root *os.Root) ([]Note, error) {
	var all []Note
	err := fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == "." {
				return err
			}
			return nil
		}
		if e.IsDir() || !e.Type().IsRegular() || isTemporary(e.Name()) {
			return nil
		}
		if info, err := e.Info(); err == nil {
			all = append(all, Note{Path: path.Join(prefix, name), Bytes: info.Size(), Written: info.ModTime()})
		}
		return nil
	})
	return all, err
}

// makeRoom removes the notes that were written longest ago until the directory is within its bounds with moreBytes and moreFiles added to it. The
// note at keep, which is about to be written, stays. The caller holds the lock.
func (d *Dir) makeRoom(root *os.Root, keep string, moreBytes int64, moreFiles int) error {
	all, err := listNotes(root)
	if err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	count, total := len(all)+moreFiles, moreBytes
	for _, n := range all {
		total += n.Bytes
	}
	if count <= d.o.MaxFiles && total <= int64(d.o.MaxTotal) {
		return nil
	}
	sorting.By(all, func(a, b Note) int { return cmp.Or(a.Written.Compare(b.Written), cmp.Compare(a.Path, b.Path)) })
	for _, n := range all {
		why := "count"
		if count <= d.o.MaxFiles {
			why = "bytes"
			if total <= int64(d.o.MaxTotal) {
				break
			}
		}
		if n.Path == keep {
			continue
		}
		name, err := resolvePath(n.Path)
		if err != nil {
			continue // a name that no agent wrote
		}
		if err := root.Remove(name); err != nil {
			return fmt.Errorf("notes: no room for %s: %w", keep, err)
		}
		count--
		total -= n.Bytes
		d.evicted.Add(1)
		d.evictedBytes.Add(n.Bytes)
		if d.o.Evicted != nil {
			d.o.Evicted(n.Path, n.Bytes, why)
		}
		if d.o.Changed != nil {
			d.o.Changed(n.Path, "", true)
		}
	}
	return nil
}
