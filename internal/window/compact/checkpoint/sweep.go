package checkpoint

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// usage is the content of the directory at the last sweep, and the bytes and files added since.
type usage struct {
	bytes int64
	files int
	swept time.Time
}

const (
	// sweepEvery is the longest time between two full readings of the directory, when something is
	// put into it: other processes add files that this one does not count.
	sweepEvery = time.Hour
	// low is the share of a bound that is kept once it is crossed, so that the next file does not
	// cross it again.
	low = 0.9
	// abandoned is the age at which a temporary file has no writer any more.
	abandoned = time.Hour
)

// stored is a file in the store's directory.
type stored struct {
	path string
	size int64
	time time.Time
}

// listFiles returns the files below the store's directory, without the key, and removes empty directories of scopes. Directories that
// cannot be read are left out.
func (s *Store) listFiles() (all []stored) {
	scopes, err := os.ReadDir(s.o.Dir)
	if err != nil {
		return nil
	}
	for _, scope := range scopes {
		if !scope.IsDir() || len(scope.Name()) != 2*len(Scope{}) {
			continue
		}
		dir := filepath.Join(s.o.Dir, scope.Name())
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		if len(entries) == 0 {
			_ = os.Remove(dir)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			all = append(all, stored{filepath.Join(dir, e.Name()), info.Size(), info.ModTime()})
		}
	}
	return all
}

// keepWithinBounds removes files that are too old, abandoned temporary ones, and then the oldest until the directory is well within its
// bounds. It counts and journals what it removed.
func (s *Store) keepWithinBounds() {
	now := time.Now()
	all := s.listFiles()
	sorting.By(all, func(a, b stored) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.path, b.path)) })
	var bytes int64
	for _, f := range all {
		bytes += f.size
	}
	files := len(all)
	var old, fat, many removal
	drop := func(f stored, d *removal) {
		if err := os.Remove(f.path); err == nil || errors.Is(err, fs.ErrNotExist) {
			bytes -= f.size
			files--
			d.files++
			d.bytes += f.size
		}
	}
	overBytes, overFiles := bytes > s.o.MaxBytes, files > s.o.MaxFiles
	for _, f := range all {
		switch {
		case strings.Contains(filepath.Base(f.path), temporaryMark):
			if now.Sub(f.time) > abandoned {
				drop(f, &removal{}) // never was a file of the store
			}
		case now.Sub(f.time) > s.o.MaxAge:
			drop(f, &old)
		case overBytes && float64(bytes) > low*float64(s.o.MaxBytes):
			drop(f, &fat)
		case overFiles && float64(files) > low*float64(s.o.MaxFiles):
			drop(f, &many)
		}
	}
	s.mu.Lock()
	s.disk = usage{bytes: bytes, files: files, swept: now}
	s.mu.Unlock()
	old.reportEvicted(s, "age")
	fat.reportEvicted(s, "bytes")
	many.reportEvicted(s, "count")
}

// removal counts the files that one bound has removed.
type removal struct {
	files int
	bytes int64
}

// reportEvicted counts and journals the removed files, if there are any.
func (d removal) reportEvicted(s *Store, reason string) {
	if d.files > 0 {
		s.countAndJournal(reason, d.files, d.bytes)
	}
}

// Forget removes everything for whose text matches returns true: cuts, the checkpoints they belong to, and texts added to prompts; and all
// damaged files, which cannot be read. A conversation that goes on is compacted anew. It returns the paths of the files, relative to the
// store's directory. With dry it only returns them.
func (s *Store) Forget(matches func(text []byte) bool, dry bool) (files []string, err error) {
	if s == nil {
		return nil, nil
	}
	if !dry {
		s.mu.Lock()
		s.memory = memory{max: s.o.MemoryBytes}
		clear(s.listing)
		s.mu.Unlock()
	}
	if s.o.Dir == "" {
		return nil, nil
	}
	all := s.listFiles()
	gone := map[string]bool{} // digests, with their scope's directory
	stem := func(path string) string {
		name := filepath.Base(path)
		return filepath.Join(filepath.Dir(path), name[:min(len(name), 2*len(Digest{}))])
	}
	var freed int64
	for _, f := range all {
		file, readErr := statefile.Read(f.path, maxFile)
		if readErr != nil {
			continue // gone meanwhile, or nothing of ours
		}
		held := false
		switch {
		case strings.HasSuffix(f.path, cutEnd):
			cut, decodeErr := decodeCut(file)
			held = decodeErr == nil && matches(cut.Text)
		case strings.HasSuffix(f.path, checkpointEnd):
			c, decodeErr := decode(file)
			held = decodeErr == nil && (slices.ContainsFunc(c.Patches, func(p Patch) bool { return matches(bytes.Join(p.With, []byte{'\n'})) }) ||
				slices.ContainsFunc(c.Recalled, func(text string) bool { return matches([]byte(text)) }))
		default:
			held = true // set aside, or half written: nobody can tell what is in it, and nothing needs it
		}
		if held {
			gone[stem(f.path)] = true
		}
	}
	for _, f := range all {
		if !gone[stem(f.path)] {
			continue
		}
		name, relErr := filepath.Rel(s.o.Dir, f.path)
		if relErr != nil {
			name = f.path
		}
		if dry {
			files = append(files, name)
		} else if removeErr := os.Remove(f.path); removeErr == nil {
			files = append(files, name)
			freed += f.size
		} else if !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if dry {
		return files, err
	}
	s.mu.Lock()
	s.disk.bytes -= freed
	s.disk.files -= len(files)
	s.mu.Unlock()
	return files, err
}
