package submit

import (
	"context"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
)

const (
	// askTime bounds a look at all engines, handedAfter the time for which a job without an engine's name is taken for one that is just handed over.
	askTime     = 2 * time.Second
	handedAfter = time.Minute
)

// Refresh asks the engines about the jobs that have not ended, all or those that are named, and keeps the answers. An engine that does not answer is noted
// at its jobs, and told.
func Refresh(ctx context.Context, c *core.Core, names ...string) error {
	state, err := c.Dirs.State()
	if err != nil {
		return err
	}
	store := jobs.StoreIn(state)
	var list []jobs.Record
	if len(names) == 0 {
		list, err = store.List()
	}
	for _, name := range names {
		var r jobs.Record
		if r, err = store.Get(name); err == nil {
			list = append(list, r)
		}
	}
	if err != nil {
		return err
	}
	byEngine := map[string][]jobs.Record{}
	for _, r := range list {
		if !r.Status.Phase.Over() {
			byEngine[r.Engine] = append(byEngine[r.Engine], r)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, errSlow)
	defer cancel()
	var asked sync.WaitGroup
	for name, records := range byEngine {
		asked.Go(func() { refresh(ctx, c, store, name, records) })
	}
	asked.Wait()
	return nil
}

// Asker asks the engines again and again for who looks on. The zero value is not valid: see [NewAsker].
type Asker struct {
	core *core.Core
	mu   sync.Mutex
	busy bool
	last time.Time
}

// NewAsker returns an asker. Nobody is told of engines that do not answer: that is at their jobs.
func NewAsker(c *core.Core) *Asker { return &Asker{core: c.Telling(func(string) {})} }

// Soon has the engines asked beside the caller, unless that was done within five seconds.
func (a *Asker) Soon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy || time.Since(a.last) < askAgain {
		return
	}
	a.busy = true
	go func() {
		_ = Refresh(context.Background(), a.core)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.busy, a.last = false, time.Now()
	}()
}

// refresh brings the jobs of one engine up to date.
func refresh(ctx context.Context, c *core.Core, store *jobs.Store, name string, records []jobs.Record) {
	engine, err := openEngine(name, setting{core: c, told: c.Warn})
	var answers map[string]jobs.Status
	if err == nil {
		var refs []jobs.Ref
		for _, r := range records {
			if r.At != "" {
				refs = append(refs, r.Ref)
			}
		}
		answers, err = engine.Status(ctx, refs)
	}
	unanswered := ""
	if err != nil {
		unanswered = name + " does not answer: " + err.Error()
		c.Warn(unanswered)
	}
	for _, r := range records {
		next := r
		next.Unanswered = unanswered
		if err == nil {
			answer, known := answers[r.ID]
			next.Status = settled(store, &r, answer, known, time.Now())
		}
		if next.Unanswered == r.Unanswered && next.Status == r.Status {
			continue
		}
		err := store.Update(r.ID, func(kept *jobs.Record) { kept.Unanswered, kept.Status = next.Unanswered, next.Status })
		if err != nil {
			c.Warn("what is known of job " + r.ID + " was not kept: " + err.Error())
		}
	}
}

// settled returns what a job is at: its engine's word, with the report that it left. A job that the engine does not know has ended where
// there is a report, and is lost where there is none.
func settled(store *jobs.Store, r *jobs.Record, answer jobs.Status, known bool, now time.Time) jobs.Status {
	switch {
	case known && answer.Phase != jobs.Ended:
		return answer
	case !known && r.At == "" && now.Sub(r.Submitted) < handedAfter:
		return r.Status
	}
	if answer.Report == nil {
		answer.Report = store.Report(r.ID)
	}
	if report := answer.Report; report != nil {
		answer.ExitCode, answer.Signal = report.ExitCode, report.Signal
	}
	switch {
	case known:
	case answer.Report != nil:
		answer.Phase, answer.Node = jobs.Ended, r.Status.Node
	case r.Cancelled:
		answer = jobs.Status{Phase: jobs.Ended, Node: r.Status.Node, Reason: "CANCELLED", Signal: "SIGTERM", ExitCode: 143}
	case r.At == "":
		answer = jobs.Status{Phase: jobs.Lost, Detail: "the plimsoll that handed it over was ended before the engine had answered"}
	default:
		answer = jobs.Status{Phase: jobs.Lost, Node: r.Status.Node, Detail: r.Engine + " does not know it any more, and it left no report"}
	}
	if answer.Ended.IsZero() {
		answer.Ended = now.UTC()
	}
	return answer
}
