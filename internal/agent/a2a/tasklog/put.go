package tasklog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/limit"
)

// check returns an [ErrName] if one of a task's names is too long, not UTF-8 or, for the id, empty.
func (t *Task) check() error {
	if t.ID == "" {
		return fmt.Errorf("%w: the id is empty", ErrName)
	}
	for what, name := range map[string]string{"id": t.ID, "context": t.Context, "owner": t.Owner, "state": t.State} {
		switch {
		case len(name) > MaxName:
			return fmt.Errorf("%w: the %s has %d bytes, more than %d", ErrName, what, len(name), MaxName)
		case !utf8.ValidString(name):
			return fmt.Errorf("%w: the %s is not UTF-8", ErrName, what)
		}
	}
	return nil
}

// check returns an error if ctx has ended, or if a task's names or size are not allowed.
func (s *Store) check(ctx context.Context, t *Task) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := t.check(); err != nil {
		return err
	}
	if int64(len(t.Body)) > int64(s.o.MaxTask) {
		return fmt.Errorf("%w: task %q has %s, at most %s are kept", ErrTooLarge, clipName(t.ID), limit.Bytes(len(t.Body)).Human(), s.o.MaxTask.Human())
	}
	return nil
}

// Create stores a new task and returns its version, 1. Its errors are [ErrExists], [ErrName], [ErrTooLarge] and [ErrClosed]. If the disk
// fails the task is kept in memory, which is not an error.
func (s *Store) Create(ctx context.Context, t Task) (int64, error) {
	if err := s.check(ctx, &t); err != nil {
		return 0, err
	}
	s.mu.Lock()
	switch {
	case s.shut:
		s.mu.Unlock()
		return 0, ErrClosed
	case s.tasks[t.ID] != nil:
		s.mu.Unlock()
		return 0, fmt.Errorf("task %q: %w", clipName(t.ID), ErrExists)
	}
	e := &entry{task: Task{ID: t.ID}, key: keyOf(t.ID), busy: true}
	e.writing.Lock()
	defer e.writing.Unlock()
	s.tasks[t.ID] = e
	s.stats.Created++
	t.Version, t.Changed = 1, s.tick()
	s.mu.Unlock()
	return s.putVersion(e, t)
}

// Update replaces a task whose version is still t.Version (0 means any) and returns the new version. Its errors are [ErrNotFound],
// [ErrConflict], and those of Create.
func (s *Store) Update(ctx context.Context, t Task) (int64, error) {
	if err := s.check(ctx, &t); err != nil {
		return 0, err
	}
	s.mu.Lock()
	e := s.tasks[t.ID]
	s.mu.Unlock()
	if e == nil {
		return 0, s.missingError(t.ID)
	}
	e.writing.Lock()
	defer e.writing.Unlock()
	s.mu.Lock()
	if s.shut || s.tasks[t.ID] != e {
		s.mu.Unlock()
		return 0, s.missingError(t.ID)
	}
	if t.Version != 0 && t.Version != e.task.Version {
		s.stats.Conflict++
		now := e.task.Version
		s.mu.Unlock()
		return 0, fmt.Errorf("task %q has version %d, not %d: %w", clipName(t.ID), now, t.Version, ErrConflict)
	}
	e.busy = true
	s.stats.Updated++
	t.Version, t.Changed = e.task.Version+1, s.tick()
	s.mu.Unlock()
	return s.putVersion(e, t)
}

// missingError returns the error for an unknown task: [ErrNotFound], or [ErrClosed] if the store is closed.
func (s *Store) missingError(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return ErrClosed
	}
	return fmt.Errorf("task %q: %w", clipName(id), ErrNotFound)
}

// putVersion stores a version of a task and returns its number. The caller holds e.writing and has set e.busy.
func (s *Store) putVersion(e *entry, t Task) (int64, error) {
	raw, err := encode(&t)
	if err != nil {
		s.mu.Lock()
		e.busy = false
		if e.task.Version == 0 {
			delete(s.tasks, t.ID)
		}
		s.mu.Unlock()
		return 0, err
	}
	var out evictions
	s.mu.Lock()
	s.sweep(&out)
	size := int64(len(raw))
	s.makeRoom(size-e.size, e, &out)
	s.bytes += size - e.size
	e.size = size
	s.mu.Unlock()

	if s.root != nil {
		err = s.save(e, raw, t.Ended)
	}

	s.mu.Lock()
	e.busy = false
	t.Body = nil
	e.task = t
	saved := s.recordSave(e, raw, err)
	more, lost := saved && s.unsaved > 0, !saved && s.shut
	s.mu.Unlock()
	s.journalEvictions(&out)
	if lost {
		return 0, ErrClosed
	}
	if more && s.root != nil {
		_ = s.flush()
	}
	return t.Version, nil
}

