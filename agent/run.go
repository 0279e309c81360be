package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Run is a query that was started.
type Run struct {
	a      *Agent
	q      Query
	ctx    context.Context
	cancel context.CancelCauseFunc
	ticket *ticket
	state  *queryState
	events emitter
	done   chan struct{}
	result Result // when done is closed

	// The fields below are used by the goroutine of the query only.
	conv    Conversation
	started time.Time
	specs   []ToolSpec
	system  string
	gate    func(Call) string
	fitter  *fitter
	lastFit fitResult // the result of the last fit
	leftOut bool      // messages were left out of the conversation
	steps   int
	calls   int
	place   int   // messages that are in the session
	usage   Usage // guarded by the lock of state
	last    Usage // of the last request that was answered
}

func newRun(ctx context.Context, a *Agent, q Query) *Run {
	r := &Run{a: a, q: q, state: newQueryState(a.o.Limits), done: make(chan struct{}), started: time.Now()}
	r.ctx, r.cancel = context.WithCancelCause(withSession(ctx, a, q.Session))
	r.events.to = q.Events
	r.events.panicked = func(err error) { r.cancel(err) }
	return r
}

// Wait waits for the end of the query and returns its result.
func (r *Run) Wait() Result {
	<-r.done
	return r.result
}

// Done returns a channel that is closed at the end of the query.
func (r *Run) Done() <-chan struct{} { return r.done }

// Cancel ends the query, without waiting for its end. Running calls get results first. cause is for Detail and Err of the result; nil means
// [context.Canceled].
func (r *Run) Cancel(cause error) { r.cancel(cause) }

// MemoryUsage returns the memory that the query uses now; zero after its end.
func (r *Run) MemoryUsage() MemoryUsage {
	now, _ := r.state.usage()
	return now
}

// StepResult returns a stored result by the id of its call, until the query ends; false if it is not stored. The newest 4 MiB of results
// are kept.
func (r *Run) StepResult(callID string) (StepResult, bool) { return r.state.findResult(callID) }

// open opens the query's conversation; one without a session is not stored.
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
		r.conv = unstored{}
		return nil
	}
	conv, err := r.a.o.Conversations.Open(r.ctx, r.q.Session, r.q.Existing)
	if err != nil {
		return err
	}
	r.conv = conv
	return nil
}

// run is the goroutine of the query. Even after a panic the query ends with a result, the conversation is in order, and the next query of
// the session runs.
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

// query waits until the query is the first of its session, and answers it.
func (r *Run) query() Result {
	select {
	case <-r.ticket.turn:
	default:
		r.a.mu.Lock()
		n := r.a.queues.ahead(r.q.Session, r.ticket)
		r.a.mu.Unlock()
		r.events.emit(Event{Kind: EventQueued, Text: fmt.Sprintf("%d of this session before this one", n)})
		select {
		case <-r.ticket.turn:
		case <-r.ctx.Done():
			return r.cancelledResult()
		}
	}
	if r.ctx.Err() != nil {
		return r.cancelledResult()
	}
	if r.conv == nil {
		if err := r.open(); err != nil {
			if r.ctx.Err() != nil {
				return r.cancelledResult()
			}
			return Result{Outcome: Failed, Detail: "the session could not be opened: " + err.Error(), Err: err}
		}
	}
	waited := time.Since(r.started)
	r.started = time.Now()
	r.a.note(journal.AgentQueryStarted{Agent: clip(r.a.o.Name), Waited: waited})
	if err := r.prepare(); err != nil {
		return r.failedResult(err)
	}
	return r.loop()
}

