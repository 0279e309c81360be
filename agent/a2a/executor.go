package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
)

// Executor does the work of tasks.
type Executor interface {
	// Execute answers one message. It emits events as they come. When it returns nil and the
	// task has no final state, the task is completed; an error fails it.
	Execute(ctx context.Context, x *Exchange) error
}

// Exchange is one message and the task it belongs to.
type Exchange struct {
	TaskID    sdk.TaskID
	ContextID string
	// Message is what is to be answered.
	Message *sdk.Message
	// Task is the task that Message goes on with, as it was; nil for a new one.
	Task *sdk.Task
}

// TaskInfo makes an Exchange what the constructors of the SDK's events want.
func (x *Exchange) TaskInfo() sdk.TaskInfo {
	return sdk.TaskInfo{TaskID: x.TaskID, ContextID: x.ContextID}
}

// Emit publishes an event. It never waits for a client.
func (x *Exchange) Emit(sdk.Event) error { return nil }

// AgentExecutor makes an executor of an agent.
func AgentExecutor(a *agent.Agent) Executor { return nil }
