package agents

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// Event is one thing that happened while an agent worked.
type Event = agent.Event

// AskOptions are the options of `plimsoll ask` besides the configuration.
type AskOptions struct {
	AgentOptions
	// Question is the text to ask. Required.
	Question string
	// Session is the conversation to continue or begin; "" stores nothing. Existing
	// requires that it exists.
	Session  string
	Existing bool
	// Events is called for each event, in order, and Begun before that with the agent that is asked. Both may be nil.
	Events func(Event)
	Begun  func(AskedAgent)
	// MaxSteps bounds the requests to the model; 0 means the configured number.
	MaxSteps int
}

// AskedAgent identifies the agent that is asked.
type AskedAgent struct {
	Agent   string `json:"agent"`
	Model   string `json:"model"`
	Standin bool   `json:"standin"` // the model is not a real one
}

// AskedCall is one call of a tool that an answer took.
type AskedCall struct {
	Name      string        `json:"name"`
	Arguments string        `json:"arguments"`
	Bytes     int64         `json:"bytes"` // of the tool's whole output
	Failed    bool          `json:"failed"`
	Took      time.Duration `json:"-"`
	TookMS    int64         `json:"duration_ms"`
}

// AskReport is the outcome of a question.
type AskReport struct {
	AskedAgent
	agent.Result
	ToolCalls []AskedCall `json:"tool_calls"`
	MoreCalls int         `json:"more_calls,omitempty"` // beyond those that are listed
	// LargeResults are the results of more than 100 KiB as their servers sent them, the first 64.
	LargeResults []mcp.LargeResult `json:"large_results,omitempty"`
	Error        string            `json:"error,omitempty"`
	DurationMS   int64             `json:"duration_ms"`
	signal       int               // the signal that cancelled the question; 0 if none did
}

// Answered reports whether there is an answer. One that a limit has cut counts; Outcome and Detail say so.
func (r AskReport) Answered() bool {
	return r.Answer != "" && (r.Outcome == agent.Completed || r.Outcome == agent.StepLimit)
}

// Status returns the exit status: 0 with an answer, 128+N when signal N cancelled the question, else 1.
func (r AskReport) Status() int {
	switch {
	case r.Answered():
		return 0
	case r.signal != 0:
		return 128 + r.signal
	}
	return 1
}

// maxAskedCalls bounds the calls that a report lists.
const maxAskedCalls = 256

// Ask asks an agent one question. The error says why it could not be asked; the outcome of the question is in the report.
func Ask(ctx context.Context, app *core.Core, o AskOptions) (AskReport, error) {
	if strings.TrimSpace(o.Question) == "" {
		return AskReport{}, errors.New(`there is no question; write it as in: plimsoll ask "which applications are degraded?"`)
	}
	ctx, stop := core.Interruptible(ctx, 0)
	defer stop()
	o.forgets = o.Session == ""
	o.typed = core.AtTerminal()
	c, err := openChat(ctx, app, o.AgentOptions, o.MaxSteps, runs.KindAsk)
	if err != nil {
		return AskReport{}, err
	}
	// There is an answer by then, which an error would take away.
	defer func() {
		if err := c.Close(); err != nil {
			app.Warn(err.Error())
		}
	}()
	if o.Begun != nil {
		o.Begun(c.AskedAgent)
	}
	return c.askAgent(ctx, agent.Query{Text: o.Question, Session: o.Session, Existing: o.Existing, Events: o.Events})
}
