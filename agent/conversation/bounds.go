package conversation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// storedFile is a file of the directory that counts against the bounds.
type storedFile struct {
	name    string
	key     string
	size    int64
	used    time.Time
	damaged bool // it was set aside
}

// forEachName calls each for every name in the directory. It reads them in batches, so that many foreign files cost no memory. An error of
// each ends it and is returned.
func (s *Store) forEachName(each func(name string) error) error {
	dir, err := s.root.Open(".")
	if err != nil {
		return s.withAdvice("list", err)
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(256)
		for _, name := range names {
			if err := each(name); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return s.withAdvice("list", err)
		}
	}
}

// splitName returns the key in the name of a file, and its extension without the random end of a temporary or damaged file; ok is false for
// a file that is not the store's.
func splitName(name string) (key, ext string, ok bool) {
	const digits = 32 // of a key
	if len(name) <= digits || strings.Trim(name[:digits], "0123456789abcdef") != "" {
		return "", "", false
	}
	key, ext = name[:digits], name[digits:]
	switch {
	case ext == fileExt || ext == lockExt:
	case strings.HasPrefix(ext, tempExt):
		ext = tempExt
	case strings.HasPrefix(ext, damagedExt):
		ext = damagedExt
	default:
		return "", "", false
	}
	return key, ext, true
}

// listFiles returns the files of conversations and the damaged ones, the least recently written first.
func (s *Store) listFiles() ([]storedFile, error) {
	var out []storedFile
	err := s.forEachName(func(name string) error {
		key, ext, ok := splitName(name)
		if !ok || ext != fileExt && ext != damagedExt {
			return nil
		}
		fi, err := s.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return s.withAdvice("list", err)
		}
		out = append(out, storedFile{name: name, key: key, size: fi.Size(), used: fi.ModTime(), damaged: ext == damagedExt})
		return nil
	})
	sorting.By(out, func(a, b storedFile) int {
		if c := a.used.Compare(b.used); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return out, err
}

// makeRoom evicts old sessions so that the session with a key can grow by grow bytes, and counts the growth. fresh says that it has no file
// yet. It lists the whole directory for a new session and each time this process has written a 64th of the bound; in between it goes by its
// own count.
func (s *Store) makeRoom(key string, grow int64, fresh bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	maxBytes := int64(s.o.MaxBytes)
	if !fresh && s.total+grow <= maxBytes && s.grown+grow < maxBytes/64 {
		s.total += grow
		s.grown += max(grow, 0)
		return nil
	}
	more := 0
	if fresh {
		more = 1
	}
	return s.enforceBounds(key, grow, more)
}

// enforceBounds evicts sessions and damaged files until the bounds hold with grow more bytes and more new sessions, but never the session
// with the key. It returns an [ErrFull] if that does not suffice. The caller holds the mutex.
func (s *Store) enforceBounds(key string, grow int64, more int) error {
	maxBytes := int64(s.o.MaxBytes)
	items, err := s.listFiles()
	if err != nil {
		return err
	}
	sessions, damaged, total := more, 0, grow
	for _, it := range items {
		total += it.size
		if it.damaged {
			damaged++
		} else {
			sessions++
		}
	}
	evicted := map[string]*journal.AgentSessionsEvicted{}
	for _, it := range items {
		why := ""
		switch {
		case it.key == key && !it.damaged:
			continue
		case s.expired(it.used):
			why = "age"
		case !it.damaged && sessions > s.o.MaxSessions, it.damaged && damaged > store.KeptDamaged:
			why = "count"
		case total > maxBytes:
			why = "bytes"
		default:
			continue
		}
		if !s.evict(it) {
			continue
		}
		total -= it.size
		if it.damaged {
			damaged--
			s.o.Log.Warn("a damaged file of a conversation was removed", "file", s.fullPath(it.name), "why", why)
		} else {
			sessions--
			s.stats.Evicted++
		}
		if evicted[why] == nil {
			evicted[why] = &journal.AgentSessionsEvicted{Why: why}
		}
		evicted[why].Sessions++
		evicted[why].Bytes += it.size
	}
	for _, why := range []string{"age", "count", "bytes"} {
		if evicted[why] != nil {
			s.o.Journal.Append(*evicted[why])
		}
	}
	s.total, s.grown, s.stats.Sessions = total-grow, 0, sessions-more
	switch {
	case more > 0 && sessions > s.o.MaxSessions:
		return fmt.Errorf("%w: %d are in use, of at most %d; end one of them, or raise the bound of their number", ErrFull, sessions-1, s.o.MaxSessions)
	case grow > 0 && total > maxBytes:
		return fmt.Errorf("%w: those in use in %s have %s, of at most %s, and %s more are wanted; end one of them, or raise the bound", ErrFull, s.o.Dir, limit.Bytes(s.total).Human(), limit.Bytes(s.o.MaxBytes).Human(), limit.Bytes(grow).Human())
	}
	s.total = total
	return nil
}

// evict removes a file and reports whether it did. It does not if the file is in use, was written since it was listed, or cannot be
// removed.
func (s *Store) evict(it storedFile) bool {
	if it.damaged {
		return s.root.Remove(it.name) == nil
	}
	lock, err := s.tryLock(it.key)
	if lock == nil || err != nil {
		return false
	}
	defer s.unlock(it.key, lock)
	fi, err := s.root.Lstat(it.name)
	if err != nil || !fi.ModTime().Equal(it.used) {
		return false
	}
	return s.root.Remove(it.name) == nil
}

// removeLeftovers removes temporary files of dead processes and locks without a conversation, and enforces the bounds, which may be tighter
// than before.
func (s *Store) removeLeftovers() error {
	var left []string
	err := s.forEachName(func(name string) error {
		if _, ext, ok := splitName(name); ok && (ext == tempExt || ext == lockExt) && len(left) < 4*s.o.MaxSessions+64 {
			left = append(left, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range left {
		key, ext, _ := splitName(name)
		if ext == lockExt {
			if _, err := s.root.Lstat(key + fileExt); err == nil {
				continue
			}
		}
		lock, err := s.tryLock(key)
		if err != nil {
			return err
		}
		if lock == nil {
			continue // whoever writes it lives
		}
		if ext == tempExt {
			_ = s.root.Remove(name)
		}
		s.unlock(key, lock)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.enforceBounds("", 0, 0)
}
