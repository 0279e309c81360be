package a2a

import (
	"context"
	"errors"
	"maps"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
)

// Keys in the metadata of statuses, by which an agent reports on its work. A status whose state
// the task has already carries nothing but such a report.
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

// Bounds of the reports about a call, of which clients get the arguments and the beginning of the output.
const (
	maxArguments = 2 << 10  // of one call, in bytes
	maxChunk     = 4 << 10  // of one piece of output
	maxOutput    = 16 << 10 // of one call's output
)

// AgentExecutor returns an executor that lets an agent answer. The context id of a task names the agent's session, so a conversation goes
// on over several tasks. The answer is one artifact, streamed in pieces; calls of tools are statuses with metadata. The last status has the
// outcome in its metadata, as plimsoll.outcome.
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

// event sends an event of a query to the clients: text into the artifact, all else as the metadata of a status.
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

// chunk returns the part of a piece of a call's output that clients get: at most maxChunk bytes of it, and maxOutput of the call. It
// returns false when clients get nothing of it.
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

// setFinalState finishes the artifact and sends the last status, by the outcome of the result.
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
