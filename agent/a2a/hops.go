package a2a

import (
	"context"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// MetadataHops is the key in a message's metadata for the number of agents that its question has passed through.
const MetadataHops = "plimsoll.hops"

type hopsKey struct{}

// Hops returns the number of agents that a question has passed through, from the context of a call that [AgentExecutor] makes; 0 if the
// message had no count.
func Hops(ctx context.Context) int {
	n, _ := ctx.Value(hopsKey{}).(int)
	return n
}

// withHops returns ctx with the count in the message's metadata, if there is one, for [Hops].
func withHops(ctx context.Context, m *sdk.Message) context.Context {
	if n, ok := m.Metadata[MetadataHops].(float64); ok && n >= 1 { // false for NaN
		return context.WithValue(ctx, hopsKey{}, int(min(n, 1<<20)))
	}
	return ctx
}
