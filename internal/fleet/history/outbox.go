package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
)

const (
	// MaxKept bounds the observations that wait for the fleet, and maxOutbox their bytes.
	MaxKept   = 10_000
	maxOutbox = 8 << 20
	// makesRoom is the number of the oldest that make room at once.
	makesRoom = 500
	// lockWait bounds the wait for other processes of this host, which hold the lock for milliseconds.
	lockWait = 10 * time.Second
)

// outbox is a file of observations that wait for the fleet: lines with a checksum, each behind a line feed. The first one is {"dropped":N} where
// some made room.
type outbox struct{ path string }

// newOutbox returns the outbox of a state directory, which need not exist.
func newOutbox(stateDir string) outbox {
	return outbox{filepath.Join(stateDir, "fleet", "outbox")}
}

// Keep puts an observation into the outbox.
func (h *History) Keep(o usage.Observation) error {
	line, err := o.Encode()
	if err != nil {
		return err
	}
	return h.outbox.whileLocked(func() error { return h.outbox.appendLine(line) })
}

// Waiting returns how many observations wait in the outbox, how many were dropped since it was last empty, and its path.
func (h *History) Waiting() (n, dropped int, path string, err error) {
	lines, dropped, err := h.outbox.readLines()
	return len(lines), dropped, h.outbox.path, err
}

// whileLocked calls do while no other process of this host changes the outbox. It waits for that at most lockWait.
func (b outbox) whileLocked(do func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	return filelock.While(ctx, b.path+".lock", do)
}

// appendLine appends a line. If the outbox is full, the oldest lines are dropped and counted. The line feed before it ends one that a killed
// process began. The caller holds the lock.
func (b outbox) appendLine(line []byte) error {
	f, err := statefile.Open(b.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// As long as it can't be full nobody counts: no observation has less than 100 bytes.
	if size := info.Size() + int64(len(line)) + 1; size > MaxKept*100 {
		n, part := 0, make([]byte, 64<<10)
		for got := 1; got > 0 && n < MaxKept; {
			got, _ = f.Read(part)
			n += bytes.Count(part[:got], []byte{'\n'})
		}
		if n >= MaxKept || size > maxOutbox {
			lines, dropped, err := b.readLines()
			if err != nil {
				return err
			}
			n := min(len(lines), max(makesRoom, len(lines)-MaxKept+1))
			_ = f.Close() // Windows replaces no open file
			return b.replaceLines(append(lines[n:], line), dropped+n)
		}
	}
	text := store.AppendLine([]byte{'\n'}, line)
	_, err = f.Write(text[:len(text)-1])
	return err
}

// readLines returns the valid lines, and how many were dropped so far. A missing file has none.
func (b outbox) readLines() (lines [][]byte, dropped int, err error) {
	f, err := statefile.Open(b.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxOutbox+usage.MaxObservation))
	lines, dropped = parseLines(text)
	return lines, dropped, err
}

// parseLines returns the valid lines of an outbox, and how many were dropped before, according to lines that say so.
func parseLines(text []byte) (lines [][]byte, dropped int) {
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		line, err := store.Text(line)
		if err != nil || len(line) == 0 || len(line) > usage.MaxObservation {
			continue
		}
		var head struct{ Dropped int }
		if bytes.HasPrefix(line, []byte(`{"dropped":`)) && json.Unmarshal(line, &head) == nil && head.Dropped > 0 {
			dropped += min(head.Dropped, 1<<40-dropped)
			continue
		}
		lines = append(lines, line)
	}
	return lines, dropped
}

// replaceLines replaces the outbox by these lines; without any it removes the file. The caller holds the lock.
func (b outbox) replaceLines(lines [][]byte, dropped int) error {
	if len(lines) == 0 {
		if err := os.Remove(b.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text := []byte{'\n'}
	if dropped > 0 {
		text = store.AppendLine(text, fmt.Appendf(nil, `{"dropped":%d}`, dropped))
	}
	for _, line := range lines {
		text = store.AppendLine(text, line)
	}
	// A power cut may empty it: this host's own history has the same runs.
	return atomicfile.Replacement{Name: b.path, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: b.path + ".tmp"}.Write(text[:len(text)-1])
}
