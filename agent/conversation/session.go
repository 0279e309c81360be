package conversation

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
)

// headRoom is more than the head of any file takes, in bytes: an id of 256 bytes that are all escaped, a title, and the rest.
const headRoom = 2 << 10

// conversation is an open session. It holds the session's lock.
type conversation struct {
	s       *Store
	session string
	key     string
	lock    *os.File

	mu       sync.Mutex
	head     headerRecord
	file     *os.File // nil if it does not exist or is not open
	size     int64    // bytes of the file that hold whole records
	tornTail bool     // the file may have bytes behind size
	entries  []entry
	unread   []agent.Message // messages of entries, kept from loading until Messages returns them or entries change
	closed   bool
}

// bounds returns the bounds in bytes of all records of a session, and of one record: a quarter of that.
func (s *Store) bounds() (all int64, one int) {
	all = int64(s.o.MaxSession) - headRoom
	return all, int(all / 4)
}

// load reads the file, if there is one. An expired file is removed, a damaged one set aside; one of a newer version is an error.
func (c *conversation) load() error {
	name := c.key + fileExt
	fi, err := c.s.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return c.s.withAdvice("read", err)
	}
	if !fi.Mode().IsRegular() {
		return c.setAside(&fileContents{damage: errors.New("it is no regular file")}, fi.Size())
	}
	if c.s.expired(fi.ModTime()) {
		if err := c.s.root.Remove(name); err != nil {
			return c.s.withAdvice("remove", err)
		}
		c.s.addTotals(-fi.Size(), -1)
		c.s.addToStats(func(t *Stats) { t.Evicted++ }, journal.AgentSessionsEvicted{Sessions: 1, Bytes: fi.Size(), Why: "age"})
		return nil
	}
	file, err := statefile.OpenIn(c.s.root, name, os.O_RDWR, 0)
	if err != nil {
		return c.s.withAdvice("read", err)
	}
	all, _ := c.s.bounds()
	f, err := readFile(file, all)
	switch {
	case err != nil:
		_ = file.Close()
		return c.s.withAdvice("read", err)
	case f.headErr == nil && f.head.Version > version:
		_ = file.Close()
		return fmt.Errorf("session %q: %s was written by a newer version (%d, this one knows %d); use that one, or another session", c.session, c.s.fullPath(name), f.head.Version, version)
	case f.headErr == nil && f.head.Session != c.session:
		f.damage, f.entries, f.messages = fmt.Errorf("it is of session %q", f.head.Session), nil, nil
	}
	if f.torn > 0 {
		c.s.addToStats(func(t *Stats) { t.Torn++ }, journal.AgentSessionTorn{Bytes: f.torn})
	}
	if f.damage != nil {
		_ = file.Close()
		return c.setAside(f, fi.Size())
	}
	if f.good == 0 {
		// A process died while it wrote the very first record: there is no session yet.
		_ = file.Close()
		if err := c.s.root.Remove(name); err != nil {
			return c.s.withAdvice("remove", err)
		}
		c.s.addTotals(-fi.Size(), -1)
		return nil
	}
	c.head, c.file, c.size, c.tornTail = f.head, file, f.good, f.torn > 0
	c.entries, c.unread = f.entries, f.messages
	if f.cut > 0 {
		c.recordCut(f.cut, 0)
	}
	return nil
}

// Messages implements agent.Conversation. It leaves out messages that cannot be read again.
func (c *conversation) Messages() []agent.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unread != nil {
		out := c.unread
		c.unread = nil
		return out
	}
	out := make([]agent.Message, 0, len(c.entries))
	for _, e := range c.entries {
		m, err := c.reread(e)
		if err != nil {
			c.s.o.Log.Warn("a message of a conversation cannot be read again", "file", c.s.fullPath(c.key+fileExt), "offset", e.off, "error", err)
			continue
		}
		out = append(out, m)
	}
	return out
}

// reread reads one message from the file again: its text is not held in memory.
func (c *conversation) reread(e entry) (agent.Message, error) {
	if err := c.openFile(); err != nil {
		return agent.Message{}, err
	}
	line := make([]byte, e.size)
	if _, err := c.file.ReadAt(line, e.off); err != nil {
		return agent.Message{}, err
	}
	return parseMessage(line[:len(line)-1])
}

// Append implements agent.Conversation. At the bound of the session it drops the oldest turns. On an error the file is as before.
func (c *conversation) Append(ms ...agent.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.closedError()
	}
	if len(ms) == 0 {
		return nil
	}
	added, parts := c.encode(ms)
	all, _ := c.s.bounds()
	var grow int64
	for _, e := range added {
		grow += int64(e.size)
	}
	var err error
	if c.size == 0 || c.size+grow > all+headRoom {
		// A quarter of the bound is made free, so that not every message rewrites the file.
		err = c.rewrite(slices.Concat(c.entries, added), all-all/4)
	} else {
		err = c.appendToFile(added, grow)
	}
	if err == nil && parts > 0 {
		c.recordCut(0, parts)
	}
	return err
}

// Replace implements agent.Conversation. The file always has either the old messages or the new ones.
func (c *conversation) Replace(ms []agent.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.closedError()
	}
	if len(ms) == len(c.entries) {
		c.head.Title = "" // as many as before: their words were changed, those of the title too
	}
	entries, parts := c.encode(ms)
	all, _ := c.s.bounds()
	err := c.rewrite(entries, all)
	if err == nil && parts > 0 {
		c.recordCut(0, parts)
	}
	return err
}

// Close implements agent.Conversation. A second Close does nothing.
func (c *conversation) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	var err error
	if c.file != nil {
		err = c.file.Close()
	}
	c.entries, c.unread = nil, nil
	c.s.unlock(c.key, c.lock)
	c.s.release(c.key)
	return err
}

