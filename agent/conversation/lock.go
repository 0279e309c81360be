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

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// A session's lock is a file of its own beside the conversation, which is replaced. It is
// removed with the conversation, by whoever holds it; so a lock counts only while the file
// that it is on is the one under that name.

// How often another process' lock is looked at: first soon, then at most five times a second.
const (
	minPoll = 5 * time.Millisecond
	maxPoll = 200 * time.Millisecond
)

// tryLock takes the lock of a key; nil when somebody else has it.
func (s *Store) tryLock(key string) (*os.File, error) {
	for range 16 { // each round another process has removed the file in between
		f, err := statefile.OpenIn(s.root, key+lockExt, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			if runtime.GOOS == "windows" && errors.Is(err, fs.ErrPermission) {
				return nil, nil // it is being removed
			}
			return nil, s.failed("open", err)
		}
		ok, err := lockFile(f)
		if err != nil || !ok {
			_ = f.Close()
			return nil, err
		}
		if s.isThere(f, key) {
			// Whom the others wait for; nothing depends on it.
			_ = f.Truncate(0)
			_, _ = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
			return f, nil
		}
		_ = f.Close()
	}
	return nil, nil
}

func (s *Store) isThere(f *os.File, key string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := s.root.Stat(key + lockExt)
	return err == nil && os.SameFile(mine, there)
}

// unlock gives a lock back, and removes its file when there is no conversation beside it.
func (s *Store) unlock(key string, f *os.File) {
	if _, err := s.root.Stat(key + fileExt); errors.Is(err, fs.ErrNotExist) {
		_ = s.root.Remove(key + lockExt)
	}
	_ = f.Close()
}

// lock waits for the lock of a session until ctx ends.
func (s *Store) lock(ctx context.Context, key, session string) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("session %q: %w", session, context.Cause(ctx))
	}
	for pause := minPoll; ; pause = min(2*pause, maxPoll) {
		free, err := s.reserve(key)
		if err != nil {
			return nil, err
		}
		var timer *time.Timer
		var again <-chan time.Time
		if free == nil {
			f, err := s.tryLock(key)
			if f != nil {
				return f, nil
			}
			s.release(key)
			if err != nil {
				return nil, err
			}
			timer = time.NewTimer(pause)
			again = timer.C
		}
		select {
		case <-free:
		case <-again:
		case <-ctx.Done():
			if timer != nil {
				timer.Stop()
			}
			return nil, fmt.Errorf("session %q: %w%s; go on with it when that is done, or begin another: %w", session, ErrLocked, s.holder(key), context.Cause(ctx))
		}
	}
}

// reserve takes the place of this process in front of a session's lock, or returns what is
// closed when that place is free.
func (s *Store) reserve(key string) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	if free, ok := s.held[key]; ok {
		return free, nil
	}
	s.held[key] = make(chan struct{})
	return nil, nil
}

func (s *Store) release(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.held[key])
	delete(s.held, key)
	if s.closed && len(s.held) == 0 {
		_ = s.root.Close()
	}
}

// holder says who has a lock, as far as can be told.
func (s *Store) holder(key string) string {
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
