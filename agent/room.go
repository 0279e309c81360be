package agent

import (
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
)

// Room configures how a conversation that is too long for its model is cut. Zero values mean the defaults, which are those of the proxy.
type Room struct {
	// MinMessages is the number of newest messages that are left alone while anything else can be cut (4).
	MinMessages int
	// MaxToolOutput bounds what goes to the model of one result, in bytes; its head and its tail stay. It counts for results
	// that nobody keeps: a page of one that is kept (Output.Digest) has the bound of its gateway. 0 goes by the window.
	MaxToolOutput limit.Bytes
	// WholeResults never shortens results: they are only dropped with their turn.
	WholeResults bool
	// AfterRefusal makes room only after the provider has refused a request as too long.
	AfterRefusal bool
	// Keep stores the text of a tool's result that leaves the window where the model can read it again, and returns how in a few words, or
	// "" if it could not be stored. nil keeps none.
	Keep func(tool, text string) string
	// Windows returns the window of the model where Limits.Window does not, and learns of refusals; nil is one of the agent's own.
	Windows *models.Resolver
	// Breaker makes the window smaller for a while after the agent ran out of memory; nil never does.
	Breaker *breaker.Breaker
}

// shareOf returns how many bytes of each of n results of one step the model gets: at least minResult, and otherwise all together at most
// maxStep and, at four bytes a token, the window. window is in tokens, 0 if not known.
func shareOf(n, window int) int {
	room := int(maxStep)
	if window > 0 {
		room = min(room, 4*window)
	}
	return max(room/n, int(minResult))
}

// roomOf returns how many bytes each of n results of one step may take of free tokens; see [ResultRoom]. It is at least leastRoom.
func roomOf(n, free int) limit.Bytes { return max(limit.Bytes(free/2*leastBytes/n), leastRoom) }

const (
	// leastBytes is a lower bound of the bytes in a token of what people and tools write.
	leastBytes = 2
	// leastRoom is the page that clients without a known bound get, also where less is free: room is made before the next request, and the
	// pages of one list have one size, however full the window is.
	leastRoom = limit.Bytes(10_000)
)

// resultBytes returns how many bytes of a result the model gets; share is its part of the step. A page of a kept result, which has a
// Digest, is not bounded by MaxToolOutput, because it must not lose the note that says how to read on.
func (r Room) resultBytes(share int, out *Output) int {
	if r.MaxToolOutput > 0 && !r.WholeResults && out.Digest == "" {
		return min(share, int(r.MaxToolOutput))
	}
	return share
}
