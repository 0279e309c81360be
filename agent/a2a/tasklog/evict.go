package tasklog

import (
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// outcome is what bounds did, to be told without a lock.
type outcome struct {
	count, bytes, age journal.AgentTasksEvicted
}

// room lets tasks go until need bytes more fit. The entry spare stays, and so does what is
// being written. It is under mu.
func (s *Store) room(need int64, spare *entry, out *outcome) {
	for {
		many := len(s.tasks) > s.o.MaxTasks
		if !many && s.bytes+need <= int64(s.o.MaxBytes) {
			return
		}
		victim := s.victim(spare)
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

// victim is the task that changed longest ago, of the ended ones if there are any.
func (s *Store) victim(spare *entry) (found *entry) {
	for _, e := range s.tasks {
		if e == spare || e.busy {
			continue
		}
		if found == nil || e.task.Ended && !found.task.Ended ||
			e.task.Ended == found.task.Ended && e.task.Changed.Before(found.task.Changed) {
			found = e
		}
	}
	return found
}

// sweep lets go what ended too long ago, now and then. It is under mu.
func (s *Store) sweep(out *outcome) {
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

func (s *Store) evict(e *entry, into *journal.AgentTasksEvicted) {
	into.Tasks++
	into.Bytes += e.size
	if !e.task.Ended {
		into.Running++
	}
	s.unlink(e)
	s.drop(e)
}

// drop forgets an entry whose file is gone.
func (s *Store) drop(e *entry) {
	delete(s.tasks, e.task.ID)
	s.bytes -= e.size
	if e.raw != nil && s.root != nil {
		s.unsaved--
	}
	e.raw = nil
}

// unlink removes a file. One that cannot be removed comes back with the next process, and
// falls to the bounds there.
func (s *Store) unlink(e *entry) {
	if s.root != nil {
		_ = s.root.Remove(e.name())
	}
}

// Remove forgets a task, and returns whether there was one.
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
	s.unlink(e)
	s.drop(e)
	return true
}

func (s *Store) tell(out *outcome) {
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
