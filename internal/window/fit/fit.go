// Package fit makes a request fit the window of its model. The proxy and the agent both go by it, so that the same conversation has the same
// fate behind either.
//
// A [Pass] is one request: [Pass.Limit] and [Pass.Reserve] set the window in force and the room for input, [Pass.Recount] counts, [Lines] say
// where room is made and how far, [Pass.MakeRoom] has it made (package compact), and [Pass.Counted] learns from the provider's count. What to
// send, to store and to tell of it is the caller's.
//
// Counts are bands (low, best, high): what is left out is measured by the best, a limit holds for the upper estimate, and a request is refused
// only when the lower one is over a window that somebody has named. A guess never refuses anything: the provider decides. A Pass belongs to
// one goroutine; a [Model] is shared.
package fit

import (
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Lines are those of one request, in tokens of input.
type Lines struct {
	Room int // what fits beside the answer
	// Trigger is the part of Room above which room is made, Target what it is made down to.
	Trigger, Target float64
	// Late is true when the client makes room by itself: the trigger is at most lateShort tokens below Room, whatever its part.
	Late bool
}

// DefaultTrigger is the part of the room above which room is made unless the user says otherwise.
const DefaultTrigger = 0.8

// autoTarget is the part of the room that is left where nobody said how much, by a trigger of DefaultTrigger. Room is made rarely and then
// deeply, since what is left is sent again as it is until the next time: with 0.2, 60 % of the room has to fill with new text first.
const autoTarget = 0.2

// AutoTarget returns the part of the room that is in use after room was made at a trigger, where nobody said how much: 0.2, and a quarter
// of a trigger that is lower than the default.
func AutoTarget(trigger float64) float64 { return min(autoTarget, trigger*autoTarget/DefaultTrigger) }

// DefaultReserve is the most that is kept free of a window for an answer, in tokens, unless the user says otherwise.
const DefaultReserve = 20_000

// Reserve returns how many tokens of a window are kept free for the answer: what was asked for, at most most, because clients ask for
// 64,000 and get 2,000, and never more than a quarter of the window. If the answer does not fit beside the input, a smaller one is asked
// for. If nothing is asked for (0), it returns 0, and what lies above the trigger is left for the answer.
func Reserve(asked, most int, w models.Window) int { return max(0, min(asked, most, w.Context/4)) }

// lateShort bounds the tokens between the trigger and the room for clients that make room by themselves. Claude Code does so at the window
// less the answer (at most 20,000) less 13,000, in a window of a million as in one of 200,000 (2.1.296; claude-code#31806), and
// opencode at the window less 32,000 (opencode.ai/v2/docs/compaction, 2026-11-26): a part of a million would come before them.
const lateShort = 9000

// TriggerTokens returns the number of input tokens above which a compaction is due.
func (l Lines) TriggerTokens() int {
	n := int(l.Trigger * float64(l.Room))
	if l.Late {
		n = max(n, l.Room-lateShort)
	}
	return n
}

// Goal returns the goal of a compaction for a request of in tokens. If in is so vague that the compaction is due below the trigger, the
// target is lower by as much: else the next few results would pass that line again.
func (l Lines) Goal(in tokens.Estimate) compact.Goal {
	limit := int(float64(l.Room) * float64(max(in.Best, 1)) / float64(max(in.High, 1)))
	target, trigger := l.Target*float64(l.Room), min(l.TriggerTokens(), limit)
	if line := int(l.Trigger * float64(l.Room)); trigger < line {
		target *= float64(trigger) / float64(line)
	}
	return compact.Goal{Target: int(target), Limit: limit, Trigger: trigger}
}

// Sizes returns a measure of requests in the provider's tokens: our own count of each part, scaled by the ratio of in, the best estimate
// for the whole, to tally, our own count of it.
func Sizes(counter *tokens.Counter, family tokens.Family, in tokens.Estimate, tally tokens.Tally) compact.Measure {
	scale := float64(max(in.Best, 1)) / float64(max(tally.Total.Best, 1))
	scaled := func(n int) int { return int(float64(n)*scale + 0.5) }
	return func(r *wire.Request) compact.Sizes {
		t := counter.Tally(r, family)
		s := compact.Sizes{Total: scaled(t.Total.Best), Head: scaled(t.Head.Best + t.Extra.Best), Messages: make([]int, len(t.Messages))}
		for i, m := range t.Messages {
			s.Messages[i] = scaled(m.Best)
		}
		return s
	}
}

// Enforced reports whether a request is made to fit a window before it is sent. It is not if the window is only guessed: the provider might
// take all of it, and the client does not see a refusal, which names the limit. Servers that cut a long input silently (cuts, see
// [models.CutsSilently]) refuse nothing; for them the guess counts.
func Enforced(w models.Window, cuts bool) bool { return !w.Guessed() || cuts }

// MustRefuse reports whether a request cannot be sent to anybody: the part of it that must stay is, even by the lower estimate, larger than
// the whole window, and the window is known and not guessed.
func MustRefuse(e *compact.DoesNotFit, in tokens.Estimate, whole models.Window) bool {
	low := float64(e.Total) * float64(in.Low) / float64(max(in.Best, 1))
	return !whole.Guessed() && int(low) > whole.ForInput(0)
}

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

// Full reports whether a request of in tokens must be compacted now.
func (l Lines) Full(in tokens.Estimate) bool {
	return in.High > max(l.TriggerTokens(), int(fullShare*float64(l.Room)))
}

// Close reports whether a compaction of a request of in tokens is nearly due.
func (l Lines) Close(in tokens.Estimate) bool {
	return in.Low > int(nearShare*float64(l.TriggerTokens()))
}

// Judge decides whether a request of in tokens is compacted now; over means that in is over the trigger. A necessary compaction never
// waits. One that is only advisable waits while the cache is warm, until the first request of a turn or until it is necessary.
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