// recordSave records the outcome of writing a version: after a failure err it keeps raw in memory, counts it, and logs the first of
// several. It returns true if the version is stored, or if the store has no folder. The caller holds mu.
func (s *Store) recordSave(e *entry, raw []byte, err error) bool {
	if e.raw != nil && s.root != nil {
		s.unsaved--
	}
	e.raw = nil
	if s.root == nil {
		e.raw = raw
		return true
	}
	if err == nil {
		s.failing = false
		return true
	}
	e.raw = raw
	s.unsaved++
	s.stats.WriteErrors++
	if !s.failing {
		s.failing = true
		s.o.Logger.Warn("tasks cannot be written; they are kept in memory and written later",
			slog.String("dir", s.o.Dir), slog.Any("error", err))
	}
	return false
}

// flush writes the tasks that a failing disk left in memory. It skips those being written and stops at the first error.
func (s *Store) flush() error {
	if s.root == nil {
		return nil
	}
	s.mu.Lock()
	var waiting []*entry
	for _, e := range s.tasks {
		if e.raw != nil {
			waiting = append(waiting, e)
		}
	}
	s.mu.Unlock()
	for _, e := range waiting {
		if !e.writing.TryLock() {
			continue // its writer brings a newer version
		}
		err := s.rewrite(e)
		e.writing.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// rewrite tries again to write the version of an entry that is in memory only, if there is one. The caller holds e.writing.
func (s *Store) rewrite(e *entry) error {
	s.mu.Lock()
	raw, ended := e.raw, e.task.Ended
	if raw == nil || s.shut || s.tasks[e.task.ID] != e {
		s.mu.Unlock()
		return nil
	}
	e.busy = true
	s.mu.Unlock()
	err := s.save(e, raw, ended)
	s.mu.Lock()
	defer s.mu.Unlock()
	e.busy = false
	s.recordSave(e, raw, err)
	return err
}

// Get returns a task. It returns an [ErrNotFound] if there is none, or if its file proves to be damaged.
func (s *Store) Get(ctx context.Context, id string) (Task, error) {
	if err := ctx.Err(); err != nil {
		return Task{}, err
	}
	s.mu.Lock()
	e := s.tasks[id]
	s.mu.Unlock()
	if e == nil {
		return Task{}, s.missingError(id)
	}
	t, err := s.fetch(e)
	if err != nil && !errors.Is(err, ErrNotFound) {
		// Damaged, or the file was replaced or removed while it was read: look when nobody writes.
		e.writing.Lock()
		defer e.writing.Unlock()
		if t, err = s.fetch(e); err != nil && !errors.Is(err, ErrNotFound) {
			err = s.forgetDamaged(e, err)
		}
	}
	if err != nil {
		return Task{}, fmt.Errorf("task %q: %w", clipName(id), err)
	}
	return t, nil
}

// fetch returns an entry's task with its body, from memory or from its file. The error is [ErrNotFound] if the task was removed meanwhile,
// or says that the file is damaged or cannot be read.
func (s *Store) fetch(e *entry) (Task, error) {
	s.mu.Lock()
	raw, id := e.raw, e.task.ID
	there := s.tasks[id] == e && e.task.Version > 0 && !s.shut
	s.mu.Unlock()
	if !there {
		return Task{}, ErrNotFound
	}
	if raw != nil {
		raw = bytes.Clone(raw)
	} else {
		var err error
		if raw, err = s.readTask(e.fileName()); err != nil {
			return Task{}, err
		}
	}
	t, err := decode(raw)
	if err == nil && t.ID != id {
		err = fmt.Errorf("%w: it is another task's", errDamaged)
	}
	return t, err
}

// forgetDamaged sets the damaged file of a task aside and forgets the task, and returns the error for the caller of Get. If the file only
// could not be read, it returns why and removes nothing. The caller holds e.writing.
func (s *Store) forgetDamaged(e *entry, why error) error {
	if !errors.Is(why, errDamaged) && !errors.Is(why, fs.ErrNotExist) {
		return why
	}
	s.mu.Lock()
	if s.tasks[e.task.ID] != e || s.shut {
		s.mu.Unlock()
		return ErrNotFound
	}
	aside, moved := s.setAside(e.key)
	s.forgetEntry(e)
	store.PruneDamaged(s.root)
	s.mu.Unlock()
	s.tellDamaged(aside, why, moved)
	return fmt.Errorf("%w any more: %w", ErrNotFound, why)
}
