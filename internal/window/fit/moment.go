package fit

import "github.com/plimsoll/plimsoll/window/tokens"

// A Moment holds the circumstances for or against a cut in one request.
type Moment struct {
	// Warm is true when the provider's cache has the beginning of the conversation: to change it costs that it is written again.
	Warm bool
	// Cold is true when the cache has expired: the beginning is written again whatever is done.
	Cold bool
	// First is true when the model has not begun to work on the newest prompt: no thoughts stand between it and the cut.
	First bool
}

// A Verdict is the decision on a cut.
type Verdict uint8

// The verdicts.
const (
	NotDue  Verdict = iota // there is room
	Waits                  // it is advisable, and waits for a better moment
	Due                    // it is made now
	DueCold                // it is nearly due, and costs nothing more than it does anyway
)

const (
	// nearShare is the part of the trigger from which on a cut is nearly due: a sixth of the trigger later it would be made in a warm cache.
	nearShare = 0.85
	// fullShare is the part of the room over which no cut waits: one more large result, and it would have to be made in the middle of a turn
	// with less to choose from.
	fullShare = 0.95
)

// Full reports whether a cut is necessary in a request that counts in.
func (l Lines) Full(in tokens.Estimate) bool {
	return in.High > max(l.TriggerTokens(), int(fullShare*float64(l.Room)))
}

// Close reports whether a cut is nearly due in a request that counts in.
func (l Lines) Close(in tokens.Estimate) bool {
	return in.Low > int(nearShare*float64(l.TriggerTokens()))
}

// Judge decides whether room is made in a request that counts in; over means that in is over the trigger. A necessary cut never waits. One
// that is only advisable waits while the cache is warm, for the first request of a turn or until it is necessary.
func (l Lines) Judge(in tokens.Estimate, over bool, m Moment) Verdict {
	switch {
	case over && (!m.Warm || m.First || l.Full(in)):
		return Due
	case over:
		return Waits
	case m.Cold && l.Close(in):
		return DueCold
	}
	return NotDue
}
