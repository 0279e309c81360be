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
	// dropped is the number of the oldest that make room at once.
	dropped = 500
	// lockWait bounds the wait for other processes of this host, which hold the lock for milliseconds.
	lockWait = 10 * time.Second
)

// outbox is a file of observations that wait for the fleet, lines with a checksum. The first one is a [head] where some were dropped.
type outbox struct{ path string }

// A head counts what was dropped because the outbox was full.
type head struct {
	Dropped int `json:"dropped"`
}

func outboxBelow(stateDir string) outbox {
	return outbox{filepath.Join(stateDir, "fleet", "outbox")}
}

// Keep puts an observation into the outbox.
func (h *History) Keep(o usage.Observation) error {
	line, err := o.Encode()
	if err != nil {
		return err
	}
	return h.outbox.locked(func() error { return h.outbox.add(line) })
}

// Waiting returns how many observations wait in the outbox, how many were dropped since it was last empty, and its path.
func (h *History) Waiting() (n, dropped int, path string, err error) {
	lines, was, err := h.outbox.read()
	return len(lines), was.Dropped, h.outbox.path, err
}

func (b outbox) locked(do func() error) error {
	if err := os.MkdirAll(filepath.Dir(b.path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	lock, err := filelock.Open(ctx, b.path+".lock")
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Release(lock) }()
	return do()
}

// add appends a line. The caller holds the lock. A line that a killed process began is ended first, and left out by whoever reads it.
func (b outbox) add(line []byte) error {
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
	if size := info.Size() + int64(len(line)) + 1; size > MaxKept*100 || size > maxOutbox {
		if n, err := countLines(f); err != nil {
			return err
		} else if n >= MaxKept || size > maxOutbox {
			lines, was, err := b.read()
			if err != nil {
				return err
			}
			n := min(len(lines), max(dropped, len(lines)-MaxKept+1))
			was.Dropped += n
			_ = f.Close() // Windows replaces no open file
			return b.write(append(lines[n:], line), was)
		}
	}
	text := store.AppendLine(nil, line)
	if info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	_, err = f.Write(text)
	return err
}

func countLines(f *os.File) (n int, err error) {
	part := make([]byte, 64<<10)
	for at := int64(0); ; {
		got, err := f.ReadAt(part, at)
		n += bytes.Count(part[:got], []byte{'\n'})
		at += int64(got)
		if errors.Is(err, io.EOF) || at > maxOutbox {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// read returns the whole lines, without those that no observation can be.
func (b outbox) read() (lines [][]byte, was head, err error) {
	text, err := b.text()
	lines, was = parse(text)
	return lines, was, err
}

func (b outbox) text() ([]byte, error) {
	f, err := statefile.Open(b.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxOutbox+usage.MaxObservation))
}

func parse(text []byte) (lines [][]byte, was head) {
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		line, err := store.Text(line)
		if err != nil || len(line) == 0 || len(line) > usage.MaxObservation {
			continue
		}
		if h := (head{}); bytes.HasPrefix(line, []byte(`{"dropped":`)) && json.Unmarshal(line, &h) == nil && h.Dropped > 0 {
			was.Dropped += min(h.Dropped, 1<<40-was.Dropped)
			continue
		}
		lines = append(lines, line)
	}
	return lines, was
}

// write replaces the outbox, and removes one that is empty. The caller holds the lock.
func (b outbox) write(lines [][]byte, was head) error {
	if len(lines) == 0 {
		if err := os.Remove(b.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	var text []byte
	if was.Dropped > 0 {
		text = store.AppendLine(text, fmt.Appendf(nil, `{"dropped":%d}`, was.Dropped))
	}
	for _, line := range lines {
		text = store.AppendLine(text, line)
	}
	// A power cut may empty it: this host's own history has the same runs.
	return atomicfile.Replacement{Name: b.path, Perm: 0o600, Kept: atomicfile.Volatile, Temporary: b.path + ".tmp"}.Write(text)
}
