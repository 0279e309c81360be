package runs

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
)

// Line is one line of a run's file, other than a sample. One of its fields is not nil.
type Line struct {
	Header *Header
	Record *journal.Record
	End    *End
}

// Follower reads the lines of one run's file in order, each once, also while the run still writes. It keeps no file open.
type Follower struct {
	store *Store
	name  string
	lines
	read int64
}

// Follow returns a Follower that begins at the first line of a run.
func (s *Store) Follow(e *Entry) *Follower {
	return &Follower{store: s, name: e.Day + "/" + e.ID + fileEnd}
}

// Next calls take for the lines in the next maxBytes of the file; rest is true when there are more. Damaged lines and samples are left out.
// The error wraps [fs.ErrNotExist] once the file has been removed.
func (f *Follower) Next(maxBytes int64, take func(Line)) (rest bool, err error) {
	if f.store.root == nil {
		return false, fs.ErrNotExist
	}
	file, err := statefile.OpenIn(f.store.root, f.name, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if !isOwn(info) {
		return false, errForeign
	}
	buf := make([]byte, 64<<10)
	for until := f.read + maxBytes; f.read < min(until, maxRead); {
		n, err := file.ReadAt(buf, f.read)
		f.read += int64(n)
		f.split(buf[:n], func(l line, err error) {
			if err == nil && l.sample == nil {
				take(Line{Header: l.header, Record: l.record, End: l.end})
			}
		})
		if errors.Is(err, io.EOF) || n == 0 && err == nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return f.read < min(info.Size(), maxRead), nil
}

// Parent returns the ID of the run around a run, "" when there is none or the run is unknown.
func (s *Store) Parent(id string) string {
	if e := s.index[id]; e != nil {
		return e.Parent
	}
	if t := s.live[id]; t != nil {
		return t.run.Header.Parent
	}
	return ""
}
