package conversation

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

// Info describes a session in [Store.List].
type Info struct {
	Session  string      `json:"session"`
	Title    string      `json:"title"` // of the first question: one line of at most 120 bytes
	Messages int         `json:"messages"`
	Bytes    limit.Bytes `json:"bytes"`
	Created  time.Time   `json:"created"`
	Updated  time.Time   `json:"updated"`
}

// List returns the sessions, the last written first, at most MaxSessions. It takes no lock and changes nothing. It leaves out files that are too old,
// and those whose head cannot be read, which are set aside when their session is opened.
func (s *Store) List() ([]Info, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	items, err := s.listFiles()
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, min(len(items), s.o.MaxSessions))
	for _, it := range slices.Backward(items) {
		if len(out) == s.o.MaxSessions {
			break
		}
		if it.damaged || s.expired(it.used) {
			continue
		}
		info, ok, err := s.sessionInfo(it)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, info)
		}
	}
	return out, nil
}

// sessionInfo describes the session in a file: it reads the head and counts the other lines. It returns false for a file that is gone or
// has no valid head.
func (s *Store) sessionInfo(it storedFile) (Info, bool, error) {
	if fi, err := s.root.Lstat(it.name); err != nil || !fi.Mode().IsRegular() {
		return Info{}, false, nil // gone since, or something that would keep its reader waiting
	}
	f, err := statefile.OpenIn(s.root, it.name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, nil
	}
	if err != nil {
		return Info{}, false, s.withAdvice("read", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(io.LimitReader(f, it.size), 64<<10)
	var line []byte
	_, whole, err := store.ReadLine(in, &line, headRoom)
	if err != nil {
		return Info{}, false, s.withAdvice("read", err)
	}
	h, bad := parseHeader(line)
	if !whole || bad != nil || keyOf(h.Session) != it.key {
		return Info{}, false, nil
	}
	info := Info{Session: h.Session, Title: h.Title, Bytes: limit.Bytes(it.size), Created: h.Created, Updated: it.used}
	for {
		_, whole, err := store.ReadLine(in, &line, 0)
		if err != nil {
			return Info{}, false, s.withAdvice("read", err)
		}
		if !whole {
			return info, true, nil
		}
		info.Messages++
	}
}

// chooseKept returns which entries stay so that they have at most maxBytes together. If they have more, whole turns are dropped, the oldest
// first, until at most target bytes are left; a turn begins with a message of the user. The last turn stays. If that alone is too large,
// calls are dropped with their results, the oldest first, and of the last step the oldest results. The question and the last message always
// stay: each has at most a quarter of the bound.
func chooseKept(entries []entry, maxBytes, target int64) []bool {
	keep := make([]bool, len(entries))
	var total int64
	for i, e := range entries {
		keep[i] = true
		total += int64(e.size)
	}
	drop := func(from, to int) {
		for i := from; i < to; i++ {
			if keep[i] {
				keep[i] = false
				total -= int64(entries[i].size)
			}
		}
	}
	if total <= maxBytes {
		return keep
	}
	begin := 0
	for next := nextWithRole(entries, begin, agent.RoleUser); total > target && next < len(entries); next = nextWithRole(entries, begin, agent.RoleUser) {
		drop(begin, next)
		begin = next
	}
	if total <= maxBytes || begin == len(entries) {
		return keep
	}
	if entries[begin].role == agent.RoleUser {
		begin++
	}
	for next := nextWithRole(entries, begin, agent.RoleAssistant); total > maxBytes && next < len(entries); next = nextWithRole(entries, begin, agent.RoleAssistant) {
		drop(begin, next)
		begin = next
	}
	for ; total > maxBytes && begin < len(entries)-1; begin++ {
		drop(begin, begin+1)
	}
	return keep
}

// nextWithRole returns the index of the next entry with this role behind i, or the number of entries.
func nextWithRole(entries []entry, i int, role agent.Role) int {
	for i++; i < len(entries); i++ {
		if entries[i].role == role {
			return i
		}
	}
	return len(entries)
}
