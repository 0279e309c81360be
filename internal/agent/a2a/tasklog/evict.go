package tasklog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
)

// evictions are the tasks that bounds have removed, to be reported when no lock is held.
type evictions struct {
	count, bytes, age journal.AgentTasksEvicted
}

// makeRoom evicts tasks until there is room for need more bytes, or none is left to evict. The entry keep stays, and so do entries that are
// being written. The caller holds mu.
func (s *Store) makeRoom(need int64, keep *entry, out *evictions) {
	for {
		many := len(s.tasks) > s.o.MaxTasks
		if !many && s.bytes+need <= int64(s.o.MaxBytes) {
			return
		}
		victim := s.chooseVictim(keep)
		if victim == nil {
			return
		}
		into := &out.bytes
		if many {
			into = &out.count
		}
		s.stats.Evicted++
		if !victim.task.Ended {
			s.stats.EvictedRunning++
		}
		s.evict(victim, into)
	}
}

// chooseVictim returns the ended task that changed longest ago, or if none has ended, any such task; nil if there is none. It skips keep
// and entries that are being written.
func (s *Store) chooseVictim(keep *entry) (found *entry) {
	for _, e := range s.tasks {
		if e == keep || e.busy {
			continue
		}
		if found == nil || e.task.Ended && !found.task.Ended ||
			e.task.Ended == found.task.Ended && e.task.Changed.Before(found.task.Changed) {
			found = e
		}
	}
	return found
}

// sweep removes tasks that ended longer than MaxAge ago. It does nothing when it did so within the last minute, or eighth of MaxAge. The
// caller holds mu.
func (s *Store) sweep(out *evictions) {
	now := time.Now()
	if !s.swept.IsZero() && now.Sub(s.swept) < min(s.o.MaxAge/8, time.Minute) {
		return
	}
	s.swept = now
	for _, e := range s.tasks {
		if e.task.Ended && !e.busy && now.Sub(e.task.Changed) >= s.o.MaxAge {
			s.stats.Expired++
			s.evict(e, &out.age)
		}
	}
}

// evict removes a task and its file, and counts it in into, for the journal.
func (s *Store) evict(e *entry, into *journal.AgentTasksEvicted) {
	into.Tasks++
	into.Bytes += e.size
	if !e.task.Ended {
		into.Running++
	}
	s.removeFile(e)
	s.forgetEntry(e)
}

// forgetEntry removes an entry from the tables, with its unsaved content. The caller removes its file.
func (s *Store) forgetEntry(e *entry) {
	delete(s.tasks, e.task.ID)
	s.bytes -= e.size
	if e.raw != nil && s.root != nil {
		s.unsaved--
	}
	e.raw = nil
}

// removeFile removes the file of an entry. If that fails, the next process finds the task again.
func (s *Store) removeFile(e *entry) {
	if s.root != nil {
		_ = s.root.Remove(e.fileName())
	}
}

// Remove removes a task, and reports whether there was one.
func (s *Store) Remove(id string) bool {
	s.mu.Lock()
	e := s.tasks[id]
	s.mu.Unlock()
	if e == nil {
		return false
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks[id] != e || s.shut {
		return false
	}
	s.removeFile(e)
	s.forgetEntry(e)
	return true
}

// journalEvictions journals the evictions, one event for each reason.
func (s *Store) journalEvictions(out *evictions) {
	if s.o.Journal == nil {
		return
	}
	for why, e := range map[string]journal.AgentTasksEvicted{"count": out.count, "bytes": out.bytes, "age": out.age} {
		if e.Tasks > 0 {
			e.Agent, e.Why = s.o.Name, why
			s.o.Journal.Append(e)
		}
	}
}

// Forget removes the files in a folder, of tasks or of damaged ones, for whose content holds returns true, and returns their names. It
// works also while another process has the folder open. Such a process writes a running task again with all it has said, which is reported
// as an error. With dry it changes nothing.
func Forget(dir string, holds func(text []byte) bool, dry bool) (names []string, err error) {
	root, err := statefile.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	running := 0
	for _, e := range entries {
		name := e.Name()
		ours := strings.HasSuffix(name, taskSuffix) || store.IsDamaged(name) || strings.Contains(name, temporary)
		if !ours || !e.Type().IsRegular() {
			continue
		}
		raw, readErr := statefile.Read(filepath.Join(dir, name), maxForgetRead)
		if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		if readErr != nil || !holds(raw) {
			continue
		}
		if t, decodeErr := decode(raw); decodeErr == nil && !t.Ended {
			running++
		}
		if !dry {
			if removeErr := root.Remove(name); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
				err = errors.Join(err, removeErr)
				continue
			}
		}
		names = append(names, name)
	}
	if running > 0 && !dry && isOpen(dir) {
		err = errors.Join(err, fmt.Errorf("%d tasks are running in %s, and are written again: forget again when they have ended", running, dir))
	}
	return names, err
}

// maxForgetRead bounds what is read of one file, in bytes: more than a task may have.
const maxForgetRead = int64(DefaultMaxStore)

// isOpen reports whether a process has the folder open, that is holds its lock.
func isOpen(dir string) bool {
	f, err := statefile.Open(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	ok, err := filelock.Try(f, filelock.Exclusive)
	return err == nil && !ok
}
