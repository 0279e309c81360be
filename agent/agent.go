package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/journal"
)

// Options configure an Agent. Model is required.
type Options struct {
	Name  string
	Model Model
	// Tools are the tools that the model may call; nil is none.
	Tools Tools
	// System is the system prompt; Compose, when it is there, makes it of the tools of each query.
	System  string
	Compose func([]ToolSpec) string
	// Gate, when it is there, makes what is asked before each call of a query that has these tools. A text of it is the call's result,
	// and the call is not made. It is asked by one goroutine at a time, for calls in their order.
	Gate          func([]ToolSpec) func(Call) string
	Limits        Limits
	Room          Room
	Conversations Conversations // nil keeps the newest in memory: 64, and 16 MiB
	// Summarize lets the model sum up what no longer fits; else it is shortened without.
	Summarize bool
	// NoSummary leaves old turns out without a summary of any kind.
	NoSummary bool
	Journal   *journal.Journal // nil drops the events
	Keeper    Keeper           // is given what is said, as it is said; nil is given nothing
}

// Agent answers queries within its limits. Its methods may be called from any goroutine.
type Agent struct {
	o         Options
	core      *core
	abandoned abandonedCalls
	closed    chan struct{} // when the last query is over

	mu       sync.Mutex
	ending   bool
	runs     map[*Run]struct{}
	queues   sessionQueues
	queries  int64
	calls    int64
	outcomes map[Outcome]int64
}

// New makes an agent. Its error names the option at fault.
func New(o Options) (*Agent, error) {
	if o.Model == nil {
		return nil, errors.New("agent: Options.Model is nil; packages agent/openai and agent/anthropic make one")
	}
	var err error
	if o.Limits, err = o.Limits.withDefaults(); err != nil {
		return nil, err
	}
	if o.Conversations == nil {
		o.Conversations = newMemory(o.Name, o.Journal)
	}
	a := &Agent{
		o: o, core: newCore(o.Model.Info(), o.Limits, o.Room), closed: make(chan struct{}), runs: map[*Run]struct{}{}, queues: sessionQueues{},
		outcomes: map[Outcome]int64{},
	}
	a.core.noSummary = o.NoSummary
	a.core.encoder, _ = o.Model.(Encoder)
	a.core.note = a.note
	a.abandoned.leaked = func(tool string, still int) {
		a.note(journal.AgentCallLeaked{Agent: clip(o.Name), Tool: clip(tool), Still: still})
	}
	return a, nil
}

// note writes an event.
func (a *Agent) note(e journal.Event) {
	if a.o.Journal != nil {
		a.o.Journal.Append(e)
	}
}

// Query is one question.
type Query struct {
	Text string
	// Session is the conversation that it belongs to: up to 256 bytes of any UTF-8; "" is one
	// of its own that is not kept. Existing demands that it exists.
	Session  string
	Existing bool
	// Events gets what happens, in order, by one goroutine at a time; it should return soon:
	// the query waits for it. When it panics the query ends.
	Events func(Event)
	// Tools stands in the place of the agent's for this query.
	Tools Tools
}

// ErrBusy reports that a query was refused because too many run or wait.
var ErrBusy = errors.New("too many queries")

// ErrClosed reports that the agent was closed.
var ErrClosed = errors.New("the agent is closed")

// ErrQuestion reports that a query was refused for what is in it: no text or too much, or a
// name of a session that is none.
var ErrQuestion = errors.New("not a question that can be answered")

// check returns the error of a query that cannot be run.
func (q *Query) check(l Limits) error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return fmt.Errorf("%w: it is empty", ErrQuestion)
	case int64(len(q.Text)) > int64(l.MaxQuestion):
		return fmt.Errorf("%w: it has %d bytes, more than %d; shorten it, or put the text where a tool can read it", ErrQuestion, len(q.Text), l.MaxQuestion)
	case len(q.Session) > maxSession:
		return fmt.Errorf("%w: the name of the session has %d bytes, more than %d", ErrQuestion, len(q.Session), maxSession)
	case !utf8.ValidString(q.Session):
		return fmt.Errorf("%w: the name of the session, %q, is not UTF-8", ErrQuestion, q.Session)
	}
	return nil
}

