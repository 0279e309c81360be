// Package store has what the stores below the state directory have in common: lines with a checksum, and what happens to a damaged file.
//
//	buf = store.AppendLine(buf, text)       // 00000058 3c1d09aa {"at":"2026-11-20T09:12:44Z", … }
//	text, err := store.Text(line)           // of one line that was read
//	aside, err := store.SetAside(root, "ledger")
//
// A process that is killed while it appends leaves a last line without its end, which its reader cuts off; a wrong byte costs one line.
// Damaged files stay for people to look at, at most [KeptDamaged] in a directory.
package store

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// File is a small file that is read and replaced whole, with mode 0600. Who changes it holds its lock; a reader needs none.
type File struct {
	Path string
	// Lock is the path of the lock, by default Path with ".lock" behind it.
	Lock string
	// Max bounds the bytes that are read.
	Max  int64
	Kept atomicfile.Durability
}

// Read returns the content, nil where there is no file. More than Max bytes are an error that wraps [statefile.ErrTooLarge].
func (f File) Read() ([]byte, error) {
	text, err := statefile.Read(f.Path, f.Max)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Write replaces the content. The caller holds a lock, or is the only one who writes.
func (f File) Write(text []byte) error { return atomicfile.Write(f.Path, text, 0o600, f.Kept) }

// Change replaces the content by what edit makes of it, which is nil where there is no file. It makes the directory, and waits for the lock
// until ctx ends. With an error, of edit too, and with the same content nothing is written.
func (f File) Change(ctx context.Context, edit func(old []byte) ([]byte, error)) error {
	return f.withLock(ctx, func() (bool, error) {
		old, err := f.Read()
		if err != nil {
			return false, err
		}
		text, err := edit(old)
		if err != nil {
			return false, err
		}
		return f.replace(old, text)
	})
}

// withLock calls change, which reports whether it wrote the file, while it holds the lock. Of a durable file it then writes the directory to disk,
// without the lock, because other processes see the new name already.
func (f File) withLock(ctx context.Context, change func() (wrote bool, err error)) error {
	lock := f.Lock
	lock = cmp.Or(lock, f.Path+".lock")
	wrote := false
	err := filelock.While(ctx, lock, func() (err error) {
		wrote, err = change()
		return err
	})
	if err != nil {
		return err
	}
	if wrote && f.Kept == atomicfile.Durable {
		if root, err := os.OpenRoot(filepath.Dir(f.Path)); err == nil {
			atomicfile.SyncDir(root)
			_ = root.Close()
		}
	}
	return nil
}

// replace writes text if it is not what is there, and reports whether it did. The directory is the caller's to sync.
func (f File) replace(old, text []byte) (wrote bool, err error) {
	if bytes.Equal(old, text) {
		return false, nil
	}
	if f.Kept == atomicfile.Durable {
		f.Kept = atomicfile.DurableContent
	}
	return true, f.Write(text)
}

// Document is a [File] with one JSON value.
type Document[T any] struct {
	File
	// Schema is the one that Check asks of the field "schema" (0 for none). It is looked at by itself in what cannot be decoded or does
	// not pass, because a newer one may have other types under the same names.
	Schema int
	// Check finds what is wrong in a value that was decoded (may be nil).
	Check func(*T) error
	// Aside has [Document.Change] set a damaged file aside, call it with the new path, and begin with an empty value. Where it is nil a
	// damaged file stays, and is an error.
	Aside func(path string, why error)
}

// Damage is the error of a document that is not what it should be.
type Damage struct {
	Path string
	Err  error
}

func (d *Damage) Error() string { return fmt.Sprintf("%s is damaged: %v", d.Path, d.Err) }

// Unwrap returns what is wrong with it.
func (d *Damage) Unwrap() error { return d.Err }

// ErrNewer is wrapped by the error of a document with a higher schema, which is never set aside.
var ErrNewer = errors.New("it was written by a newer version")

// Read returns the value, the zero value where there is no file. The error is a *[Damage], wraps [ErrNewer], or is of the file.
func (d Document[T]) Read() (v T, err error) {
	_, v, err = d.read()
	return v, err
}

// read returns the content and its value, the zero value with any error. With a damaged content the error is a *[Damage], and text may be a part.
func (d Document[T]) read() (text []byte, v T, err error) {
	text, err = d.File.Read()
	switch {
	case err == nil && text != nil:
		v, err = d.Decode(text)
	case errors.Is(err, statefile.ErrTooLarge):
		err = &Damage{d.Path, fmt.Errorf("it has more than %v", limit.Bytes(d.Max).Human())}
	}
	return text, v, err
}

// Decode returns the value of a content, as [Document.Read] does.
func (d Document[T]) Decode(text []byte) (v T, err error) {
	err = json.Unmarshal(text, &v)
	if err == nil && d.Check != nil {
		err = d.Check(&v)
	}
	if err == nil {
		return v, nil
	}
	var none T
	var has struct {
		Schema *int `json:"schema"`
	}
	if d.Schema != 0 && json.Unmarshal(text, &has) == nil {
		switch {
		case has.Schema == nil:
			err = errors.New("it has no schema")
		case *has.Schema > d.Schema:
			return none, fmt.Errorf("%w: schema %d, this Plimsoll knows %d", ErrNewer, *has.Schema, d.Schema)
		case *has.Schema != d.Schema:
			err = fmt.Errorf("its schema is %d", *has.Schema)
		}
	}
	return none, &Damage{d.Path, err}
}

// Write replaces the value. The caller holds a lock, or is the only one who writes.
func (d Document[T]) Write(v T) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return d.File.Write(append(text, '\n'))
}

