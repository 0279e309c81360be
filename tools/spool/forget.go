package spool

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Words are texts to be forgotten.
type Words interface {
	// In reports whether a text holds them, Read whether what comes from a reader does.
	In(text []byte) bool
	Read(r io.Reader) (bool, error)
	// Overwrite writes over them in a file, without changing its length, and returns the number of places.
	Overwrite(f interface {
		io.ReaderAt
		io.WriterAt
	}) (places int, err error)
}

// Forgotten is a result that held certain words.
type Forgotten struct {
	Name string // the entry's, on the disk
	// Blotted is set when the words were written over, because somebody reads or writes the result at this moment. Others were removed.
	Blotted bool
}

// Forget removes the results that hold certain words, in their text or in the parameters of their call. Of a result that somebody reads or writes the
// words are written over; one that is being written is also an error, because what comes of it later is not looked at. With dry nothing is changed.
func (s *Spool) Forget(words Words, dry bool) (list []Forgotten, err error) {
	if s.unusable != nil {
		return nil, s.unusable
	}
	var all []id
	if err := s.locked(func(l *ledger) error {
		for _, a := range l.accounts {
			all = append(all, a.id)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	for _, i := range all {
		held, oneErr := s.containsWords(i, words)
		if oneErr != nil && !errors.Is(oneErr, fs.ErrNotExist) {
			err = errors.Join(err, fmt.Errorf("result %s: %w", i, oneErr))
		}
		if !held {
			continue
		}
		f := Forgotten{Name: i.String()}
		if !dry {
			gone := false
			oneErr := s.locked(func(l *ledger) error {
				a := l.find(i)
				if a == nil {
					gone = true // evicted meanwhile
				} else if s.live[i] == nil && s.evict(l, *a) {
					var t tally
					t.add(account{id: i})
					t.tell(s, "forgotten")
					gone = true
				}
				return nil
			})
			if oneErr == nil && !gone {
				f.Blotted = true
				oneErr = s.overwrite(i, words)
			}
			if oneErr != nil && !errors.Is(oneErr, fs.ErrNotExist) {
				err = errors.Join(err, fmt.Errorf("result %s: %w", i, oneErr))
			}
		}
		list = append(list, f)
	}
	return list, err
}

// containsWords looks into the files of an entry.
func (s *Spool) containsWords(i id, words Words) (bool, error) {
	name := i.String()
	if h, err := readHead(s.root, name); err == nil && (words.In(h.Call) || words.In([]byte(h.Server+" "+h.Tool+" "+h.ServerPage))) {
		return true, nil
	}
	if m, err := readMeta(s.root, name); err == nil && words.In([]byte(strings.Join(m.Keys, "\n"))) {
		return true, nil
	}
	f, err := statefile.OpenIn(s.root, name+"/"+textFile, os.O_RDONLY, 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return words.Read(f)
}

// overwrite writes over the words in an entry that cannot be removed now.
func (s *Spool) overwrite(i id, words Words) error {
	name := i.String()
	dir, err := s.root.OpenRoot(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := statefile.OpenIn(dir, textFile, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if _, err = words.Overwrite(f); err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if h, headErr := readHead(s.root, name); headErr == nil && words.In(h.Call) {
		h.Call = nil // the call cannot be made again by itself
		err = errors.Join(err, writeJSON(dir, headFile, h))
	}
	if _, metaErr := readMeta(s.root, name); err == nil && errors.Is(metaErr, fs.ErrNotExist) {
		err = errors.New("a call is under way that writes it: forget again when that has ended")
	}
	return err
}
