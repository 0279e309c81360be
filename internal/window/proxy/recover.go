package proxy

import (
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/internal/window/reasoning"
	said "github.com/plimsoll/plimsoll/internal/window/refusal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// mayRecover reports whether a refused request may be changed and sent again: only in mode Enforce, and if it could be parsed.
func (t *exchange) mayRecover() bool {
	return t.p.o.Mode == Enforce && t.View != nil
}

// shrinkAndRetry makes the request smaller after a refusal for its length, learns the limit, and returns true if the smaller request is to
// be sent. With false the provider's own answer goes to the client.
func (t *exchange) shrinkAndRetry(a *answer, try int) bool {
	o := a.over
	named := 0
	if o.Limit > 0 && t.Refused(o.Limit) {
		named = o.Limit
	}
	t.form = o.Form
	t.journalBreaker(t.p.o.Breaker.Overflow(t.upstream, t.model))
	tries := maxTries
	if named > 0 {
		tries = 1
	}
	if !t.mayRecover() || try > tries || t.r.Context().Err() != nil || !t.shrink(o, named, try) {
		t.journalOverflow(o.Form, named, try, "given_up")
		return false
	}
	t.journalOverflow(o.Form, named, try, "retried")
	return true
}

// recut makes next the request to send in place of the refused one, as a cut that is stored once the provider accepts it. rung names the
// kind of change. It returns false if next cannot be sent.
func (t *exchange) recut(next *wire.Request, rung string) bool {
	before, view := t.In.Best, t.View
	if t.result != nil { // room was made: that is what was refused
		view = view.After(t.result)
	}
	view = view.Cut(next)
	res := view.Result(before, before)
	res.Rungs = []string{rung}
	t.result = &res
	t.setRequest(view, next)
	t.recountTokens()
	t.packContent()
	if t.result == nil {
		return false
	}
	t.result.After = t.In.Best
	return true
}

// Most requests that are sent anew because of their contents, and because of their reasoning: each may have several faults, and a provider
// names one at a time.
const maxMends, maxUnbinds = 8, 3

// mendRefused mends a request that was refused for its contents and reports whether there is a mended one to send. It first applies the
// known rules to all messages, also those that counted as accepted because an answer follows them; then a rule that the refusal states
// (fewer images, say), which is kept for the conversation and the model once it has helped.
func (t *exchange) mendRefused(a *answer) bool {
	if t.mends >= maxMends || t.p.o.NoRepair || !t.mayRecover() || t.r.Context().Err() != nil {
		return false
	}
	t.mends++
	o := t.mendOptions()
	if t.lesson != nil {
		lesson := t.lesson.Lasting()
		lesson.Provider, lesson.Model, lesson.Betas = o.Provider, o.Model, o.Betas
		o = lesson
	}
	if t.mends == 1 && a.mayRefuseContents() && t.mendAll(o) { // what is known already, before anything is learned
		return true
	}
	read := said.Read(a.failure, a.res.StatusCode == http.StatusOK)
	words := strings.Join(append(read.Texts, read.Places...), "\n")
	if next, done, err := repair.RepairRefused(t.request, words); err == nil && next != t.request && t.recut(next, "mended") {
		t.actions = append(t.actions, fmt.Sprintf("repaired:%d", len(done)))
		return true
	}
	for range maxMends { // what the words teach first may change nothing
		var learned bool
		if o, learned = mend.Learn(o, words); !learned {
			return false
		}
		if t.mendAll(o) {
			t.lesson = &o
			return true
		}
		o.Place = nil // a gateway may number otherwise
		if t.mendAll(o) {
			t.lesson = &o
			return true
		}
	}
	return false
}

// mendAll mends all messages by these options, also those sent before. It reports whether that changed the request and it can be sent.
func (t *exchange) mendAll(o mend.Options) bool {
	next, done, err := mend.Mend(t.request, o)
	if err != nil {
		return false
	}
	ids := 0
	if o.MaxID > 0 || o.NineIDs || o.PlainIDs || o.UniqueIDs {
		if paired, renamed, err := repair.Repair(next, t.repairOptions(o)); err == nil {
			next, ids = paired, len(renamed)
		}
	}
	if next == t.request {
		return false
	}
	first := 0
	if len(done) > 0 {
		first = done[0].Message
	}
	thoughts := 0
	if t.boundReasoning() {
		if bare, n, err := reasoning.Without(next, 0); err == nil {
			next, thoughts = bare, n
		}
	}
	if !t.recut(next, "mended") {
		return false
	}
	t.actions = append(t.actions, fmt.Sprintf("mended:%d", len(done)+ids))
	t.journalBreak(causeContent, max(first, 0), thoughts)
	return true
}

// dropBoundReasoning removes reasoning that the provider refused because a message before it has changed: all from the message that the
// refusal names on, or all of it if there is none there. It returns false if nothing can be removed; the provider's own answer then goes to
// the client.
func (t *exchange) dropBoundReasoning(a *answer) bool {
	if t.unbinds >= maxUnbinds || !t.mayRecover() || t.r.Context().Err() != nil {
		return false
	}
	t.unbinds++
	t.p.refusing.Put(t.key(), struct{}{})
	if a.refusal.Bound() {
		t.p.bound.Put(t.upstream+"\x00"+t.model, struct{}{})
	}
	next, n, err := reasoning.Mend(t.request, a.refusal)
	if err == nil && n == 0 && a.refusal.Message > 0 { // a gateway may number otherwise
		a.refusal.Message = 0
		next, n, err = reasoning.Mend(t.request, a.refusal)
	}
	if err != nil || n == 0 {
		return false
	}
	if !t.recut(next, compact.RungThinking) {
		return false
	}
	t.actions = append(t.actions, "thinking-out")
	t.journalBreak(causeBinding, max(a.refusal.Message, 0), n)
	return true
}

// shrink makes the refused request smaller, and reports whether it could. If the provider says that asking for less output is enough, it
// does that. Otherwise it compacts: to the target of named, the limit in the refusal, or if that is 0, to a fraction of the refused size
// that falls with each try.
func (t *exchange) shrink(o overflow.Overflow, named, try int) bool {
	size := max(t.In.Best, 1) // of what was refused, by our count
	t.refusedSize, t.unnamed = size, named == 0
	// A token is at least a byte. More of them are not this request's: the number of another one, or of what an image was taken for.
	// By such a scale nothing that has to stay would ever fit.
	if o.Actual > len(t.request.Body) {
		o.Actual = 0
	}
	theirs := o.Actual
	if o.Actual <= 0 || o.AtLeast {
		theirs = max(o.Actual, size)
	}
	if o.LowerOutput {
		limit := max(named, o.Limit)
		if t.lowerOutput(limit-theirs) == nil {
			return true
		}
	}
	goal := t.Goal()
	if named > 0 {
		if o.Actual == 0 || o.AtLeast {
			theirs = max(theirs, named+1)
		}
		t.Window.Context, t.Window.Input, t.Window.Source = named, 0, models.SourceLearned
		t.Whole = t.Window
		t.Reserve(t.received.MaxOutput, t.p.o.Reserve)
		ours := float64(size) / float64(theirs)
		goal.Target, goal.Limit, goal.Trigger = int(float64(t.Room)*t.Target*ours), int(float64(t.Room)*ours), 0
	} else {
		part := math.Pow(t.p.o.RetryTarget, float64(try))
		if t.firstSize == 0 {
			t.firstSize = size
		}
		goal.Target = int(float64(t.firstSize) * part)
		goal.Limit, goal.Trigger = goal.Target, goal.Target
	}
	goal.NoModel = true
	return t.compact(goal, "overflow") == nil
}
