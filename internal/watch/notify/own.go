package notify

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// Own gives notice of the run of this process. It is a [journal.Observer]; nothing it does makes its caller wait.
type Own struct {
	sender *Sender

	mu     sync.Mutex
	run    *runs.Run
	told   *episode
	timers [2]*time.Timer // of a long wait, and of a kill without a name
	closed bool
}

// NewOwn begins to look at a run.
func NewOwn(s *Sender, h runs.Header) *Own {
	h.Started = time.Now().UTC()
	return &Own{sender: s, run: runs.Follow(h), told: newEpisode()}
}

// Observe implements [journal.Observer]. Events from which no notice can come are left out: the run is kept elsewhere.
func (o *Own) Observe(rec journal.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	switch e := rec.Event.(type) {
	case journal.Waiting:
		o.lookAgain(&o.timers[0], LongWait)
	case journal.OOMKills:
		o.lookAgain(&o.timers[1], nameWait)
	case journal.ToolServer:
		if e.State != "killed" {
			return
		}
	case journal.Admitted, journal.Refused, journal.RunStarted, journal.ChildKilled, journal.OOMDKills, journal.WindowLoop, journal.Forgotten, journal.RunEnded:
	default:
		return
	}
	o.run.Observe(rec)
	o.look()
}

// lookAgain looks once more after a while, when nothing may have happened meanwhile.
func (o *Own) lookAgain(t **time.Timer, after time.Duration) {
	if *t != nil {
		return
	}
	*t = time.AfterFunc(after+10*time.Millisecond, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		*t = nil
		if !o.closed {
			o.look()
		}
	})
}

func (o *Own) look() {
	for _, n := range o.told.see(time.Now(), o.run) {
		o.sender.Give(n)
	}
}

// Close ends it, and waits for notices that are on their way, at most for wait.
func (o *Own) Close(wait time.Duration) {
	o.mu.Lock()
	o.closed = true
	for _, t := range o.timers {
		if t != nil {
			t.Stop()
		}
	}
	o.mu.Unlock()
	o.sender.Close(wait)
}
