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

// Words matches texts that are to be forgotten.
type Words interface {
	// In reports whether a text contains one of the words.
	In(text []byte) bool
	// Read reports whether the text that a reader yields contains one of the words.
	Read(r io.Reader) (bool, error)
	// Overwrite overwrites the words in a file, without changing its length, and returns how many places it overwrote.
	Overwrite(f interface {
		io.ReaderAt
		io.WriterAt
	}) (places int, err error)
}

// Forgotten is a result that contained one of the words.
type Forgotten struct {
	Name string // the entry's, on the disk
	// Blotted is set when the words were overwritten because the result is being read or written at this moment. Otherwise the result was
	// removed.
	Blotted bool
}

// Forget removes the results that contain certain words, in their text or in the parameters of their call, and returns them. In a result
// that is being read or written the words are overwritten; for one that is being written it also returns an error, because its later text
// is not checked. With dry it only returns the results and changes nothing.
func (s *Spool) Forget(words Words, dry bool) (list []Forgotten, err error) {
	if s.unusable != nil {
		return nil, s.unusable
	}
	var all []id
	if err := s.withLedger(func(l *ledger) error {
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
			oneErr := s.withLedger(func(l *ledger) error {
				a := l.find(i)
				if a == nil {
					gone = true // evicted meanwhile
				} else if s.live[i] == nil && s.evict(l, *a) {
					var t tally
					t.add(account{id: i})
					t.record(s, "forgotten")
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

// containsWords reports whether an entry's text, its call, server and tool, or the keys to its items contain one of the words.
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

// overwrite overwrites the words in the text of an entry that cannot be removed now, and removes its call if it contains them. If the entry
// is still being written it returns an error, although the text so far has been overwritten.
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
		h.Call = nil // so refresh cannot repeat the call
		err = errors.Join(err, writeJSON(dir, headFile, h))
	}
	if _, metaErr := readMeta(s.root, name); err == nil && errors.Is(metaErr, fs.ErrNotExist) {
		err = errors.New("a call is under way that writes it: forget again when that has ended")
	}
	return err
}
