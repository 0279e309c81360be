package embed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Extensions of the files beside a file of vectors: the lock of writers, that of the maker of vectors, and an unfinished new file.
const (
	lockExt      = ".lock"
	turnExt      = ".turn"
	temporaryExt = ".tmp"
)

// lockFile waits until no other process writes the file, or ctx ends. Others wait until release is called.
func (f File) lockFile(ctx context.Context) (release func(), err error) {
	file, err := statefile.OpenIn(f.Root, f.Name+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = filelock.Lock(ctx, file, filelock.Exclusive)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the file of vectors: %w", err)
	}
	return func() { _ = filelock.Release(file) }, nil
}

// Claim claims the making of vectors for this process, until release is called. If another process has the claim, ok is false, without an error.
func (f File) Claim() (release func(), ok bool, err error) {
	file, err := statefile.OpenIn(f.Root, f.Name+turnExt, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("lock the file of vectors: %w", err)
	}
	if ok, err = filelock.Try(file, filelock.Exclusive); err != nil || !ok {
		_ = file.Close()
		return nil, false, err
	}
	return func() { _ = filelock.Release(file) }, true, nil
}

// Append adds the entries for which admit returns true (all, if admit is nil) at the end of the file. It calls admit while no other process
// can write, so that a record that was forgotten meanwhile stays out. A file of another model, of other dimensions, or of unknown format is
// replaced. All entries must have the same number of dimensions.
func (f File) Append(ctx context.Context, model string, entries []Entry, admit func(Key) bool) error {
	if len(entries) == 0 {
		return nil
	}
	release, err := f.lockFile(ctx)
	if err != nil {
		return err
	}
	defer release()
	h := Head{Model: modelName(model), Dimensions: len(entries[0].Values)}
	var b []byte
	for _, e := range entries {
		if len(e.Values) != h.Dimensions || h.Dimensions == 0 || h.Dimensions > MaxDimensions {
			return fmt.Errorf("vectors of %d and of %d dimensions are not for one file", h.Dimensions, len(e.Values))
		}
		if admit == nil || admit(e.Key) {
			b = appendEntry(b, e)
		}
	}
	file, err := statefile.OpenIn(f.Root, f.Name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return f.writeNew(h, b)
	}
	if err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	defer file.Close()
	first := make([]byte, headSize)
	if _, err := io.ReadFull(file, first); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("write vectors: %w", err)
	}
	if there, ok := parseHead(first); !ok || there != h {
		_ = file.Close()
		return f.writeNew(h, b)
	}
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	end := size - (size-headSize)%int64(RecordSize(h.Dimensions)) // what a dead process has not finished goes
	last := make([]byte, min(int64(RecordSize(h.Dimensions)), end-headSize))
	if _, err := file.ReadAt(last, end-int64(len(last))); err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	if len(last) > 0 && !isValid(last) { // behind a hole nobody would find what is added
		seen, err := scanFile(ctx, io.NewSectionReader(file, 0, end), "", func(Entry, []byte) error { return nil })
		if err != nil {
			return err
		}
		end = seen.end
	}
	if end != size {
		if err := file.Truncate(end); err != nil {
			return fmt.Errorf("write vectors: %w", err)
		}
	}
	if _, err := file.WriteAt(b, end); err != nil {
		_ = file.Truncate(end)
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// writeNew replaces the file by one with a head and the given records. It does not sync: vectors lost in a power cut can be made again.
func (f File) writeNew(h Head, records []byte) error {
	err := f.replacement().Stream(func(w io.Writer) error {
		if _, err := w.Write(h.encodeHead()); err != nil {
			return err
		}
		_, err := w.Write(records)
		return err
	})
	if err != nil {
		return fmt.Errorf("write vectors: %w", err)
	}
	return nil
}

// replacement returns the settings with which a new file takes the place of this one.
func (f File) replacement() atomicfile.Replacement {
	return atomicfile.Replacement{Root: f.Root, Name: f.Name, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: f.Name + temporaryExt}
}

// Prune removes from the disk all vectors for which keep returns false, and damaged ones. It returns their number, and for 0 writes nothing.
func (f File) Prune(ctx context.Context, keep func(Key) bool) (gone int, err error) {
	if _, err := f.Root.Lstat(f.Name); errors.Is(err, fs.ErrNotExist) {
		return 0, f.removeTemporary()
	}
	release, err := f.lockFile(ctx)
	if err != nil {
		return 0, err
	}
	defer release()
	if err := f.removeTemporary(); err != nil {
		return 0, err
	}
	file, err := statefile.OpenIn(f.Root, f.Name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("rewrite vectors: %w", err)
	}
	defer file.Close()
	kept := 0
	seen, err := scanFile(ctx, file, "", func(e Entry, _ []byte) error {
		if keep(e.Key) {
			kept++
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrNewer):
		return 0, f.removeFile(file) // what it holds cannot be told, and it can be made again
	case err != nil:
		return 0, err
	}
	gone = seen.Entries + seen.Damaged - kept
	torn := seen.Bytes != headSize+int64(seen.Entries+seen.Damaged)*int64(RecordSize(seen.Dimensions))
	switch {
	case gone == 0 && !torn:
		return 0, nil
	case kept == 0:
		return gone, f.removeFile(file)
	}
	err = f.replacement().Stream(func(to io.Writer) error {
		w := bufio.NewWriterSize(to, 64<<10)
		if _, err := w.Write(seen.encodeHead()); err != nil {
			return err
		}
		_, err := scanFile(ctx, io.NewSectionReader(file, 0, 1<<62), "", func(e Entry, record []byte) error {
			if !keep(e.Key) {
				return nil
			}
			_, err := w.Write(record)
			return err
		})
		return errors.Join(err, w.Flush(), file.Close()) // Windows replaces no file that is open
	})
	if err != nil {
		return 0, fmt.Errorf("rewrite vectors: %w", err)
	}
	return gone, nil
}

// removeFile truncates the file, so that its content is gone even if it stays, closes and removes it.
func (f File) removeFile(file *os.File) error {
	err := errors.Join(file.Truncate(0), file.Close()) // Windows removes no file that is open
	if bad := f.Root.Remove(f.Name); !errors.Is(bad, fs.ErrNotExist) {
		err = errors.Join(err, bad)
	}
	if err != nil {
		return fmt.Errorf("remove vectors: %w", err)
	}
	return nil
}

// removeTemporary removes the unfinished new file of a writer that died.
func (f File) removeTemporary() error {
	if err := f.Root.Remove(f.Name + temporaryExt); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what is left of an old file of vectors: %w", err)
	}
	return nil
}

// Size returns the size of the file in bytes, 0 when it does not exist.
func (f File) Size() int64 {
	info, err := f.Root.Lstat(f.Name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// isValid reports whether a record has the right checksum.
func isValid(record []byte) bool {
	_, ok := parseEntry(record)
	return ok
}
