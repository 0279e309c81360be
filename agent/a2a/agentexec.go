package a2a

import (
	"context"

	"github.com/plimsoll/plimsoll/agent"
)

// AgentExecutor makes an executor of an agent.
func AgentExecutor(a *agent.Agent) Executor {
	return ExecutorFunc(func(ctx context.Context, x *Exchange) error { return nil })
}
