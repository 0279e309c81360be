package a2a

import (
	"context"
	"errors"
	"fmt"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
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
