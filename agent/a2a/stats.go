package a2a

import (
	"maps"
	"sync"
	"sync/atomic"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
)

// Stats counts since New.
type Stats struct {
	// Running is the number of running executors, Held that of tasks in memory, Streams that of open streams.
	Running int   `json:"running"`
	Held    int   `json:"held"`
	Streams int64 `json:"streams"`

	Requests int64 `json:"requests"` // that reached the protocol
	Refused  int64 `json:"refused"`  // too large, no JSON, too many at once
	Tasks    int64 `json:"tasks"`    // made
	// Ended counts tasks by the state that they ended in.
	Ended  map[sdk.TaskState]int64 `json:"ended"`
	Events int64                   `json:"events"`
	Late   int64                   `json:"late"`   // events after the end of their task
	Panics int64                   `json:"panics"` // of executors and of requests
	// Leaked counts executors that went on when their task was ended for them.
	Leaked int64 `json:"leaked"`
	// Unkept counts failed writes of tasks to the store.
	Unkept    int64 `json:"unkept"`
	Recovered int64 `json:"recovered"` // tasks that a restart had cut off
	// Slow counts events that could not be written to a client in time.
	Slow int64 `json:"slow"`
	// Resumed counts clients that came back with Last-Event-ID, Snapshots those that were
	// shown the task because events were gone.
	Resumed   int64 `json:"resumed"`
	Snapshots int64 `json:"snapshots"`

	PushSent    int64 `json:"push_sent"`
	PushFailed  int64 `json:"push_failed"`
	PushRetried int64 `json:"push_retried"`
	PushDropped int64 `json:"push_dropped"`
	PushRefused int64 `json:"push_refused"` // configurations with a bad address or a bad secret

	Logs tasklog.Stats `json:"logs"`
}

type counters struct {
	requests, refused, tasks, events, late, panics, leaked, unkept, recovered atomic.Int64
	slow, resumed, snapshots                                                  atomic.Int64
	pushSent, pushFailed, pushRetried, pushDropped, pushRefused               atomic.Int64

	mu   sync.Mutex
	ends map[sdk.TaskState]int64
}

func (s *Server) countEnded(state sdk.TaskState) {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	s.counts.ends[state]++
}

// Stats returns the counts since New.
func (s *Server) Stats() Stats {
	c := &s.counts
	s.mu.Lock()
	running, held := len(s.runs), len(s.tasks)
	s.mu.Unlock()
	c.mu.Lock()
	ends := maps.Clone(c.ends)
	c.mu.Unlock()
	return Stats{
		Running: running, Held: held, Streams: s.streams.Load(),
		Requests: c.requests.Load(), Refused: c.refused.Load(), Tasks: c.tasks.Load(), Ended: ends,
		Events: c.events.Load(), Late: c.late.Load(), Panics: c.panics.Load(), Leaked: c.leaked.Load(),
		Unkept: c.unkept.Load(), Recovered: c.recovered.Load(), Slow: c.slow.Load(),
		Resumed: c.resumed.Load(), Snapshots: c.snapshots.Load(),
		PushSent: c.pushSent.Load(), PushFailed: c.pushFailed.Load(), PushRetried: c.pushRetried.Load(),
		PushDropped: c.pushDropped.Load(), PushRefused: c.pushRefused.Load(),
		Logs: s.logs.Stats(),
	}
}
