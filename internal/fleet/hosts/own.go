package hosts

import (
	"cmp"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Own follows the run of this process. It is a [journal.Observer].
type Own struct {
	mu   sync.Mutex
	run  *runs.Run
	peak int64
}

// Follow begins to follow a run.
func Follow(h runs.Header, pid int) *Own {
	h.Started, h.PID = time.Now().UTC(), pid
	return &Own{run: runs.Follow(h)}
}

// keptRequests is more than a look at the window needs.
const keptRequests = 16

// Observe implements [journal.Observer]. What is kept of a run is elsewhere: here only its present state is.
func (o *Own) Observe(r journal.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.run.Observe(r)
	o.run.Records = o.run.Records[:0]
	if n := len(o.run.Context); n > 2*keptRequests {
		o.run.Context = append(o.run.Context[:0], o.run.Context[n-keptRequests:]...)
	}
}

// Sample takes the present use of the run.
func (o *Own) Sample(s runs.Sample) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.run.Samples = append(o.run.Samples[:0], s)
	o.peak = max(o.peak, s.Charged, s.Working)
}

// now returns the run as others are told of it.
func (o *Own) now() Run {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, s := &o.run.Entry, o.run.Now()
	out := Run{
		ID: r.ID, Kind: r.Kind, Parent: r.Parent, Tool: limit.Short(r.Tool, maxName), Variant: limit.Short(r.Variant, maxName), Project: limit.Short(r.Project, maxName),
		PID: r.PID, State: r.Condition(), Since: r.StateSince, Reason: limit.Short(r.Reason, maxReason), Started: r.Started,
		Memory: s.Memory(), Peak: max(o.peak, r.PeakBytes), Limit: r.LimitBytes, Reservation: r.ReservationBytes, CPUMS: s.CPUMS, Processes: s.Processes,
		Compactions: r.Rooms(), Kills: r.Killed(),
	}
	if out.State == runs.Waiting {
		out.Since = cmp.Or(r.StateSince, r.Started)
	}
	if c := o.run.Fullest(time.Now()); c.Tokens > 0 {
		out.WindowTokens, out.WindowLimit = c.Tokens, c.Limit
	}
	for i := range r.Usage {
		out.add(&r.Usage[i])
	}
	return out
}
