package toolbox

import "sync/atomic"

type counters struct {
	calls, failed, cancelled, dropped, refused, unanswered, badSchemas atomic.Int64
}

// Stats are the counts of a toolbox since New.
type Stats struct {
	Servers []ServerStats // functions first, if there are any
	Tools   int           // tools that List returns
	Left    int           // tools left out for lack of room or of a usable name
	Calls   int64
	Failed  int64 // calls whose output is marked as failed
	// Cancelled counts calls whose context ended first.
	Cancelled int64
	// Dropped counts progress messages that were not taken in time.
	Dropped int64
	// Refused counts requests of servers (for input, a model, files), which are all refused;
	// Unanswered those that came too fast for an answer.
	Refused, Unanswered int64
	// BadSchemas counts tools listed with a schema that is invalid or too large: their
	// arguments are not checked.
	BadSchemas int64
}

// ServerStats are the counts of one server.
type ServerStats struct {
	Name  string
	Tools int // without those that read kept results
	Calls int64
	// Err is the reason why its tools could not be listed last; nil if they could.
	Err error
}

// Stats returns the counts.
func (b *Toolbox) Stats() Stats {
	c := &b.count
	s := Stats{
		Calls: c.calls.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(), Dropped: c.dropped.Load(),
		Refused: c.refused.Load(), Unanswered: c.unanswered.Load(), BadSchemas: c.badSchemas.Load(),
	}
	if k := b.catalogue.Load(); k != nil {
		s.Tools, s.Left = len(k.specs), k.omitted
	}
	for _, l := range b.sessions {
		l.mu.Lock()
		one := ServerStats{Name: l.name, Calls: l.calls.Load(), Err: l.err}
		for _, t := range l.tools {
			if t.role == noRole {
				one.Tools++
			}
		}
		s.Left += l.hidden
		l.mu.Unlock()
		s.Servers = append(s.Servers, one)
	}
	return s
}
