package a2a

import (
	"context"
	"errors"
	"maps"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
)

// The keys of what an agent tells in the metadata of statuses. A status of a state that
// the task has already is news of the work.
const (
	metadataEvent  = "plimsoll.event"  // an agent.EventKind
	metadataStep   = "plimsoll.step"   // a number
	metadataText   = "plimsoll.text"   // a piece of output, or what there is to say
	metadataCall   = "plimsoll.call"   // {"id","name","arguments"}
	metadataResult = "plimsoll.result" // {"size","failed","took_ms"}
	metadataSteps  = "plimsoll.steps"  // of the last status: how many
	metadataCalls  = "plimsoll.calls"  // likewise
	metadataUsage  = "plimsoll.usage"  // {"input","cached","output"}, in tokens
)

// What of a call goes to clients: that it happens, and the beginning of what it gives.
const (
	maxArguments = 2 << 10  // of one call, in bytes
	maxChunk     = 4 << 10  // of one piece of output
	maxOutput    = 16 << 10 // of one call's output
)

// AgentExecutor makes an executor of an agent. The context id is the session, so a
// conversation goes on over tasks. The answer is one artifact that is streamed in pieces;
// calls of tools are statuses with metadata. The last status has the outcome in its
// metadata, as plimsoll.outcome.
func AgentExecutor(a *agent.Agent) Executor {
	return ExecutorFunc(func(ctx context.Context, x *Exchange) error {
		if err := x.Status(sdk.TaskStateWorking, "", nil); err != nil {
			return err
		}
		out := &answerStream{x: x, id: sdk.NewArtifactID(), anew: true}
		run, err := a.Start(withHops(ctx, x.Message), agent.Query{Text: question(x.Message), Session: x.ContextID, Events: out.event})
		switch {
		case errors.Is(err, agent.ErrBusy):
			return x.Status(sdk.TaskStateRejected, err.Error()+": ask again later", map[string]any{metadataOutcome: "busy"})
		case errors.Is(err, agent.ErrQuestion):
			return x.Status(sdk.TaskStateRejected, err.Error(), map[string]any{metadataOutcome: "question"})
		case err != nil:
			return err
		}
		return out.setFinalState(ctx, run.Wait())
	})
}

// event reports an event of a query to the clients.
func (o *answerStream) event(e agent.Event) {
	about := map[string]any{metadataEvent: string(e.Kind)}
	switch e.Kind {
	case agent.EventText:
		o.write(e.Text)
		return
	case agent.EventStep:
		o.step()
		about[metadataStep] = e.Step
	case agent.EventDiscarded:
		o.discard()
		return
	case agent.EventCall:
		o.flush(false)
		o.called = true
		about[metadataCall] = callOf(e.Call)
	case agent.EventChunk:
		text, ok := o.chunk(e)
		if !ok {
			return
		}
		about[metadataCall], about[metadataText] = callOf(&agent.Call{ID: e.Call.ID, Name: e.Call.Name}), text
	case agent.EventResult:
		delete(o.shown, e.Call.ID)
		about[metadataCall] = callOf(&agent.Call{ID: e.Call.ID, Name: e.Call.Name})
		if r := e.Result; r != nil {
			about[metadataResult] = map[string]any{"size": r.Size, "failed": r.Failed, "took_ms": r.Took.Milliseconds()}
		}
	default:
		if e.Text == "" {
			e.Text = e.Err
		}
		about[metadataText] = clipText(e.Text, maxChunk)
	}
	o.emit(statusEvent(o.x, sdk.TaskStateWorking, "", about))
}

// chunk bounds how much of a call's output clients are shown.
func (o *answerStream) chunk(e agent.Event) (string, bool) {
	if e.Call == nil {
		return "", false
	}
	if o.shown == nil {
		o.shown = map[string]int{}
	}
	was := o.shown[e.Call.ID]
	if was >= maxOutput {
		return "", false
	}
	text := clipText(e.Text, min(maxChunk, maxOutput-was))
	o.shown[e.Call.ID] = was + max(len(text), 1)
	if o.shown[e.Call.ID] >= maxOutput {
		text += " [more is not shown]"
	}
	return text, true
}

func callOf(c *agent.Call) map[string]any {
	if c == nil {
		return nil
	}
	out := map[string]any{"id": clipText(c.ID, maxID), "name": clipText(c.Name, maxID)}
	if c.Arguments != "" {
		out["arguments"] = clipText(c.Arguments, maxArguments)
	}
	return out
}

// setFinalState gives the task the state for a result.
func (o *answerStream) setFinalState(ctx context.Context, r agent.Result) error {
	o.finish(r)
	if o.err != nil {
		return o.err
	}
	about := map[string]any{
		metadataOutcome: string(r.Outcome), metadataSteps: r.Steps, metadataCalls: r.Calls,
		metadataUsage: map[string]any{"input": r.Usage.Input, "cached": r.Usage.Cached, "output": r.Usage.Output},
	}
	detail := clipText(r.Detail, maxChunk)
	switch r.Outcome {
	case agent.Completed, agent.StepLimit:
		return o.x.Status(sdk.TaskStateCompleted, detail, about)
	case agent.Cancelled:
		if errors.Is(context.Cause(ctx), ErrCancelled) {
			return o.x.Status(sdk.TaskStateCanceled, detail, about)
		}
		if errors.Is(context.Cause(ctx), errShutdown) {
			about = maps.Clone(about)
			about[metadataOutcome] = outcomeShutdown
			detail = "the agent was stopped before it could answer; ask again"
		}
	}
	if detail == "" {
		detail = "the agent ended without an answer: " + string(r.Outcome)
	}
	return o.x.Status(sdk.TaskStateFailed, detail, about)
}
