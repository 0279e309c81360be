package tasklog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	taskSuffix = ".task"
	temporary  = ".tmp-"
	// batch is the number of names of the folder that are read at once.
	batch = 256
)

// loadFolder reads the headers of all files in the folder into the store, which nobody else uses yet. Of damaged files that were set aside
// it keeps the newest.
func (s *Store) loadFolder() error {
	dir, err := s.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(batch)
		for _, file := range entries {
			s.loadFile(file)
		}
		switch {
		case errors.Is(err, io.EOF):
			store.PruneDamaged(s.root)
			return nil
		case err != nil:
			return err
		}
	}
}

// loadFile reads one file into the store if it is a task's. It removes the unfinished file of a dead process, sets a damaged file aside,
// and ignores all others.
func (s *Store) loadFile(file os.DirEntry) {
	name := file.Name()
	if key, _, ok := strings.Cut(name, temporary); ok && isKey(key) {
		_ = s.root.Remove(name) // its writer is dead: the lock is ours
		return
	}
	key, ok := strings.CutSuffix(name, taskSuffix)
	if !ok || !isKey(key) {
		return
	}
	var raw []byte
	var t Task
	err := fmt.Errorf("%w: %s is no file", errDamaged, file.Type())
	if file.Type().IsRegular() { // to open anything else may wait forever
		raw, err = s.readTask(name)
	}
	if err == nil {
		t, err = decode(raw)
	}
	if err == nil && keyOf(t.ID) != key {
		err = fmt.Errorf("%w: it is another task's", errDamaged)
	}
	if err != nil {
		aside, moved := s.setAside(key)
		s.tellDamaged(aside, err, moved)
		return
	}
	t.Body = nil
	s.tasks[t.ID] = &entry{task: t, key: key, size: int64(len(raw))}
	s.bytes += int64(len(raw))
	s.clock = max(s.clock, t.Changed.UnixNano())
}

func isKey(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// readTask returns the content of a task's file. A file larger than all tasks may be together is an error.
func (s *Store) readTask(name string) ([]byte, error) {
	f, err := statefile.OpenIn(s.root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	maxBytes := int64(s.o.MaxBytes) + fileBytes
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(), info.Size() > maxBytes:
		return nil, fmt.Errorf("%w: %s with %d bytes is no task's file", errDamaged, info.Mode().Type(), info.Size())
	}
	raw := make([]byte, info.Size())
	if _, err := io.ReadFull(f, raw); err != nil {
		return nil, err
	}
	return raw, nil
}

// save replaces the file of an entry. With synced it survives a loss of power.
func (s *Store) save(e *entry, raw []byte, synced bool) error {
	kept := atomicfile.Durable
	if !synced {
		kept = atomicfile.Volatile // a state between others: the next one that counts is synced
	}
	return atomicfile.Replacement{Root: s.root, Name: e.fileName(), Perm: 0o600, Kept: kept, Temporary: e.key + temporary + rand.Text()}.Write(raw)
}

// setAside renames a damaged file and returns its new name. The caller holds mu, so that nobody makes a file of the old name meanwhile.
func (s *Store) setAside(key string) (string, error) {
	s.stats.Damaged++
	aside := store.DamagedName(key)
	return aside, s.root.Rename(key+taskSuffix, aside)
}

// tellDamaged logs that a damaged file was set aside, and the error of moving it, if any.
func (s *Store) tellDamaged(aside string, why, moved error) {
	if s.o.Journal != nil {
		s.o.Journal.Append(journal.AgentTasksEvicted{Agent: s.o.Name, Tasks: 1, Why: "damaged"})
	}
	s.o.Logger.Warn("the file of a task is damaged and is set aside; the task is lost",
		slog.String("file", filepath.Join(s.o.Dir, aside)), slog.Any("why", why), slog.Any("error", moved))
}