// prepare reads the conversation, adds results to calls that have none, appends the question, lists the tools and makes the fitter.
func (r *Run) prepare() error {
	messages := r.conv.Messages() // read once: a store may read, or copy, all of them
	r.place = len(messages)
	r.state.replace(messages)
	// A process may have died while its tools ran, or a store lost the end of the conversation. Missing results must stand
	// before the question, right behind their calls.
	if err := r.answerOpenCalls("Not finished: the program ended before this call did. It may have run, or not. Check before you repeat it."); err != nil {
		return err
	}
	if err := r.appendMessages(Message{Role: RoleUser, Text: r.question()}); err != nil {
		return err
	}
	if err := r.listTools(); err != nil {
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

// listTools lists the tools, and sets the system prompt and the gate for them. Of two tools with one name the second is left out, with a warning.
func (r *Run) listTools() (err error) {
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
	if r.a.o.Gate != nil {
		r.gate = r.a.o.Gate(r.specs)
	}
	r.system = r.a.o.System
	if r.a.o.Compose != nil {
		r.system = r.a.o.Compose(r.specs)
	}
	return nil
}

// end closes the conversation, frees the memory of the query, journals and publishes the result. Failed storage makes the outcome Failed.
func (r *Run) end(result Result) {
	defer func() {
		// Also when the store panicked the query is over.
		_ = recover()
		now := time.Since(r.started)
		r.a.note(journal.AgentQueryEnded{
			Agent: clip(r.a.o.Name), Outcome: string(result.Outcome), Steps: result.Steps, Calls: result.Calls,
			TokensIn: int64(result.Usage.Input), TokensCached: int64(result.Usage.Cached), TokensOut: int64(result.Usage.Output),
			PeakBytes: result.PeakMemory.Total, Duration: now,
		})
		r.result = result
		r.state.release()
		r.cancel(context.Canceled)
		r.a.dismiss(r, result.Outcome)
		close(r.done)
	}()
	result.Session = r.q.Session
	result.Steps, result.Calls, result.Last = r.steps, r.calls, r.last
	_, result.PeakMemory = r.state.usage()
	r.state.mu.Lock()
	result.Usage = r.usage
	r.state.mu.Unlock()
	if r.conv == nil {
		return
	}
	if err := r.close(); err != nil && result.Outcome != Failed {
		result.Outcome, result.Err = Failed, err
		result.Detail = "the conversation could not be kept: " + err.Error()
	}
}

// close gives each call without a result a failed one, cuts the messages to their bounds and closes the conversation.
func (r *Run) close() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("agent: the store of conversations panicked: %v", p)
		}
	}()
	settled := r.answerOpenCalls("Not finished: the query broke off. It may have run, or not.")
	if settled == nil {
		list := r.state.list()
		if kept := shortened(list, r.a.o.Limits.MaxHistoryMessages); len(kept) != len(list) {
			r.replace(kept)
		}
	}
	return errors.Join(settled, r.conv.Close())
}

// cancelledResult returns the result of a query whose context has ended.
func (r *Run) cancelledResult() Result {
	cause := context.Cause(r.ctx)
	return Result{Outcome: Cancelled, Detail: endReason(cause, time.Since(r.started)), Err: cause}
}

// failedResult returns the result of a query that was ended by err.
func (r *Run) failedResult(err error) Result {
	var long *tooLong
	var kept *notKept
	var model *ModelError
	switch {
	case errors.As(err, &kept):
		return Result{Outcome: Failed, Detail: err.Error(), Err: kept.err}
	case r.ctx.Err() != nil:
		return r.cancelledResult()
	case errors.As(err, &long):
		return Result{Outcome: ContextExceeded, Detail: err.Error(), Err: long.err}
	case errors.As(err, &model):
		return Result{Outcome: ModelFailed, Detail: err.Error(), Err: err}
	default:
		return Result{Outcome: Failed, Detail: err.Error(), Err: err}
	}
}

// Outcome is the end of a query.
type Outcome string

// The outcomes.
const (
	Completed       Outcome = "completed"
	StepLimit       Outcome = "step-limit"       // a limit was used up: answered without tools, or the answer is cut
	LoopDetected    Outcome = "loop-detected"    // the model repeated itself, also when told
	Cancelled       Outcome = "cancelled"        // by the caller, by a deadline, by the end of the agent
	ContextExceeded Outcome = "context-exceeded" // more than the window takes, whatever is left out
	ModelFailed     Outcome = "model-error"      // the model did not answer
	Failed          Outcome = "failed"           // another part failed: the conversation could not be kept, or the tools not be listed
)

// Result is the outcome of a query, with its answer and what it took.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Answer is the model's last text, as far as it came.
	Answer  string `json:"answer"`
	Session string `json:"session,omitempty"`
	Steps   int    `json:"steps"` // requests to the model, those that were made again counted once
	Calls   int    `json:"calls"` // of tools that were begun
	Usage   Usage  `json:"usage"` // of all requests together
	// Last is the usage of the last request that was answered: what the next one of the session begins with.
	Last Usage `json:"-"`
	// Detail explains for people why the query did not complete; "" when Completed.
	Detail string `json:"detail,omitempty"`
	// Err is the cause of ModelFailed (a *ModelError), ContextExceeded (a *TooLargeError, or a *ModelError if the provider kept
	// refusing), Cancelled or Failed; else nil. After Failed it may be nil too.
	Err        error       `json:"-"`
	PeakMemory MemoryUsage `json:"peak_memory"`
}

// StepResult is the stored result of a call: at most MaxStepResult bytes.
type StepResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Text ends in "[truncated]", within the bound, if the result was longer. Binary data
	// is described in words.
	Text string `json:"text"`
	// Size is the size of the tool's whole output, in bytes.
	Size      int64         `json:"size"`
	Truncated bool          `json:"truncated,omitempty"`
	Failed    bool          `json:"failed,omitempty"`
	Took      time.Duration `json:"-"`
}

// MarshalJSON implements json.Marshaler. It writes Took as took_ms, in milliseconds.
func (s StepResult) MarshalJSON() ([]byte, error) {
	type plain StepResult // without this method
	return json.Marshal(struct {
		plain
		TookMS int64 `json:"took_ms"`
	}{plain(s), s.Took.Milliseconds()})
}
