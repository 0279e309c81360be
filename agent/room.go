package agent

import (
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/breaker"
	"github.com/plimsoll/plimsoll/window/models"
)

// Room configures how a conversation that grows too long for its model is cut. Zero values mean the defaults, which are
// those of the proxy.
type Room struct {
	// MinMessages is the number of newest messages that are left alone while anything else can be cut (4).
	MinMessages int
	// MaxToolOutput bounds what goes to the model of one result, in bytes; its head and its tail stay. It counts for results
	// that nobody keeps: a page of one that is kept (Output.Digest) has the bound of its gateway. 0 goes by the window.
	MaxToolOutput limit.Bytes
	// WholeResults leaves results as they are: they go with their turn.
	WholeResults bool
	// AfterRefusal makes room only when the provider has refused a request as too long.
	AfterRefusal bool
	// Keep stores a result that leaves the window, of a tool, where the model can read it again, and returns in a few words how; "" when it
	// could not. nil keeps none.
	Keep func(tool, text string) string
	// Windows returns the window of the model where Limits.Window does not, and learns of refusals; nil is one of the agent's own.
	Windows *models.Resolver
	// Breaker makes the window smaller for a while after the agent ran out of memory; nil never does.
	Breaker *breaker.Breaker
}

// shareOf returns the part of each of n results of one step that goes to the model, in bytes: together not more than the window, at about
// four bytes a token, and maxStep.
func shareOf(n, window int) int {
	room := int(maxStep)
	if window > 0 {
		room = min(room, 4*window)
	}
	return max(room/n, int(minResult))
}

// roomOf returns the part of so many free tokens that each of n results of one step may take, in bytes; see [ResultRoom].
func roomOf(n, free int) limit.Bytes { return max(limit.Bytes(free/2*leastBytes/n), leastRoom) }

const (
	// leastBytes is a lower bound of the bytes in a token of what people and tools write.
	leastBytes = 2
	// leastRoom is the page that clients without a known bound get, also where less is free: room is made before the next request, and the
	// pages of one list have one size, however full the window is.
	leastRoom = limit.Bytes(10_000)
)

// resultBytes returns the bytes of a result that go to the model, of its share. A page of a result that is kept has its bound
// from where it is kept, and must not lose the note that says how to read on.
func (r Room) resultBytes(share int, out *Output) int {
	if r.MaxToolOutput > 0 && !r.WholeResults && out.Digest == "" {
		return min(share, int(r.MaxToolOutput))
	}
	return share
}
