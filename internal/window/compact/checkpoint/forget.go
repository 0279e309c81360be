package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Forget removes everything for whose text holds returns true: cuts, the checkpoints they belong to, and what was added to prompts; and all
// damaged files, which cannot be read. A conversation that goes on is compacted anew. It returns the paths of the files, relative to the
// store's directory. With dry it only returns them.
func (s *Store) Forget(holds func(text []byte) bool, dry bool) (files []string, err error) {
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
	all := s.walk()
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
			held = decodeErr == nil && holds(cut.Text)
		case strings.HasSuffix(f.path, checkpointEnd):
			c, decodeErr := decode(file)
			held = decodeErr == nil && (slices.ContainsFunc(c.Patches, func(p Patch) bool { return holds(bytes.Join(p.With, []byte{'\n'})) }) ||
				slices.ContainsFunc(c.Recalled, func(text string) bool { return holds([]byte(text)) }))
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
