package conversation

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// item is a file of the directory that takes room.
type item struct {
	name  string
	key   string
	size  int64
	used  time.Time
	aside bool // damaged
}

// names lists the directory, piece by piece, so that what strangers put there costs nothing.
func (s *Store) names(each func(name string) error) error {
	dir, err := s.root.Open(".")
	if err != nil {
		return s.failed("list", err)
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
			return s.failed("list", err)
		}
	}
}

// split takes a file's name apart; ok is false for what is none of the store's.
func split(name string) (key, ext string, ok bool) {
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

// survey lists the conversations, and the damaged files, the least recently written first.
func (s *Store) survey() ([]item, error) {
	var out []item
	err := s.names(func(name string) error {
		key, ext, ok := split(name)
		if !ok || ext != fileExt && ext != damagedExt {
			return nil
		}
		fi, err := s.root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return s.failed("list", err)
		}
		out = append(out, item{name: name, key: key, size: fi.Size(), used: fi.ModTime(), aside: ext == damagedExt})
		return nil
	})
	slices.SortFunc(out, func(a, b item) int {
		if c := a.used.Compare(b.used); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return out, err
}

// room makes room for a session to grow, and notes that it does. Fresh says that it is not
// there yet. Every process looks at the whole directory when it begins a session and each
// time it has written a 64th of the bound; in between it reckons with what it knows.
func (s *Store) room(key string, grow int64, fresh bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := int64(s.o.MaxBytes)
	if !fresh && s.total+grow <= most && s.grown+grow < most/64 {
		s.total += grow
		s.grown += max(grow, 0)
		return nil
	}
	more := 0
	if fresh {
		more = 1
	}
	return s.tighten(key, grow, more)
}

// tighten holds the bounds with so many more bytes and sessions. It is called with the
// store's mutex.
func (s *Store) tighten(key string, grow int64, more int) error {
	most := int64(s.o.MaxBytes)
	items, err := s.survey()
	if err != nil {
		return err
	}
	sessions, aside, total := more, 0, grow
	for _, it := range items {
		total += it.size
		if it.aside {
			aside++
		} else {
			sessions++
		}
	}
	gone := map[string]*journal.AgentSessionsEvicted{}
	for _, it := range items {
		why := ""
		switch {
		case it.key == key && !it.aside:
			continue
		case s.expired(it.used):
			why = "age"
		case !it.aside && sessions > s.o.MaxSessions, it.aside && aside > maxAside:
			why = "count"
		case total > most:
			why = "bytes"
		default:
			continue
		}
		if !s.evict(it) {
			continue
		}
		total -= it.size
		if it.aside {
			aside--
			s.o.Log.Warn("a damaged file of a conversation was removed", "file", s.path(it.name), "why", why)
		} else {
			sessions--
			s.stats.Evicted++
		}
		if gone[why] == nil {
			gone[why] = &journal.AgentSessionsEvicted{Why: why}
		}
		gone[why].Sessions++
		gone[why].Bytes += it.size
	}
	for _, why := range []string{"age", "count", "bytes"} {
		if gone[why] != nil {
			s.o.Journal.Append(*gone[why])
		}
	}
	s.total, s.grown, s.stats.Sessions = total-grow, 0, sessions-more
	switch {
	case more > 0 && sessions > s.o.MaxSessions:
		return fmt.Errorf("%w: %d are in use, of at most %d; end one of them, or raise the bound of their number", ErrFull, sessions-1, s.o.MaxSessions)
	case grow > 0 && total > most:
		return fmt.Errorf("%w: those in use in %s have %s, of at most %s, and %s more are wanted; end one of them, or raise the bound", ErrFull, s.o.Dir, limit.Bytes(s.total), s.o.MaxBytes, limit.Bytes(grow))
	}
	s.total = total
	return nil
}

// evict removes a file unless somebody uses it or has used it since it was listed.
func (s *Store) evict(it item) bool {
	if it.aside {
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

// sweep removes what dead processes have left: temporary files, and locks without a
// conversation. Then it holds the bounds, which may be tighter than they were.
func (s *Store) sweep() error {
	var left []string
	err := s.names(func(name string) error {
		if _, ext, ok := split(name); ok && (ext == tempExt || ext == lockExt) && len(left) < 4*s.o.MaxSessions+64 {
			left = append(left, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range left {
		key, ext, _ := split(name)
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
	return s.tighten("", 0, 0)
}
