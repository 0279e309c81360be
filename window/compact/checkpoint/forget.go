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

// Forget removes everything that holds certain words, as holds finds them in raw messages and texts: cuts, the checkpoints that they
// are of, and what was added to prompts. A conversation that goes on is compacted anew. It returns how many files went.
func (s *Store) Forget(holds func(text []byte) bool) (files int, err error) {
	if s == nil {
		return 0, nil
	}
	s.mu.Lock()
	s.memory = memory{max: s.o.MemoryBytes}
	clear(s.listing)
	s.mu.Unlock()
	if s.o.Dir == "" {
		return 0, nil
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
			held = decodeErr == nil && slices.ContainsFunc(c.Patches, func(p Patch) bool { return holds(bytes.Join(p.With, []byte{'\n'})) })
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
		if removeErr := os.Remove(f.path); removeErr == nil {
			files++
			freed += f.size
		} else if !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	s.mu.Lock()
	s.disk.bytes -= freed
	s.disk.files -= files
	s.mu.Unlock()
	return files, err
}
