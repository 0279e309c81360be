package checkpoint

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	checkpointEnd = ".ck"
	cutEnd        = ".cut"
	damagedEnd    = ".damaged"
	temporaryMark = ".tmp-"
)

// A listing is what one scope's directory held when it was last read.
type listing struct {
	modified time.Time // of the directory
	read     time.Time
	names    map[Digest]bool
}

const (
	// racy is how much older than the reading a directory's time must be to be trusted: file
	// systems round it, and a file that came within the same tick would be missed.
	racy = 2 * time.Second
	// maxListings bounds the scopes whose listing is remembered.
	maxListings = 256
	// maxFile bounds what is read into memory.
	maxFile = 256 << 20
	// touchAfter is how old a file's time may get before a use renews it.
	touchAfter = time.Hour
)

func (s *Store) scopeDir(scope Scope) string { return filepath.Join(s.o.Dir, scope.String()) }

func (s *Store) path(k key) string {
	return filepath.Join(s.scopeDir(k.scope), hex.EncodeToString(k.chain[:])+checkpointEnd)
}

// known lists the checkpoints a scope has on the disk. It costs one stat while nothing
// changes there.
func (s *Store) known(scope Scope) map[Digest]bool {
	if s.o.Dir == "" {
		return nil
	}
	info, err := os.Stat(s.scopeDir(scope))
	if err != nil {
		return nil
	}
	s.mu.Lock()
	l := s.listing[scope]
	s.mu.Unlock()
	if l != nil && l.modified.Equal(info.ModTime()) && l.read.Sub(l.modified) > racy {
		return l.names
	}
	l = &listing{modified: info.ModTime(), read: time.Now(), names: map[Digest]bool{}}
	entries, err := os.ReadDir(s.scopeDir(scope))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), checkpointEnd); ok && len(name) == 2*len(Digest{}) {
			var d Digest
			if _, err := hex.Decode(d[:], []byte(name)); err == nil {
				l.names[d] = true
			}
		}
	}
	s.mu.Lock()
	if len(s.listing) >= maxListings {
		clear(s.listing)
	}
	s.listing[scope] = l
	s.mu.Unlock()
	return l.names
}

// load returns the checkpoint of k: h, what memory has of it, or what the disk has when
// that is newer. nil when there is none that is whole.
func (s *Store) load(k key, h *held) *Checkpoint {
	if s.o.Dir == "" || h != nil && !h.onDisk {
		if h == nil {
			return nil
		}
		return h.c
	}
	path := s.path(k)
	info, err := os.Stat(path)
	if err != nil {
		if h != nil && errors.Is(err, fs.ErrNotExist) {
			s.mu.Lock()
			s.memory.drop(k) // gc took it away
			s.mu.Unlock()
		}
		return nil
	}
	if h != nil && s.unchanged(h, info) {
		s.touch(path, h)
		return h.c
	}
	if info.Size() > maxFile {
		s.setAside(path, info.Size())
		return nil
	}
	file, err := statefile.Read(path, maxFile)
	if err != nil {
		return nil
	}
	c, err := decode(file)
	if err != nil || c.Chain != k.chain {
		s.setAside(path, int64(len(file)))
		return nil
	}
	h = &held{key: k, c: c, modified: info.ModTime(), length: info.Size(), onDisk: true}
	s.touch(path, h)
	s.mu.Lock()
	s.memory.put(h)
	s.mu.Unlock()
	return c
}

// unchanged tells whether the file is the one that memory has. The time is read under the
// lock, because another request of the conversation may be renewing it.
func (s *Store) unchanged(h *held, info fs.FileInfo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return h.modified.Equal(info.ModTime()) && h.length == info.Size()
}

// touch keeps what is used from getting old.
func (s *Store) touch(path string, h *held) {
	now := time.Now()
	s.mu.Lock()
	old := now.Sub(h.modified) > touchAfter
	s.mu.Unlock()
	if !old || os.Chtimes(path, now, now) != nil {
		return
	}
	if info, err := os.Stat(path); err == nil {
		s.mu.Lock()
		h.modified = info.ModTime()
		s.mu.Unlock()
	}
}

// setAside takes a damaged file out of the way. It stays until its age removes it, for
// whoever wants to know what happened to it.
func (s *Store) setAside(path string, size int64) {
	if err := os.Rename(path, path+damagedEnd); err != nil {
		_ = os.Remove(path)
	}
	s.tell("damaged", 1, size)
}

// write puts a checkpoint and its cut on the disk; without a cut (nil) there is no file for one, and nobody waits for the
// disk. When another process was first, h gets that one's.
func (s *Store) write(h *held, cut *Cut) error {
	dir := s.scopeDir(h.key.scope)
	path := s.path(h.key)
	file := h.c.encode()
	var shown []byte
	files, kept := 1, atomicfile.Volatile
	if cut != nil {
		shown = cut.file(h.key, h.c, s.o.MaxBytes/8)
		files, kept = 2, atomicfile.Durable
	}
	err := os.MkdirAll(dir, 0o700)
	first := true
	if err == nil {
		// An older generation is replaced; of the same one the first stays.
		if old := s.load(h.key, nil); old == nil {
			first, err = atomicfile.Replacement{Name: path, Perm: 0o600, Kept: kept}.Create(file)
		} else if h.c.beats(old) {
			err = atomicfile.Write(path, file, 0o600, kept)
		} else {
			first = false
		}
	}
	if err == nil && !first {
		if old := s.load(h.key, nil); old != nil {
			h.c = old
		}
	}
	if err == nil && first && cut != nil {
		err = atomicfile.Write(filepath.Join(dir, cutName(h.key, h.c)), shown, 0o600, atomicfile.Durable)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	s.mu.Lock()
	began := err != nil && !s.failing
	s.failing = err != nil
	if err != nil {
		s.stats.Failed++
	} else {
		h.onDisk, h.modified, h.length = true, info.ModTime(), info.Size()
		if first {
			s.disk.bytes += int64(len(file) + len(shown))
			s.disk.files += files
		}
		if l := s.listing[h.key.scope]; l != nil {
			// A copy: readers hold the old one.
			names := maps.Clone(l.names)
			names[h.key.chain] = true
			s.listing[h.key.scope] = &listing{modified: l.modified, read: l.read, names: names}
		}
	}
	s.mu.Unlock()
	if began {
		s.tell("full", 0, int64(len(file)+len(shown)))
	}
	return err
}