func (c *conversation) closedError() error {
	return fmt.Errorf("session %q: the conversation is closed: %w", c.session, os.ErrClosed)
}

// recordCut counts and journals messages that were dropped, and those of which only a part is kept.
func (c *conversation) recordCut(messages, parts int) {
	c.s.addToStats(func(t *Stats) { t.Cut += int64(messages); t.Parts += int64(parts) },
		journal.AgentSessionCut{Messages: messages, Parts: parts, Bytes: c.size})
}

// encode returns the records of messages, and how many messages were shortened. It sets the session's title if that is empty.
func (c *conversation) encode(ms []agent.Message) (entries []entry, parts int) {
	_, one := c.s.bounds()
	now := time.Now().UTC()
	for _, m := range ms {
		data, cut := appendMessage(nil, m, now, one)
		if cut {
			parts++
		}
		if c.head.Title == "" && m.Role == agent.RoleUser {
			c.head.Title = titleOf(m.Text)
		}
		entries = append(entries, entry{off: -1, size: len(data), role: m.Role, data: data})
	}
	return entries, parts
}

// openFile opens the file if it is not open, which is so after a rewrite that could not open it again.
func (c *conversation) openFile() error {
	if c.file != nil {
		return nil
	}
	file, err := statefile.OpenIn(c.s.root, c.key+fileExt, os.O_RDWR, 0)
	if err == nil {
		c.file = file
	}
	return err
}

// appendToFile appends records, which have grow bytes together, to the file and syncs it.
func (c *conversation) appendToFile(added []entry, grow int64) error {
	if err := c.s.makeRoom(c.key, grow, false); err != nil {
		return fmt.Errorf("session %q: %w", c.session, err)
	}
	data := make([]byte, 0, grow)
	for _, e := range added {
		data = append(data, e.data...)
	}
	err := c.openFile()
	if err == nil && c.tornTail {
		err = c.file.Truncate(c.size)
	}
	if err == nil {
		_, err = c.file.WriteAt(data, c.size)
	}
	if err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		// Half a record must not stay in front of the next one.
		c.tornTail = c.file == nil || c.file.Truncate(c.size) != nil
		c.s.addTotals(-grow, 0)
		return fmt.Errorf("session %q: %w", c.session, c.s.withAdvice("write", err))
	}
	c.tornTail = false
	c.setEntries(c.entries, added, c.size)
	return nil
}

// setEntries sets the entries to before and added, which are stored in the file from off on, without their data.
func (c *conversation) setEntries(before, added []entry, off int64) {
	c.entries, c.unread = before, nil
	for _, e := range added {
		c.entries = append(c.entries, entry{off: off, size: e.size, role: e.role})
		off += int64(e.size)
	}
	c.size = off
}

// rewrite replaces the file by one with the given entries. If those are over the session's bound, the oldest turns are dropped until target
// bytes are left.
func (c *conversation) rewrite(entries []entry, target int64) error {
	all, _ := c.s.bounds()
	keep := chooseKept(entries, all, target)
	kept := make([]entry, 0, len(entries))
	var size int64
	for i, e := range entries {
		if keep[i] {
			kept = append(kept, e)
			size += int64(e.size)
		}
	}
	h := c.head
	if h.Created.IsZero() {
		h.Created = time.Now().UTC()
	}
	first, err := appendRecord(nil, h)
	if err != nil {
		return fmt.Errorf("session %q: %w", c.session, err)
	}
	size += int64(len(first))
	isNew := c.size == 0
	grow := size - c.size
	if err := c.s.makeRoom(c.key, grow, isNew); err != nil {
		return fmt.Errorf("session %q: %w", c.session, err)
	}
	if err := c.writeFile(first, kept); err != nil {
		c.s.addTotals(-grow, 0)
		return fmt.Errorf("session %q: %w", c.session, c.s.withAdvice("write", err))
	}
	c.head, c.tornTail = h, false
	c.setEntries(make([]entry, 0, len(kept)+8), kept, int64(len(first)))
	if isNew {
		c.s.addTotals(0, 1)
	}
	if n := len(entries) - len(kept); n > 0 {
		c.recordCut(n, 0)
	}
	return nil
}

// writeFile writes a new file with the first record and the kept entries, renames it to its name, and opens it.
func (c *conversation) writeFile(first []byte, kept []entry) (err error) {
	name := c.key + fileExt
	if c.size > 0 {
		if err := c.openFile(); err != nil {
			return err
		}
	}
	err = c.s.replaceFile(name, func(w io.Writer) error {
		if _, err := w.Write(first); err != nil {
			return err
		}
		for _, e := range kept {
			var err error
			if e.data != nil {
				_, err = w.Write(e.data)
			} else {
				_, err = io.Copy(w, io.NewSectionReader(c.file, e.off, int64(e.size)))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func() {
		// Windows renames onto no file that is open.
		if c.file != nil {
			_ = c.file.Close()
			c.file = nil
		}
	})
	_ = c.openFile() // if it cannot be now, the next one who needs it tries and tells
	return err
}

// replaceFile writes a new file by calling write, and renames it to name, durably and in one step. before, unless nil, is called just
// before the renaming.
func (s *Store) replaceFile(name string, write func(io.Writer) error, before func()) error {
	return atomicfile.Replacement{
		Root: s.root, Name: name, Perm: 0o600, Kept: atomicfile.Durable, Before: before,
		Temporary: strings.TrimSuffix(name, fileExt) + tempExt + rand.Text(),
	}.Stream(func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 64<<10)
		return errors.Join(write(w), w.Flush())
	})
}
