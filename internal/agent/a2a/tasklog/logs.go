package tasklog

import (
	"sync"
	"sync/atomic"
	"time"
)

// Logs is the set of the logs of an agent's tasks.
type Logs struct {
	options Options
	total   atomic.Int64 // bytes in all rings
	ended   atomic.Int64 // logs that have ended and are not removed
	counts  counts

	mu   sync.Mutex
	logs map[string]*Log
	shut bool
}

// New returns an empty set of logs.
func New(o Options) *Logs {
	o.setDefaults()
	return &Logs{options: o, logs: map[string]*Log{}}
}

// Open returns the log of a task, and makes one if there is none; the first event of that has the number after+1. It returns an [ErrFull]
// if there are too many logs, and an [ErrRemoved] after Close.
func (s *Logs) Open(task string, after uint64) (*Log, error) {
	l, gone, err := s.open(task, after)
	for _, g := range gone {
		g.remove()
	}
	return l, err
}

// open returns the log of a task and makes it if there is none; after is the number of the last event before its first one. The other logs
// are removed from the set because they are old or in the way; the caller calls remove for each. The error is [ErrFull] or [ErrRemoved].
func (s *Logs) open(task string, after uint64) (*Log, []*Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, nil, ErrRemoved
	}
	gone := s.takeExpired(task)
	if l := s.logs[task]; l != nil {
		return l, gone, nil
	}
	if len(s.logs) >= s.options.MaxLogs {
		oldest := s.oldestEnded(nil)
		if oldest == nil {
			s.counts.logsRefused.Add(1)
			return nil, gone, ErrFull
		}
		gone = append(gone, oldest)
		s.forgetLog(oldest)
	}
	l := &Log{set: s, task: task, last: after}
	s.logs[task] = l
	return l, gone, nil
}

// takeExpired takes logs that ended at least Options.Keep ago and have no readers out of the set, and returns them for the caller to
// remove. The log of the task keep stays. The caller holds mu.
func (s *Logs) takeExpired(keep string) (removed []*Log) {
	if s.ended.Load() == 0 {
		return nil
	}
	for task, l := range s.logs {
		l.mu.Lock()
		over := l.ended && l.readers == 0 && time.Since(l.endedAt) >= s.options.Keep
		l.mu.Unlock()
		if over && task != keep {
			removed = append(removed, l)
			s.forgetLog(l)
		}
	}
	return removed
}

// forgetLog takes a log out of the set and counts that. The caller holds mu.
func (s *Logs) forgetLog(l *Log) {
	delete(s.logs, l.task)
	s.counts.logsEvicted.Add(1)
}

// oldestEnded returns the log that ended first, but one without readers before any that has some; nil if no log but keep has ended. The
// caller holds mu.
func (s *Logs) oldestEnded(keep *Log) (found *Log) {
	if s.ended.Load() == 0 {
		return nil // as under load: an append that has to make room looks at no other log
	}
	var at time.Time
	read := false
	for _, l := range s.logs {
		l.mu.Lock()
		ended, endedAt, reading := l.ended, l.endedAt, l.readers > 0
		l.mu.Unlock()
		if !ended || l == keep {
			continue
		}
		if found == nil || read && !reading || read == reading && endedAt.Before(at) {
			found, at, read = l, endedAt, reading
		}
	}
	return found
}

// reclaim removes ended logs, and then old events of l, until all logs are within MaxTotal. It is called after an append to l.
func (s *Logs) reclaim(l *Log) {
	for s.total.Load() > int64(s.options.MaxTotal) {
		s.mu.Lock()
		oldest := s.oldestEnded(l)
		if oldest != nil {
			s.forgetLog(oldest)
		}
		s.mu.Unlock()
		switch {
		case oldest != nil:
			oldest.remove()
		case !l.shrink():
			return // what is left is other logs': each appended within the bound
		}
	}
}

// Find returns the log of a task, nil when there is none.
func (s *Logs) Find(task string) *Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[task]
}

// Remove removes the log of a task and ends its readers. It reports whether there was one.
func (s *Logs) Remove(task string) bool {
	s.mu.Lock()
	l := s.logs[task]
	delete(s.logs, task)
	s.mu.Unlock()
	if l == nil {
		return false
	}
	l.remove()
	return true
}

// Close removes all logs. No new ones can be opened.
func (s *Logs) Close() {
	s.mu.Lock()
	all := s.logs
	s.logs, s.shut = map[string]*Log{}, true
	s.mu.Unlock()
	for _, l := range all {
		l.remove()
	}
}
