package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Run is a query that runs.
type Run struct {
	a      *Agent
	q      Query
	ctx    context.Context
	cancel context.CancelCauseFunc
	place  *place
	held   *held
	events emitter
	done   chan struct{}
	result Result // when done is closed

	// What follows belongs to the goroutine of the query.
	conv    Conversation
	began   time.Time
	specs   []ToolSpec
	system  string
	fitter  *fitter
	room    fitted // what the last fit found
	leftOut bool   // messages were left out of the conversation
	steps   int
	calls   int
	use     Usage // guarded by held's lock
}

func newRun(ctx context.Context, a *Agent, q Query) *Run {
	r := &Run{a: a, q: q, held: newHeld(a.o.Limits), done: make(chan struct{}), began: time.Now()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.events.to = q.Events
	r.events.broke = func(err error) { r.cancel(err) }
	return r
}

// Wait waits for the end.
func (r *Run) Wait() Result {
	<-r.done
	return r.result
}

// Done is closed at the end.
func (r *Run) Done() <-chan struct{} { return r.done }

// Cancel ends the query, and does not wait for that. Calls that wait for their tools get
// results first. cause is for the result's Detail; nil is [context.Canceled].
func (r *Run) Cancel(cause error) { r.cancel(cause) }

// MemoryUsage tells what the query holds now; 0 after its end.
func (r *Run) MemoryUsage() MemoryUsage {
	now, _ := r.held.usage()
	return now
}

// StepResult finds a stored result by the id of its call, while the query lives. Of a query
// with very many the newest 4 MiB are kept.
func (r *Run) StepResult(callID string) (StepResult, bool) { return r.held.result(callID) }

// open opens the conversation.
func (r *Run) open() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("agent: the store of conversations panicked: %v", p)
		}
	}()
	if r.q.Session == "" {
		if r.q.Existing {
			return fmt.Errorf("%w: none is named", ErrNoSession)
		}
		r.conv = unkept{}
		return nil
	}
	conv, err := r.a.o.Conversations.Open(r.ctx, r.q.Session, r.q.Existing)
	if err != nil {
		return err
	}
	r.conv = conv
	return nil
}

// run is the goroutine of the query: whatever happens in it, the query ends with a result,
// the conversation in order, and the next query of the session may run.
func (r *Run) run() {
	result := Result{Outcome: Failed, Detail: "the query broke off"}
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("agent: a bug: %v", p)
			result = Result{Outcome: Failed, Detail: err.Error(), Err: fmt.Errorf("%w\n%s", err, debug.Stack())}
		}
		r.end(result)
	}()
	result = r.query()
}

// query waits for the turn of the query, and answers it.
func (r *Run) query() Result {
	select {
	case <-r.place.turn:
	default:
		r.a.mu.Lock()
		n := r.a.lines.before(r.q.Session, r.place)
		r.a.mu.Unlock()
		r.events.emit(Event{Kind: EventQueued, Text: fmt.Sprintf("%d of this session before this one", n)})
		select {
		case <-r.place.turn:
		case <-r.ctx.Done():
			return r.cancelled()
		}
	}
	if r.ctx.Err() != nil {
		return r.cancelled()
	}
	if r.conv == nil {
		if err := r.open(); err != nil {
			if r.ctx.Err() != nil {
				return r.cancelled()
			}
			return Result{Outcome: Failed, Detail: "the session could not be opened: " + err.Error(), Err: err}
		}
	}
	waited := time.Since(r.began)
	r.began = time.Now()
	r.a.note(journal.AgentQueryStarted{Agent: clip(r.a.o.Name), Waited: waited})
	if err := r.prepare(); err != nil {
		return r.failed(err)
	}
	return r.loop()
}

// prepare takes up the conversation, with the question at its end.
func (r *Run) prepare() error {
	r.held.replace(r.conv.Messages())
	// A process died while its tools ran, or a store lost what was behind. The results that
	// are missing come first, for behind the question it is too late for them.
	if err := r.settle("Not finished: the program ended before this call did. It may have run, or not. Check before you repeat it."); err != nil {
		return err
	}
	if err := r.keep(Message{Role: RoleUser, Text: r.q.Text}); err != nil {
		return err
	}
	if err := r.list(); err != nil {
		if r.ctx.Err() != nil {
			return err
		}
		return &notKept{fmt.Errorf("the tools could not be listed: %w", err)}
	}
	var sum summarizer
	if r.a.o.Summarize {
		sum = r.summarize
	}
	r.fitter = r.a.core.query(sum)
	return nil
}

// list asks for the tools, and composes the system prompt.
func (r *Run) list() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	if r.q.Tools != nil {
		ctx, cancel := context.WithTimeout(r.ctx, listTimeout)
		defer cancel()
		specs, err := r.q.Tools.List(ctx)
		if err != nil {
			return err
		}
		seen := map[string]bool{}
		for _, s := range specs {
			if seen[s.Name] {
				r.events.emit(Event{Kind: EventWarning, Text: limit.Clip(fmt.Sprintf("there are two tools %q; the second is left out", s.Name), int(maxPiece))})
				continue
			}
			seen[s.Name] = true
			r.specs = append(r.specs, s)
		}
	}
	r.system = r.a.o.System
	if r.a.o.Compose != nil {
		r.system = r.a.o.Compose(r.specs)
	}
	return nil
}

