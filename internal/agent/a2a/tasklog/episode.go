package tasklog

import (
	"context"
	"log/slog"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// State says whether the events of a log reach anybody.
type State string

// The states of a log.
const (
	Open   State = "open"
	Unread State = "unread"
	Ended  State = "ended"
)

// episode is a time in which the events of a log reach nobody.
type episode struct {
	open            bool
	why             State
	from            uint64 // the number of its first event
	since           time.Time
	missed, dropped uint64
}

// maxNotices bounds the notices that wait for a slow logger. Further ones are only counted.
const maxNotices = 64

// notices are the events that are still to be written into the journal, in order.
type notices struct {
	waiting []journal.Event
	telling bool
}

// countMissed counts an event that no reader gets. The first one begins an episode, which is journalled. dropped says that it is not kept
// for a later reader either.
func (l *Log) countMissed(why State, seq uint64, dropped bool) {
	if !l.episode.open {
		l.episode = episode{open: true, why: why, from: seq, since: time.Now()}
		l.stats.Episodes++
		l.set.counts.episodes.Add(1)
		l.addNotice(journal.AgentQueueClosed{Agent: l.set.options.Name, Task: clipName(l.task), Why: string(why), Seq: seq})
	}
	l.episode.missed++
	l.stats.Missed++
	l.set.counts.missed.Add(1)
	if dropped {
		l.countDropped()
	}
}

func (l *Log) countDropped() {
	l.episode.dropped++
	l.stats.Dropped++
	l.set.counts.dropped.Add(1)
}

// dropMissed counts a record that leaves the log as lost, if it was missed in this episode.
func (l *Log) dropMissed(rec *Record) {
	if l.episode.open && rec.missed && l.episode.from != 0 && rec.Seq >= l.episode.from {
		l.countDropped()
	}
}

// endEpisode ends the episode and adds a notice with its counts.
func (l *Log) endEpisode() {
	e := l.episode
	l.episode = episode{}
	l.addNotice(journal.AgentQueueReopened{
		Agent: l.set.options.Name, Task: clipName(l.task), Why: string(e.why),
		Missed: e.missed, Dropped: e.dropped, Closed: time.Since(e.since),
	})
}

// endRemoved ends the episode, if one is open, because the log is removed: the events that were kept for a returning reader count as
// dropped.
func (l *Log) endRemoved() {
	if !l.episode.open {
		return
	}
	for i := range l.ring.n {
		l.dropMissed(l.ring.at(i))
	}
	e := l.episode
	l.episode = episode{}
	l.addNotice(journal.AgentQueueRemoved{
		Agent: l.set.options.Name, Task: clipName(l.task), Why: string(e.why), Missed: e.missed, Dropped: e.dropped,
	})
}

// addNotice queues an event for the journal. Beyond maxNotices it is only counted.
func (l *Log) addNotice(e journal.Event) {
	if len(l.notices.waiting) == maxNotices {
		l.set.counts.untold.Add(1)
		return
	}
	l.notices.waiting = append(l.notices.waiting, e)
}

// journalNotices journals and logs the waiting notices in their order. It releases the lock meanwhile, so a slow logger delays only its
// caller. If another goroutine does so already, it returns at once.
func (l *Log) journalNotices() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.notices.telling {
		return
	}
	l.notices.telling = true
	defer func() { l.notices.telling = false }()
	for len(l.notices.waiting) > 0 {
		now := l.notices.waiting
		l.notices.waiting = nil
		func() {
			l.mu.Unlock()
			defer l.mu.Lock()
			for _, e := range now {
				l.set.journalEvent(e)
			}
		}()
	}
}

// journalEvent writes one event into the journal and the program's log.
func (s *Logs) journalEvent(e journal.Event) {
	if s.options.Journal != nil {
		s.options.Journal.Append(e)
	}
	log := s.options.Logger
	if log == nil {
		return
	}
	count := func(missed, dropped uint64) []slog.Attr {
		return []slog.Attr{slog.Uint64("missed", missed), slog.Uint64("dropped", dropped)}
	}
	write := func(level slog.Level, text, task, why string, more ...slog.Attr) {
		log.LogAttrs(context.Background(), level, text, append([]slog.Attr{
			slog.String("agent", s.options.Name), slog.String("task", task), slog.String("why", why),
		}, more...)...)
	}
	switch e := e.(type) {
	case journal.AgentQueueClosed:
		write(slog.LevelWarn, "events of a task reach nobody; later ones are counted, not logged", e.Task, e.Why)
	case journal.AgentQueueReopened:
		write(slog.LevelInfo, "events of a task reach somebody again", e.Task, e.Why, count(e.Missed, e.Dropped)...)
	case journal.AgentQueueRemoved:
		write(slog.LevelInfo, "events of a task were removed and nobody had come back for them", e.Task, e.Why, count(e.Missed, e.Dropped)...)
	}
}

// maxName bounds an id in the journal, in bytes.
const maxName = 64

func clipName(s string) string { return limit.Clip(s, maxName) }
