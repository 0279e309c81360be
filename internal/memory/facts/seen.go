package facts

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// MaxRead is the number of episodes remembered as read. Beyond it those that were read first are forgotten, and may be read once more.
const MaxRead = 100_000

const (
	seenFile = "read"
	seenLock = "read.lock"
	markSize = 16 // bytes of an id's digest
)

// ReadSet is the file of the episodes that were read, with or without a fact, so that none is paid for twice. It holds a digest of 16 bytes for each
// of at most twice [MaxRead] episodes.
type ReadSet struct {
	dir string
	max int
}

// NewReadSet returns the set whose file is in a directory. maxItems 0 means [MaxRead].
func NewReadSet(dir string, maxItems int) *ReadSet {
	if maxItems <= 0 {
		maxItems = MaxRead
	}
	return &ReadSet{dir: dir, max: maxItems}
}

type digest [markSize]byte

// digestOf returns the digest by which an episode is marked as read.
func digestOf(id string) digest {
	sum := sha256.Sum256([]byte(id))
	return digest(sum[:markSize])
}

// Add marks episodes as read.
func (s *ReadSet) Add(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := filelock.While(ctx, filepath.Join(s.dir, seenLock), func() error { return s.appendDigests(ids) }); err != nil {
		return fmt.Errorf("the list of what was read for facts: %w; %s", err, archive.NextStep(s.dir, err))
	}
	return nil
}

// appendDigests appends the digests of ids to the file and syncs it. A file that would hold twice as many as allowed keeps only the newest.
func (s *ReadSet) appendDigests(ids []string) error {
	path := filepath.Join(s.dir, seenFile)
	f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	size -= size % markSize // what a dead process has not finished
	var add []byte
	for _, id := range ids {
		m := digestOf(id)
		add = append(add, m[:]...)
	}
	if size+int64(len(add)) > 2*int64(s.max)*markSize {
		keep := make([]byte, min(size, int64(s.max)*markSize))
		if _, err := f.ReadAt(keep, size-int64(len(keep))); err != nil {
			return err
		}
		return atomicfile.Write(path, append(keep, add...), 0o600, atomicfile.Durable)
	}
	if _, err := f.WriteAt(add, size); err != nil {
		return errors.Join(err, f.Truncate(size))
	}
	if err := f.Truncate(size + int64(len(add))); err != nil {
		return err
	}
	return f.Sync()
}

// Load reads the file and returns a function that reports whether an episode is marked as read, and the number of marks. Without a file
// none is.
func (s *ReadSet) Load() (has func(id string) bool, n int, err error) {
	f, err := statefile.Open(filepath.Join(s.dir, seenFile), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func(string) bool { return false }, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("the list of what was read for facts: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4*int64(s.max)*markSize))
	if err != nil {
		return nil, 0, fmt.Errorf("the list of what was read for facts: %w", err)
	}
	all := make(map[digest]struct{}, len(text)/markSize)
	for len(text) >= markSize {
		all[digest(text[:markSize])] = struct{}{}
		text = text[markSize:]
	}
	return func(id string) bool { _, ok := all[digestOf(id)]; return ok }, len(all), nil
}

// Len returns the number of episodes marked as read.
func (s *ReadSet) Len() (int, error) {
	info, err := os.Stat(filepath.Join(s.dir, seenFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("the list of what was read for facts: %w", err)
	}
	return int(info.Size() / markSize), nil
}
