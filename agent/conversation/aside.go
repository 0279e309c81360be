package conversation

import (
	"fmt"
	"io"
	"os"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
)

// setAside renames a damaged file, for people to look at. If messages could be read from it, a new file with those takes its place, and at
// every moment there is a file of the name: a process that dies in between leaves the damaged one, under both names.
func (c *conversation) setAside(f *fileContents, size int64) error {
	name := c.key + fileExt
	aside := store.DamagedName(c.key)
	all, _ := c.s.bounds()
	var err error
	if len(f.entries) == 0 {
		if err = c.s.root.Rename(name, aside); err == nil {
			atomicfile.SyncDir(c.s.root)
			c.s.account(0, -1)
		}
	} else {
		if err = c.s.root.Link(name, aside); err != nil {
			err = c.s.copyFile(name, aside) // not every file system has links
		}
		if err == nil {
			c.s.account(size, 0)
			c.entries, c.size = f.entries, f.good
			if f.headErr == nil {
				c.head = f.head
			}
			for _, m := range f.messages {
				if c.head.Title == "" && m.Role == agent.RoleUser {
					c.head.Title = titleOf(m.Text)
				}
			}
			if err := c.rewrite(f.entries, all); err != nil {
				_ = c.s.root.Remove(aside)
				c.s.account(-size, 0)
				return err
			}
			c.unread = f.messages
		}
	}
	if err != nil {
		return fmt.Errorf("session %q: %s is damaged (%w) and cannot be set aside: %w", c.session, c.s.path(name), f.damage, err)
	}
	c.s.count(func(t *Stats) { t.Damaged++ }, journal.AgentSessionDamaged{File: aside, Messages: len(f.entries), Lines: f.passed, Bytes: size})
	c.s.o.Log.Warn("the file of a conversation was damaged and is set aside; the conversation goes on with what can be read of it",
		"file", c.s.path(aside), "why", f.damage.Error(), "messages", len(f.entries), "lines_lost", f.passed)
	return nil
}

func (s *Store) copyFile(from, to string) error {
	in, err := statefile.OpenIn(s.root, from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	err = s.replace(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	}, nil)
	return err
}
