package agent

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Outcome is how a query ended.
type Outcome string

// The outcomes.
const (
	Completed       Outcome = "completed"
	StepLimit       Outcome = "step-limit"       // answered without tools, because the steps were used up
	LoopDetected    Outcome = "loop-detected"    // the model repeated itself, also when told
	Cancelled       Outcome = "cancelled"        // by the caller, by a deadline, by the end of the agent
	ContextExceeded Outcome = "context-exceeded" // more than the window takes, whatever is left out
	ModelFailed     Outcome = "model-error"      // the model did not answer
	Failed          Outcome = "failed"           // what is around the model failed: the conversation could not be kept, the tools not be listed
)

// Limits bound a query. Zero values mean the defaults.
type Limits struct {
	MaxSteps           int           // requests to the model (20); the last one is without tools
	MaxHistoryMessages int           // messages of a conversation (40), in whole turns
	MaxStepResult      limit.Bytes   // of a stored result (8192)
	CallHistory        int           // calls remembered for loops (10)
	Identical          int           // calls in a row that are a loop (4)
	Window             int           // tokens; 0 goes by the model
	MaxOutput          int           // tokens of one answer; 0 goes by the model
	Trigger, Target    float64       // of the window: when room is made and how much (0.8, 0.5)
	MaxQuestion        limit.Bytes   // (1 MiB)
	MaxAnswer          limit.Bytes   // of all parts of an answer (256 KiB)
	MaxParts           int           // requests for the rest of an answer that the output limit cut (4)
	MaxCalls           int           // calls in one step (128); more are answered with an error
	MaxParallel        int           // calls of one step that run at once (8)
	ToolTimeout        time.Duration // of one call (2 min)
	ModelTimeout       time.Duration // of one request (10 min)
	MaxTries           int           // of one request to the model (4)
	MaxQueries         int           // at once (64); one more is refused
	MaxWaiting         int           // of one session (4); one more is refused
}

// Options configure an Agent. Model is required.
type Options struct {
	Name  string
	Model Model
	Tools Tools
	// System is the system prompt; Compose, when it is there, makes it of the tools of each query.
	System        string
	Compose       func([]ToolSpec) string
	Limits        Limits
	Conversations Conversations
	// Summarize lets the model sum up what no longer fits; else it is shortened without.
	Summarize bool
	Journal   *journal.Journal
}

// Agent answers queries within its limits. Its methods may be called from any goroutine.
type Agent struct{ o Options }

// New makes an agent.
func New(o Options) (*Agent, error) { return &Agent{o: o}, nil }

// Query is one question.
type Query struct {
	Text string
	// Session is the conversation that it belongs to; "" is one of its own that is not kept.
	// Existing demands that it exists.
	Session  string
	Existing bool
	// Events gets what happens, in order, by one goroutine at a time; it should return soon.
	Events func(Event)
	// Tools stands in the place of the agent's for this query.
	Tools Tools
}

// Result is what came of a query.
type Result struct {
	Outcome Outcome `json:"outcome"`
	Answer  string  `json:"answer"`
	Session string  `json:"session,omitempty"`
	Steps   int     `json:"steps"`
	Calls   int     `json:"calls"`
	Usage   Usage   `json:"usage"`
	// Detail says what was in the way, for people; "" when Completed.
	Detail string `json:"detail,omitempty"`
	// Err is the cause of ModelFailed (*ModelError), ContextExceeded, Cancelled.
	Err        error       `json:"-"`
	PeakMemory MemoryUsage `json:"peak_memory"`
}

// MemoryUsage is the bytes that running queries hold.
type MemoryUsage struct {
	Messages    int64 `json:"messages"`
	StepResults int64 `json:"step_results"`
	CallHistory int64 `json:"call_history"`
	Total       int64 `json:"total"`
}

// StepResult is the stored result of a call: at most MaxStepResult bytes.
type StepResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Text ends in "[truncated]", inside the cap, when there was more; Size is how much.
	Text      string        `json:"text"`
	Size      int64         `json:"size"`
	Truncated bool          `json:"truncated,omitempty"`
	Failed    bool          `json:"failed,omitempty"`
	Took      time.Duration `json:"took_ns"`
}

// ErrBusy says that a query was refused because too many run or wait.
var ErrBusy = errors.New("too many queries")

// ErrClosed says that the agent was closed.
var ErrClosed = errors.New("the agent is closed")

// Run is a query that runs.
type Run struct{}

// Start begins a query. ctx ends it. An error means that nothing was begun.
func (a *Agent) Start(ctx context.Context, q Query) (*Run, error) { return nil, ErrClosed }

// Ask is Start and Wait.
func (a *Agent) Ask(ctx context.Context, q Query) (Result, error) {
	run, err := a.Start(ctx, q)
	if err != nil {
		return Result{}, err
	}
	return run.Wait(), nil
}

// Wait waits for the end.
func (r *Run) Wait() Result { return Result{} }

// Cancel ends the query. What waits for tools gets results first.
func (r *Run) Cancel(cause error) {}

// MemoryUsage tells what the query holds now; 0 after its end.
func (r *Run) MemoryUsage() MemoryUsage { return MemoryUsage{} }

// StepResult finds a stored result by the id of its call, while the query lives.
func (r *Run) StepResult(callID string) (StepResult, bool) { return StepResult{}, false }

// MemoryUsage tells what all running queries hold.
func (a *Agent) MemoryUsage() MemoryUsage { return MemoryUsage{} }

// Stats counts.
type Stats struct {
	Running, Waiting int
	Queries          int64
	Outcomes         map[Outcome]int64
	Calls            int64
	Late             int64 // tools that returned after their call was given up
	Leaked           int64 // of those, how many still run
}

// Stats tells the counts since New.
func (a *Agent) Stats() Stats { return Stats{} }

// Close ends all queries, and waits for them.
func (a *Agent) Close() error { return nil }