// Change lets edit change the value, as [File.Change] does the content. A damaged file is first set aside, or an error: see [Document.Aside].
func (d Document[T]) Change(ctx context.Context, edit func(*T) error) error {
	return d.withLock(ctx, func() (bool, error) {
		old, v, err := d.read()
		if damage, ok := errors.AsType[*Damage](err); ok && d.Aside != nil {
			var aside string
			if aside, err = SetAsidePath(d.Path); err == nil {
				d.Aside(aside, damage.Err)
			}
			old = nil
		}
		if err != nil {
			return false, err
		}
		if err := edit(&v); err != nil {
			return false, err
		}
		text, err := json.Marshal(v)
		if err != nil {
			return false, err
		}
		return d.replace(old, append(text, '\n'))
	})
}

// ChangeAnew is [Document.Change] for what can be begun anew: what is not a regular file, or cannot be read by this user, is set aside as a damaged
// file is, for [Document.Aside] to tell, and the value begins empty. Without Aside it is Change.
func (d Document[T]) ChangeAnew(ctx context.Context, edit func(*T) error) error {
	err := d.Change(ctx, edit)
	if err == nil || d.Aside == nil {
		return err
	}
	// It may be the lock that is none, or the directory.
	if _, unreadable := d.Read(); !errors.Is(unreadable, statefile.ErrNotRegular) && !errors.Is(unreadable, fs.ErrPermission) {
		return err
	}
	aside, asideErr := SetAsidePath(d.Path)
	if asideErr != nil {
		return err
	}
	d.Aside(aside, err)
	return d.Change(ctx, edit)
}

// Fault returns what is wrong with a document, without its path, which a [Damage] has: for messages that name it themselves.
func Fault(err error) error {
	if d, ok := errors.AsType[*Damage](err); ok {
		return d.Err
	}
	return err
}

const (
	// KeptDamaged is the number of damaged files that stay in a directory; the oldest go.
	KeptDamaged = 16
	// damaged stands in the name of each, before the time.
	damaged = ".damaged-"
	// damagedTime is the form of that.
	damagedTime = "20060102T150405.000000000"
	// damagedRandom is the number of random letters behind it.
	damagedRandom = 6
	// maxNames bounds the names of a directory that are looked at.
	maxNames = 1 << 16
)

// DamagedName returns the name under which the damaged file of a name is kept.
func DamagedName(name string) string {
	return name + damaged + time.Now().UTC().Format(damagedTime) + "-" + rand.Text()[:damagedRandom]
}

// IsDamaged reports whether a name is that of a damaged file that was set aside.
func IsDamaged(name string) bool {
	i := strings.LastIndex(name, damaged)
	if i < 0 {
		return false
	}
	at, random, _ := strings.Cut(name[i+len(damaged):], "-")
	_, err := time.Parse(damagedTime, at)
	return err == nil && len(random) == damagedRandom && !strings.Contains(random, ".")
}

// SetAside renames a damaged file within its directory and returns its new name. The oldest of those there beyond [KeptDamaged] are removed.
func SetAside(root *os.Root, name string) (aside string, err error) {
	aside = DamagedName(name)
	if err := root.Rename(name, aside); err != nil {
		return "", err
	}
	PruneDamaged(root)
	return aside, nil
}

// SetAsidePath is [SetAside] for a path, and returns the new one. With an error aside means nothing.
func SetAsidePath(path string) (aside string, err error) {
	root, err := statefile.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	defer root.Close()
	name, err := SetAside(root, filepath.Base(path))
	return filepath.Join(filepath.Dir(path), name), err
}

// PruneDamaged removes files that were set aside in a directory, except the newest [KeptDamaged] of those among its first maxNames names. Errors are
// ignored.
func PruneDamaged(root *os.Root) {
	dir, err := root.Open(".")
	if err != nil {
		return
	}
	defer dir.Close()
	var kept []string
	for seen := 0; seen < maxNames; {
		names, err := dir.Readdirnames(256)
		seen += len(names)
		for _, name := range names {
			if IsDamaged(name) {
				kept = append(kept, name)
			}
		}
		if errors.Is(err, io.EOF) || len(names) == 0 {
			break
		}
	}
	if len(kept) <= KeptDamaged {
		return
	}
	slices.SortFunc(kept, func(a, b string) int { return strings.Compare(stamp(a), stamp(b)) })
	for _, name := range kept[:len(kept)-KeptDamaged] {
		_ = root.Remove(name) // not what is in a folder
	}
}

func stamp(name string) string { return name[strings.LastIndex(name, damaged):] }
