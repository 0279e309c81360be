package agent

import (
	"cmp"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
)

// Limits bound a query. Zero values mean the defaults, which stand in parentheses.
type Limits struct {
	MaxSteps           int           // requests to the model (20); the last one is without tools
	MaxHistoryMessages int           // messages of a conversation (40), in whole turns
	MaxStepResult      limit.Bytes   // of a stored result (8192); at least 64
	CallHistory        int           // calls remembered for loops (10)
	Identical          int           // equal calls among those that are a loop (4)
	Window             int           // tokens; 0 goes by the model
	MaxOutput          int           // tokens of one answer; 0 goes by the model
	Trigger, Target    float64       // of the room for input: at which share room is made, and the share left then (0.8, and 0.2 or a quarter of a lower Trigger)
	MaxQuestion        limit.Bytes   // (1 MiB)
	MaxAnswer          limit.Bytes   // of all parts of an answer (256 KiB)
	MaxParts           int           // requests for the rest of an answer that the output limit cut (4)
	MaxCalls           int           // calls in one step (128); more are answered with an error
	MaxParallel        int           // calls of one step that run at once (8)
	ToolTimeout        time.Duration // of one call (2 min)
	ModelTimeout       time.Duration // of one request (10 min)
	MaxTries           int           // of one request to the model (4)
	MaxQueries         int           // that run or wait (64); one more is refused
	MaxWaiting         int           // of one session (4); one more is refused
}

// Bounds that are not configured: each is far beyond what a query in order needs.
const (
	// maxSession bounds the name of a session, in bytes.
	maxSession = 256
	// minStepResult holds the marker of a cut and a few words.
	minStepResult = 64
	// maxResults bounds the step results that a query keeps, in bytes; the oldest are dropped.
	maxResults = 4 * limit.MiB
	// maxHistory bounds the bytes of a conversation. Over it old turns are dropped, as over
	// MaxHistoryMessages.
	maxHistory = 2 * limit.MiB
	// maxArguments bounds the arguments of all calls of one step, and maxOpaque the Opaque of
	// one message, in bytes.
	maxArguments = limit.MiB
	maxOpaque    = 2 * limit.MiB
	// minResult and maxStep bound what the model gets of the results of one step: all
	// together maxStep (less for a small window), and minResult of each in any case.
	minResult = 16 * limit.KiB
	maxStep   = limit.MiB
	// maxPiece bounds the text of one event.
	maxPiece = 8 * limit.KiB
	// maxAbandoned bounds the abandoned calls that still run: of all tools, and of one.
	maxAbandoned     = 128
	maxAbandonedTool = 16
	// leakGrace is the time for a tool to return after its context ended.
	leakGrace = 5 * time.Second
	// listTimeout bounds the listing of tools.
	listTimeout = time.Minute
	// maxRefits bounds the times that a request is made smaller because the provider finds it too long.
	maxRefits = 3
)

// withDefaults returns the limits with the defaults filled in. Its error names a limit that is invalid.
func (l Limits) withDefaults() (Limits, error) {
	for _, n := range []struct {
		name  string
		value *int
		or    int
	}{
		{"MaxSteps", &l.MaxSteps, 20},
		{"MaxHistoryMessages", &l.MaxHistoryMessages, 40},
		{"CallHistory", &l.CallHistory, 10},
		{"Identical", &l.Identical, 4},
		{"Window", &l.Window, 0},
		{"MaxOutput", &l.MaxOutput, 0},
		{"MaxParts", &l.MaxParts, 4},
		{"MaxCalls", &l.MaxCalls, 128},
		{"MaxParallel", &l.MaxParallel, 8},
		{"MaxTries", &l.MaxTries, 4},
		{"MaxQueries", &l.MaxQueries, 64},
		{"MaxWaiting", &l.MaxWaiting, 4},
	} {
		if *n.value < 0 {
			return l, fmt.Errorf("agent: Limits.%s is %d; it must be positive, or 0 for %d", n.name, *n.value, n.or)
		}
		*n.value = cmp.Or(*n.value, n.or)
	}
	for _, b := range []struct {
		name        string
		value       *limit.Bytes
		or, minimum limit.Bytes
	}{
		{"MaxStepResult", &l.MaxStepResult, 8192, minStepResult},
		{"MaxQuestion", &l.MaxQuestion, limit.MiB, 1},
		{"MaxAnswer", &l.MaxAnswer, 256 * limit.KiB, 1},
	} {
		*b.value = cmp.Or(*b.value, b.or)
		if *b.value < b.minimum {
			return l, fmt.Errorf("agent: Limits.%s is %d bytes; it must be at least %d, or 0 for %d", b.name, *b.value, b.minimum, b.or)
		}
	}
	for _, d := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"ToolTimeout", &l.ToolTimeout, 2 * time.Minute},
		{"ModelTimeout", &l.ModelTimeout, 10 * time.Minute},
	} {
		if *d.value < 0 {
			return l, fmt.Errorf("agent: Limits.%s is %v; it must be positive, or 0 for %v", d.name, *d.value, d.or)
		}
		*d.value = cmp.Or(*d.value, d.or)
	}
	l.Trigger = cmp.Or(l.Trigger, fit.DefaultTrigger)
	if l.Target == 0 {
		l.Target = fit.AutoTarget(l.Trigger)
	}
	if !(l.Target > 0 && l.Target <= l.Trigger && l.Trigger <= 1) {
		return l, fmt.Errorf("agent: Limits.Target is %v and Trigger %v; it must be 0 < Target <= Trigger <= 1", l.Target, l.Trigger)
	}
	return l, nil
}

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