// Start begins a query. ctx ends it. An error means that nothing was begun: [ErrQuestion],
// [ErrBusy], [ErrClosed], [ErrNoSession], or what [Conversations].Open has to say. While
// another query of the session runs this one waits, after it was started.
func (a *Agent) Start(ctx context.Context, q Query) (*Run, error) {
	if err := q.check(a.o.Limits); err != nil {
		a.note(journal.AgentQueryRefused{Agent: clip(a.o.Name), Why: "question"})
		return nil, err
	}
	q.Text = strings.ToValidUTF8(q.Text, "\uFFFD")
	if q.Tools == nil {
		q.Tools = a.o.Tools
	}
	r := newRun(ctx, a, q)
	if err := a.admit(r); err != nil {
		r.cancel(err)
		return nil, err
	}
	select {
	case <-r.ticket.turn:
		if err := r.open(); err != nil {
			r.cancel(err)
			a.dismiss(r, "")
			return nil, err
		}
	default:
	}
	go r.run()
	return r, nil
}

// admit counts a query in, and puts it into the line of its session.
func (a *Agent) admit(r *Run) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ending:
		return ErrClosed
	case len(a.runs) >= a.o.Limits.MaxQueries:
		a.note(journal.AgentQueryRefused{Agent: clip(a.o.Name), Why: "queries"})
		return fmt.Errorf("%w: %d run or wait (max_queries); ask again when one has ended", ErrBusy, len(a.runs))
	}
	if r.q.Session == "" {
		r.ticket = &ticket{turn: make(chan struct{})}
		close(r.ticket.turn)
	} else if r.ticket = a.queues.join(r.q.Session, a.o.Limits.MaxWaiting); r.ticket == nil {
		a.note(journal.AgentQueryRefused{Agent: clip(a.o.Name), Why: "waiting"})
		return fmt.Errorf("%w: %d wait for session %q already; ask again when one has ended", ErrBusy, a.o.Limits.MaxWaiting, r.q.Session)
	}
	a.runs[r] = struct{}{}
	return nil
}

// dismiss takes a query out; "" is the outcome of one that was never begun.
func (a *Agent) dismiss(r *Run, outcome Outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queues.leave(r.q.Session, r.ticket)
	delete(a.runs, r)
	if outcome != "" {
		a.queries++
		a.outcomes[outcome]++
	}
	if a.ending && len(a.runs) == 0 {
		close(a.closed)
	}
}

// Ask calls Start and Wait.
func (a *Agent) Ask(ctx context.Context, q Query) (Result, error) {
	run, err := a.Start(ctx, q)
	if err != nil {
		return Result{}, err
	}
	return run.Wait(), nil
}

// Limits returns the limits, with the defaults filled in.
func (a *Agent) Limits() Limits { return a.o.Limits }

// MemoryUsage returns the memory of all running queries.
func (a *Agent) MemoryUsage() MemoryUsage {
	a.mu.Lock()
	defer a.mu.Unlock()
	var sum MemoryUsage
	for r := range a.runs {
		now, _ := r.state.usage()
		sum.add(now)
	}
	return sum
}

// Stats counts. Late and Leaked are of tools, and of requests to the model that do not heed
// the end of their context.
type Stats struct {
	Running, Waiting int
	Queries          int64 // that ended
	Outcomes         map[Outcome]int64
	Calls            int64 // of tools that were begun
	Late             int64 // tools that returned after their call was given up
	Leaked           int64 // tools whose call was given up and that still run
}

// Stats returns the counts since New.
func (a *Agent) Stats() Stats {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Stats{Queries: a.queries, Calls: a.calls, Outcomes: maps.Clone(a.outcomes)}
	for r := range a.runs {
		select {
		case <-r.ticket.turn:
			s.Running++
		default:
			s.Waiting++
		}
	}
	s.Late, s.Leaked = a.abandoned.counts()
	return s
}

// Close ends all queries, and waits for them; tools that do not return are not waited for.
// It may be called more than once.
func (a *Agent) Close() error {
	a.mu.Lock()
	if !a.ending {
		a.ending = true
		if len(a.runs) == 0 {
			close(a.closed)
		}
	}
	for r := range a.runs {
		r.cancel(ErrClosed)
	}
	a.mu.Unlock()
	<-a.closed
	return nil
}

// countCall counts a call.
func (a *Agent) countCall() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
}