// keep adds messages to the conversation. When it returns they are safe.
func (r *Run) keep(ms ...Message) error {
	err := r.conv.Append(ms...)
	if err == nil {
		r.held.append(ms...)
		return nil
	}
	if !errors.Is(err, ErrSessionFull) {
		return &notKept{fmt.Errorf("the conversation could not be kept: %w", err)}
	}
	list := r.held.list()
	all := append(list[:len(list):len(list)], ms...)
	for bytes := sizeOf(all) / 2; ; bytes /= 2 {
		kept := cutHistory(all, r.a.o.Limits.MaxHistoryMessages, bytes)
		if err = r.conv.Replace(kept); err == nil {
			r.left(len(all)-len(kept), kept)
			return nil
		}
		if !errors.Is(err, ErrSessionFull) || bytes == 0 {
			return &notKept{fmt.Errorf("the conversation could not be kept: %w", err)}
		}
	}
}

// trim leaves out old messages where there are too many.
func (r *Run) trim() {
	list := r.held.list()
	kept := shortened(list, r.a.o.Limits.MaxHistoryMessages)
	if len(kept) == len(list) {
		return
	}
	r.replace(kept)
	r.left(len(list)-len(kept), kept)
}

// left takes up the messages that are left.
func (r *Run) left(n int, kept []Message) {
	r.held.replace(kept)
	r.leftOut = true
	r.a.note(journal.AgentRoom{Agent: clip(r.a.o.Name), Why: "history", Messages: n})
	r.events.emit(Event{Kind: EventRoom, Text: fmt.Sprintf("the oldest %d messages of the conversation were left out", n)})
}

// replace puts others in the place of the messages that the store has. When that fails it
// still has all of them, which is more than is needed, and no loss.
func (r *Run) replace(ms []Message) {
	if err := r.conv.Replace(ms); err != nil {
		r.events.emit(Event{Kind: EventWarning, Text: limit.Clip("the conversation could not be shortened where it is kept: "+err.Error(), int(maxPiece))})
	}
}

// settle gives each call of the last step that has no result one that says why.
func (r *Run) settle(why string) error {
	open := unanswered(r.held.list())
	if len(open) == 0 {
		return nil
	}
	return r.keep(noResults(open, why)...)
}

// end puts everything in order and tells the result.
func (r *Run) end(result Result) {
	defer func() {
		// The store panicked: the query is over all the same.
		_ = recover()
		now := time.Since(r.began)
		r.a.note(journal.AgentQueryEnded{
			Agent: clip(r.a.o.Name), Outcome: string(result.Outcome), Steps: result.Steps, Calls: result.Calls,
			TokensIn: int64(result.Usage.Input), TokensCached: int64(result.Usage.Cached), TokensOut: int64(result.Usage.Output),
			PeakBytes: result.PeakMemory.Total, Duration: now,
		})
		r.result = result
		r.held.release()
		r.cancel(context.Canceled)
		r.a.dismiss(r, result.Outcome)
		close(r.done)
	}()
	result.Session = r.q.Session
	result.Steps, result.Calls = r.steps, r.calls
	_, result.PeakMemory = r.held.usage()
	r.held.mu.Lock()
	result.Usage = r.use
	r.held.mu.Unlock()
	if r.conv == nil {
		return
	}
	if err := r.close(); err != nil && result.Outcome != Failed {
		result.Outcome, result.Err = Failed, err
		result.Detail = "the conversation could not be kept: " + err.Error()
	}
}

// close closes the conversation, as it may be kept: each call has its result, and there are
// no more messages than there may be.
func (r *Run) close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("agent: the store of conversations panicked: %v", p)
		}
	}()
	settled := r.settle("Not finished: the query broke off. It may have run, or not.")
	if settled == nil {
		list := r.held.list()
		if kept := shortened(list, r.a.o.Limits.MaxHistoryMessages); len(kept) != len(list) {
			r.replace(kept)
		}
	}
	return errors.Join(settled, r.conv.Close())
}

// cancelled is the result of a query that was ended.
func (r *Run) cancelled() Result {
	cause := context.Cause(r.ctx)
	return Result{Outcome: Cancelled, Detail: why(cause, time.Since(r.began)), Err: cause}
}

// failed is the result of a query that err ended.
func (r *Run) failed(err error) Result {
	var long *tooLong
	var kept *notKept
	var model *ModelError
	switch {
	case errors.As(err, &kept):
		return Result{Outcome: Failed, Detail: err.Error(), Err: kept.err}
	case r.ctx.Err() != nil:
		return r.cancelled()
	case errors.As(err, &long):
		return Result{Outcome: ContextExceeded, Detail: err.Error(), Err: long.err}
	case errors.As(err, &model):
		return Result{Outcome: ModelFailed, Detail: err.Error(), Err: err}
	default:
		return Result{Outcome: Failed, Detail: err.Error(), Err: err}
	}
}
