package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
)

const (
	// askTime bounds a look at all engines, handedAfter the time for which a job without an engine's name is taken for one that is just handed over.
	askTime     = 2 * time.Second
	handedAfter = time.Minute
)

var errSlow = errors.New("no answer within " + askTime.String())

// storeOf returns the store of jobs.
func storeOf(c *core.Core) (*jobs.Store, error) {
	state, err := c.Dirs.State()
	return jobs.NewStore(state), err
}

// Refresh asks the engines about the jobs that have not ended, and stores the answers. An engine that does not answer is a warning, and is
// noted at its jobs; it is no error.
func Refresh(ctx context.Context, c *core.Core) error {
	store, err := storeOf(c)
	if err != nil {
		return err
	}
	list, err := store.List()
	refresh(ctx, c, store, list...)
	return err
}

// Prune removes stored jobs beyond the bounds of their store, and returns them. Unless dry, it first asks the engines which jobs have ended;
// with dry it removes nothing.
func Prune(ctx context.Context, c *core.Core, dry bool) ([]jobs.Removed, error) {
	store, err := storeOf(c)
	if err == nil && !dry {
		err = Refresh(ctx, c)
	}
	if err != nil {
		return nil, err
	}
	return store.Prune(time.Now(), dry)
}

// refreshed asks the engine about one job, if it has not ended, and returns the stored record of it.
func refreshed(ctx context.Context, c *core.Core, name string) (jobs.Record, error) {
	store, err := storeOf(c)
	if err != nil {
		return jobs.Record{}, err
	}
	r, err := store.Get(name)
	if err != nil {
		return r, err
	}
	refresh(ctx, c, store, r)
	return store.Get(name)
}

// refresh asks the engines of these jobs at the same time, at most askTime, and stores the answers. Jobs that have ended are not asked about.
func refresh(ctx context.Context, c *core.Core, store *jobs.Store, list ...jobs.Record) {
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
		asked.Go(func() { refreshEngine(ctx, c, store, name, records) })
	}
	asked.Wait()
}

// Asker returns a function that starts asking the engines in the background. A call does nothing while they are being asked, or within
// askAgain of the last time. Engines that do not answer are noted at their jobs, without a warning.
func Asker(c *core.Core) (soon func()) {
	c = c.Telling(func(string) {})
	var asking sync.Mutex
	var last time.Time
	return func() {
		if !asking.TryLock() {
			return
		}
		go func() {
			defer asking.Unlock()
			if time.Since(last) >= askAgain {
				_ = Refresh(context.Background(), c)
				last = time.Now()
			}
		}()
	}
}

// refreshEngine asks one engine about its jobs and stores their status. If the engine does not answer, it warns and notes that at the jobs.
func refreshEngine(ctx context.Context, c *core.Core, store *jobs.Store, name string, records []jobs.Record) {
	engine, err := openEngine(c, name, Options{})
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
		status := r.Status
		if err == nil {
			answer, known := answers[r.ID]
			status = statusOf(store, &r, answer, known, time.Now())
		}
		if unanswered == r.Unanswered && status == r.Status {
			continue
		}
		err := store.Update(r.ID, func(kept *jobs.Record) { kept.Unanswered, kept.Status = unanswered, status })
		if err != nil {
			c.Warn("what is known of job " + r.ID + " was not kept: " + err.Error())
		}
	}
}

// statusOf returns the status of a job: the engine's answer, completed by the report that the job left. A job that the engine does not know has
// ended if there is a report or it was cancelled, and else is lost, unless it was submitted just now.
func statusOf(store *jobs.Store, r *jobs.Record, answer jobs.Status, known bool, now time.Time) jobs.Status {
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

// askAgain is the time between two questions to an engine that does not answer a submitter who stays.
const askAgain = 5 * time.Second

// exitFailed is the status of Plimsoll's own failures.
const exitFailed = 125

// attend copies the output of a job until the job has ended, and returns its exit status; exitFailed if it is lost. Ctrl-C, or a request to end,
// cancels the job; a second one leaves it running and returns 128 and the number of the signal. say is called with messages for the user.
func attend(ctx context.Context, c *core.Core, p *Plan, out, errs io.Writer, say func(string)) (status int) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	ended, cancelled := make(chan error, 1), make(chan error, 1)
	go func() { ended <- p.engine.Output(ctx, p.record.Ref, out, errs) }()
	var look <-chan time.Time // after its last output: the engine is asked until it says how the job has ended
	pause, told := time.Second/4, ""
	for asked := 0; ; {
		select {
		case s := <-signals:
			if asked++; asked == 1 && look == nil {
				say(fmt.Sprintf("cancels %s; once more leaves it to itself", p.Name))
				go func() { cancelled <- cancelJob(ctx, c, p.engine, p.record) }()
				continue
			}
			if look == nil {
				select { // it was to be cancelled all the same
				case <-cancelled:
				case <-signals:
				case <-time.After(askTime):
				}
			}
			say(fmt.Sprintf("left %s; plimsoll runs %[1]s shows what becomes of it", p.Name))
			return 128 + int(s.(syscall.Signal))
		case err := <-cancelled:
			if err != nil {
				say("it was not cancelled: " + err.Error())
			}
		case err := <-ended:
			if err != nil && ctx.Err() == nil {
				say("its output is not shown any more: " + err.Error())
			}
			look = time.After(0)
		case <-look:
			r, err := refreshed(ctx, c.Telling(func(string) {}), p.Name)
			words := r.Status.FullReason()
			switch {
			case err != nil:
				say(err.Error())
				return exitFailed
			case r.Status.Phase == jobs.Lost:
				say(fmt.Sprintf("%s is lost: %s", p.Name, words))
				return exitFailed
			case r.Status.Phase == jobs.Ended:
				if r.Status.ExitCode != 0 && words != "" && words != "FAILED" {
					say(fmt.Sprintf("%s ended: %s", p.Name, words))
				}
				return r.Status.ExitCode
			case r.Unanswered != "" && told != r.Unanswered:
				told = r.Unanswered
				say(told + "; asks again until it does, Ctrl-C leaves it")
			}
			look, pause = time.After(pause), min(2*pause, askAgain)
		}
	}
}
