package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/limit"
)

// Executor does the work of tasks.
type Executor interface {
	// Execute answers one message. It emits events as they come. When it returns nil and the
	// task neither ended nor waits for the client, the task is completed; an error fails it,
	// and its text is told to the client. ctx ends when the task is cancelled or the server
	// closes; nothing that a client does to its connection ends it.
	Execute(ctx context.Context, x *Exchange) error
}

// ExecutorFunc is an Executor.
type ExecutorFunc func(ctx context.Context, x *Exchange) error

// Execute calls f.
func (f ExecutorFunc) Execute(ctx context.Context, x *Exchange) error { return f(ctx, x) }

// ErrCancelled is the cause of the context of an executor whose task a client cancelled.
var ErrCancelled = errors.New("a2a: the task was cancelled by a client")

// Exchange is one message and the task it belongs to.
type Exchange struct {
	TaskID    sdk.TaskID
	ContextID string
	// Message is the message to answer.
	Message *sdk.Message
	// Metadata is the metadata of the request.
	Metadata map[string]any
	// Task is the task that Message continues, with Message in its history; nil for a new task.
	Task *sdk.Task

	run *run
}

// TaskInfo implements sdk.TaskInfoProvider, so that an Exchange can be passed to the constructors of the SDK's events.
func (x *Exchange) TaskInfo() sdk.TaskInfo {
	return sdk.TaskInfo{TaskID: x.TaskID, ContextID: x.ContextID}
}

// Emit publishes an event: a *TaskStatusUpdateEvent, a *TaskArtifactUpdateEvent, or one *Message. A message must be the first event and
// come within half a second, and is then the answer instead of a task; later it ends the task. The event must not be changed afterwards.
// Emit never waits for a client. An error means that the event is not part of the task: [ErrEnded], [ErrTooLarge], or an invalid event.
func (x *Exchange) Emit(event sdk.Event) error {
	switch e := event.(type) {
	case *sdk.TaskStatusUpdateEvent:
		if e == nil {
			return errors.New("a2a: the event is nil")
		}
		e.TaskID, e.ContextID = x.TaskID, x.ContextID
		if e.Status.Timestamp == nil {
			now := time.Now().UTC()
			e.Status.Timestamp = &now
		}
		if m := e.Status.Message; m != nil {
			m.TaskID, m.ContextID = x.TaskID, x.ContextID
		}
	case *sdk.TaskArtifactUpdateEvent:
		if e == nil || e.Artifact == nil || e.Artifact.ID == "" {
			return errors.New("a2a: the event has no artifact with an id")
		}
		e.TaskID, e.ContextID = x.TaskID, x.ContextID
		if e.Artifact.Parts == nil {
			e.Artifact.Parts = sdk.ContentParts{}
		}
	case *sdk.Message:
		if e == nil {
			return errors.New("a2a: the event is nil")
		}
		e.ContextID = x.ContextID
	default:
		return fmt.Errorf("a2a: an event of type %T is not emitted: statuses, artifacts and one message are", event)
	}
	return x.run.emit(event)
}

// Status emits a state, with a message for people unless text is "".
func (x *Exchange) Status(state sdk.TaskState, text string, metadata map[string]any) error {
	return x.Emit(statusEvent(x, state, text, metadata))
}

// question returns a message as one text for an agent. Data and text files are quoted, other files only described, so that the agent knows
// of them.
func question(m *sdk.Message) string {
	var parts []string
	for _, p := range m.Parts {
		name := "a file"
		if p.Filename != "" {
			name = fmt.Sprintf("the file %q", limit.Clip(p.Filename, maxID))
		}
		kind := p.MediaType
		kind = cmp.Or(kind, "of unknown type")
		switch c := p.Content.(type) {
		case sdk.Text:
			parts = append(parts, string(c))
		case sdk.Data:
			text, err := json.Marshal(c.Value)
			if err != nil {
				text = []byte("that can't be written as JSON")
			}
			parts = append(parts, "Data that came with the message:\n"+string(text))
		case sdk.Raw:
			if utf8.Valid(c) && (p.MediaType == "" || strings.HasPrefix(p.MediaType, "text/") || strings.HasPrefix(p.MediaType, "application/json")) {
				parts = append(parts, fmt.Sprintf("Text that came with the message as %s:\n%s", name, c))
				continue
			}
			parts = append(parts, fmt.Sprintf("[With the message came %s, %s, %d bytes. Its content can't be read here.]", name, limit.Clip(kind, 64), len(c)))
		case sdk.URL:
			parts = append(parts, fmt.Sprintf("[With the message came %s, %s, at %s. It was not fetched.]", name, limit.Clip(kind, 64), limit.Clip(string(c), int(maxURL))))
		}
	}
	return strings.Join(parts, "\n\n")
}

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
		about[metadataCall] = callMetadata(e.Call)
	case agent.EventChunk:
		text, ok := o.clipChunk(e)
		if !ok {
			return
		}
		about[metadataCall], about[metadataText] = callMetadata(&agent.Call{ID: e.Call.ID, Name: e.Call.Name}), text
	case agent.EventResult:
		delete(o.shown, e.Call.ID)
		about[metadataCall] = callMetadata(&agent.Call{ID: e.Call.ID, Name: e.Call.Name})
		if r := e.Result; r != nil {
			about[metadataResult] = map[string]any{"size": r.Size, "failed": r.Failed, "took_ms": r.Took.Milliseconds()}
		}
	default:
		e.Text = cmp.Or(e.Text, e.Err)
		about[metadataText] = limit.Clip(e.Text, maxChunk)
	}
	o.emit(statusEvent(o.x, sdk.TaskStateWorking, "", about))
}

// clipChunk returns the part of a piece of a call's output that clients get: at most maxChunk bytes of it, and maxOutput of all pieces of
// the call together. It counts what it returns. false means that clients get nothing.
func (o *answerStream) clipChunk(e agent.Event) (string, bool) {
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
	text := limit.Clip(e.Text, min(maxChunk, maxOutput-was))
	o.shown[e.Call.ID] = was + max(len(text), 1)
	if o.shown[e.Call.ID] >= maxOutput {
		text += " [more is not shown]"
	}
	return text, true
}

// callMetadata returns id, name and arguments of a call, each cut to its bound, as metadata of a status; nil for nil.
func callMetadata(c *agent.Call) map[string]any {
	if c == nil {
		return nil
	}
	out := map[string]any{"id": limit.Clip(c.ID, maxID), "name": limit.Clip(c.Name, maxID)}
	if c.Arguments != "" {
		out["arguments"] = limit.Clip(c.Arguments, maxArguments)
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
	detail := limit.Clip(r.Detail, maxChunk)
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
	detail = cmp.Or(detail, "the agent ended without an answer: "+string(r.Outcome))
	return o.x.Status(sdk.TaskStateFailed, detail, about)
}
