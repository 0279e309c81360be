package tasklog

import "sync/atomic"

// LogStats are the counts of one log. Events and Bytes count its records, First and Last are the
// lowest number that is kept and the highest that was given out.
type LogStats struct {
	State       State
	First, Last uint64
	Events      int
	Bytes       int64
	Readers     int
	// Appended counts events that got a number, Late those after the end, which got none.
	Appended, Late uint64
	// Missed counts events that had no reader when they came, Dropped those of them that
	// are no longer kept, Episodes how often that began.
	Missed, Dropped, Episodes uint64
	// Evicted counts records that made room, TooLarge events larger than all the room.
	Evicted, TooLarge uint64
	// Refused counts readers beyond MaxReaders.
	Refused uint64
}

// Stats are the counts of all logs since the beginning, of removed ones too.
type Stats struct {
	Logs    int
	Bytes   int64
	Readers int64

	Appended, Late            uint64
	Missed, Dropped, Episodes uint64
	Evicted, TooLarge         uint64
	// Gaps counts how often a reader got a gap instead of events.
	Gaps           uint64
	ReadersRefused uint64
	// LogsEvicted counts ended logs that were removed for room or by age, LogsRefused
	// those that could not be opened for lack of room.
	LogsEvicted, LogsRefused uint64
	// Untold counts events of the journal that were not written because its readers were slow.
	Untold uint64
}

// counts are the counters behind [Stats].
type counts struct {
	readers                                              atomic.Int64
	appended, late, missed, dropped, episodes            atomic.Uint64
	evicted, tooLarge, gaps, readersRefused, logsEvicted atomic.Uint64
	logsRefused, untold                                  atomic.Uint64
}

// Stats returns the counts of all logs together.
func (s *Logs) Stats() Stats {
	s.mu.Lock()
	logs := len(s.logs)
	s.mu.Unlock()
	c := &s.counts
	return Stats{
		Logs: logs, Bytes: s.total.Load(), Readers: c.readers.Load(),
		Appended: c.appended.Load(), Late: c.late.Load(),
		Missed: c.missed.Load(), Dropped: c.dropped.Load(), Episodes: c.episodes.Load(),
		Evicted: c.evicted.Load(), TooLarge: c.tooLarge.Load(), Gaps: c.gaps.Load(),
		ReadersRefused: c.readersRefused.Load(), LogsEvicted: c.logsEvicted.Load(),
		LogsRefused: c.logsRefused.Load(), Untold: c.untold.Load(),
	}
}
