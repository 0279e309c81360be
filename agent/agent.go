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
	// System is the system prompt. Compose, if set, returns the prompt for a query from the query's tools, and System is not used.
	System  string
	Compose func([]ToolSpec) string
	// Gate, if set, returns for the tools of a query a function that is asked before each call. If that returns a text, it is the result
	// of the call, which is not made. It is called by one goroutine at a time, in the order of the calls.
	Gate          func([]ToolSpec) func(Call) string
	Limits        Limits
	Room          Room
	Conversations Conversations // nil keeps the newest in memory: 64, and 16 MiB
	// Summarize lets the model summarise old turns that no longer fit; otherwise lines of them are chosen.
	Summarize bool
	// NoSummary drops old turns without a summary of any kind.
	NoSummary bool
	Journal   *journal.Journal // nil drops the events
	Keeper    Keeper           // gets the messages of sessions as they are appended; it may be nil
	Recaller  Recaller         // adds to questions what earlier conversations said; it may be nil
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

// New returns an agent. Its error names the option at fault.
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

// note appends an event to the journal, if there is one.
func (a *Agent) note(e journal.Event) {
	if a.o.Journal != nil {
		a.o.Journal.Append(e)
	}
}

// Query is one question.
type Query struct {
	Text string
	// Session names the conversation that the query belongs to: up to 256 bytes of any UTF-8; "" is a conversation
	// of its own that is not kept. Existing makes the query fail with [ErrNoSession] if the session does not exist or is "".
	Session  string
	Existing bool
	// Events is called for each event, in order, by one goroutine at a time. It should return soon:
	// the query waits for it. If it panics, the query ends.
	Events func(Event)
	// Tools replaces the agent's tools for this query; nil means the agent's.
	Tools Tools
}

// ErrBusy means that a query was refused because too many run or wait.
var ErrBusy = errors.New("too many queries")

// ErrClosed means that the agent was closed.
var ErrClosed = errors.New("the agent is closed")

// ErrQuestion means that a query was refused because its text is empty or too long, or the name of its session is invalid.
var ErrQuestion = errors.New("not a question that can be answered")

// check returns an [ErrQuestion] if the query is invalid.
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

// Start begins a query and returns at once. The query ends with ctx. An error means that nothing was begun: [ErrQuestion], [ErrBusy],
// [ErrClosed], [ErrNoSession], or an error of [Conversations].Open. While another query of the session runs, this one waits; then errors of
// its session are in its result.
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

// admit registers a query and queues it in its session. It returns an error when the agent is closed or too many queries run or wait.
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

// dismiss takes a query out of its session's queue, so that the next one runs, and counts its outcome. The outcome "" is not counted: the
// query was never begun. The last query of a closing agent wakes Close.
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

// Ask starts a query and waits for its result. The error is that of Start.
func (a *Agent) Ask(ctx context.Context, q Query) (Result, error) {
	run, err := a.Start(ctx, q)
	if err != nil {
		return Result{}, err
	}
	return run.Wait(), nil
}

// Limits returns the limits, with the defaults filled in.
func (a *Agent) Limits() Limits { return a.o.Limits }

// MemoryUsage returns the memory that all queries together use now.
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

// Stats are the counts of an agent. Late and Leaked also count requests to a model that ignores the end of its context.
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

// Close ends all queries and waits for them, but not for tools that do not return. It may be called more than once. Its error is nil.
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
