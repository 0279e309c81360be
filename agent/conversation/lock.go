package conversation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
)

// A session's lock is a file of its own beside the conversation, which is replaced. It is
// removed with the conversation, by whoever holds it; so a lock counts only while the file
// that it is on is the one under that name.

// tryLock locks the lock file of a key and returns it; closing the file unlocks it. It returns nil without an error when another process or query has
// the lock, or removes the file again and again.
func (s *Store) tryLock(key string) (*os.File, error) {
	for range 16 { // each round another process has removed the file in between
		f, err := s.openLock(key)
		if f == nil || err != nil {
			return nil, err
		}
		ok, err := filelock.Try(f, filelock.Readable)
		if err != nil || !ok {
			_ = f.Close()
			return nil, err
		}
		if s.signLock(f, key) {
			return f, nil
		}
	}
	return nil, nil
}

// lockOrWait takes the lock of a key, and waits for it until ctx ends or the store is closed; the error is then the cause.
func (s *Store) lockOrWait(ctx context.Context, key string) (*os.File, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer context.AfterFunc(s.closing, func() { giveUp(ErrClosed) })()
	for {
		f, err := s.openLock(key)
		if err != nil {
			return nil, err
		}
		if f == nil {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(removalPause):
				continue
			}
		}
		if err := filelock.Lock(ctx, f, filelock.Readable); err != nil {
			return nil, err
		}
		if s.signLock(f, key) {
			return f, nil
		}
	}
}

// removalPause is the pause before a lock file is opened again while Windows is removing it.
const removalPause = 5 * time.Millisecond

// openLock opens the lock file of a key. It returns nil without an error while the file is being removed.
func (s *Store) openLock(key string) (*os.File, error) {
	f, err := statefile.OpenIn(s.root, key+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case err == nil:
		return f, nil
	case runtime.GOOS == "windows" && errors.Is(err, fs.ErrPermission):
		return nil, nil
	}
	return nil, s.withAdvice("open", err)
}

// signLock writes the id of this process into a locked lock file, for error messages of others. If the file was removed meanwhile, it
// closes it and returns false: the lock is worth nothing then.
func (s *Store) signLock(f *os.File, key string) bool {
	there, err := s.root.Lstat(key + lockExt)
	if !filelock.Named(f, there, err) {
		_ = f.Close()
		return false
	}
	_ = f.Truncate(0)
	_, _ = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	return true
}

// unlock releases a lock, and removes its file if there is no conversation beside it.
func (s *Store) unlock(key string, f *os.File) {
	if _, err := s.root.Stat(key + fileExt); errors.Is(err, fs.ErrNotExist) {
		_ = s.root.Remove(key + lockExt)
	}
	_ = filelock.Release(f)
}

// lock waits for the lock of a session until ctx ends, and then returns an [ErrLocked] that names the holder. If ctx has ended before, it does not
// try, and returns the cause.
func (s *Store) lock(ctx context.Context, key, session string) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("session %q: %w", session, context.Cause(ctx))
	}
	for {
		free, err := s.reserve(key)
		if err != nil {
			return nil, err
		}
		if free == nil {
			f, err := s.lockOrWait(ctx, key)
			if f != nil {
				return f, nil
			}
			s.release(key)
			if ctx.Err() == nil {
				return nil, err
			}
		}
		select {
		case <-free:
		case <-ctx.Done():
			return nil, fmt.Errorf("session %q: %w%s; go on with it when that is done, or begin another: %w", session, ErrLocked, s.holderText(key), context.Cause(ctx))
		}
	}
}

// reserve marks a session as used by this process and returns nil. If it is marked already, it returns a channel that is closed when that use ends.
// The error is [ErrClosed].
func (s *Store) reserve(key string) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if free, ok := s.reserved[key]; ok {
		return free, nil
	}
	s.reserved[key] = make(chan struct{})
	return nil, nil
}

// release ends what reserve began and wakes those who wait. The last release of a closed store closes its directory.
func (s *Store) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.reserved[key])
	delete(s.reserved, key)
	if s.closed && len(s.reserved) == 0 {
		_ = s.root.Close()
	}
}

// holderText returns words about the holder of a lock for an error, such as " by process 12"; "" if it is not known.
func (s *Store) holderText(key string) string {
	f, err := statefile.OpenIn(s.root, key+lockExt, os.O_RDONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 20))
	pid, bad := strconv.Atoi(strings.TrimSpace(string(text)))
	switch {
	case err != nil || bad != nil:
		return ""
	case pid == os.Getpid():
		return " by another query"
	}
	return fmt.Sprintf(" by process %d", pid)
}

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
			c.s.addTotals(0, -1)
		}
	} else {
		if err = c.s.root.Link(name, aside); err != nil {
			err = c.s.copyFile(name, aside) // not every file system has links
		}
		if err == nil {
			c.s.addTotals(size, 0)
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
				c.s.addTotals(-size, 0)
				return err
			}
			c.unread = f.messages
		}
	}
	if err != nil {
		return fmt.Errorf("session %q: %s is damaged (%w) and cannot be set aside: %w", c.session, c.s.fullPath(name), f.damage, err)
	}
	c.s.addToStats(func(t *Stats) { t.Damaged++ }, journal.AgentSessionDamaged{File: aside, Messages: len(f.entries), Lines: f.passed, Bytes: size})
	c.s.o.Log.Warn("the file of a conversation was damaged and is set aside; the conversation goes on with what can be read of it",
		"file", c.s.fullPath(aside), "why", f.damage.Error(), "messages", len(f.entries), "lines_lost", f.passed)
	return nil
}

// copyFile writes a copy of the file from, which replaces to in one step.
func (s *Store) copyFile(from, to string) error {
	in, err := statefile.OpenIn(s.root, from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	err = s.replaceFile(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	}, nil)
	return err
}
