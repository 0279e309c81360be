package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// MetadataHops is the key of a message's metadata that counts the agents its question has come through.
const MetadataHops = "plimsoll.hops"

type hopsKey struct{}

// Hops returns the number of agents that the question of a tool's call has come through, as the message that
// [AgentExecutor] answers counts them; 0 for a question without a count.
func Hops(ctx context.Context) int {
	n, _ := ctx.Value(hopsKey{}).(int)
	return n
}

// withHops notes what a message says of them.
func withHops(ctx context.Context, m *sdk.Message) context.Context {
	if n, ok := m.Metadata[MetadataHops].(float64); ok && n >= 1 { // false for NaN
		return context.WithValue(ctx, hopsKey{}, int(min(n, 1<<20)))
	}
	return ctx
}
