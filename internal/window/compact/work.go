package compact

import (
	"context"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A target identifies one part of a request by two indices.
type target struct{ message, part int }

// An action is a change of one part: mask it, or keep that many bytes of each of its texts, or of all of it where it has no texts.
type action struct {
	mask bool
	keep int
}

// work is one compaction under way: the request it began with (base), what is to be done to it, and the request that leads to (cur). Every
// build starts from the base, so that the rungs can change their minds.
type work struct {
	ctx     context.Context
	c       *Compactor
	base    *wire.Request
	measure Measure
	goal    Goal
	lay     *layout
	start   Sizes

	actions map[target]action
	dropped []bool // of the base's messages
	costs   []int  // of the base's messages, when they were last weighed; -1 for not yet
	recast  []bool // those that become a user's, see misplaced
	note    string // the summary, or the line about what was dropped; "" for none
	rungs   []string

	cur   *wire.Request
	sizes Sizes
	err   error

	tools    map[target]string // that results came from, once asked for
	notes    map[target]string // lines of results that stand out, once asked for
	failures map[target]string // what results say that went wrong, at the same time

	digests map[target]string // what the model said of results
	places  map[target]string // where results that are masked can be read again, once they were kept
	where   string            // lines about those of turns that are summarised
	demand  bool              // no summary but the model's is taken

	asked             bool // the model was
	verbatim          string
	spentIn, spentOut int
	modelErr          error
}

// newWork returns the state of one compaction. The newest messages are spared: at least Options.MinMessages, and all since goal.Since.
func newWork(ctx context.Context, c *Compactor, v *View, measure Measure, sizes Sizes, goal Goal) *work {
	r := v.Request
	spared := c.o.MinMessages
	if goal.Since > 0 {
		spared = max(spared, len(r.Messages)-v.positionOf(goal.Since))
	}
	return &work{
		ctx: ctx, c: c, base: r, measure: measure, goal: goal, lay: newLayout(r, spared), start: sizes,
		actions: map[target]action{}, dropped: make([]bool, len(r.Messages)), cur: r, sizes: sizes,
	}
}

// addRung adds a rung to Result.Rungs, once.
func (w *work) addRung(rung string) {
	if !slices.Contains(w.rungs, rung) {
		w.rungs = append(w.rungs, rung)
	}
}

// A state is a copy of a work's state, to return to when a rung made nothing smaller.
type state struct {
	dropped []bool
	recast  []bool
	note    string
	cur     *wire.Request
	sizes   Sizes
}

// saveState returns a copy of the state, for restoreState.
func (w *work) saveState() state {
	return state{slices.Clone(w.dropped), w.recast, w.note, w.cur, w.sizes}
}

// restoreState returns to a state that saveState returned.
func (w *work) restoreState(s state) {
	w.dropped, w.recast, w.note, w.cur, w.sizes = s.dropped, s.recast, s.note, s.cur, s.sizes
}

// build sets cur to the base with all actions, drops and the note applied, and measures it. It returns false, with w.err set, when that
// fails.
func (w *work) build() bool {
	d := w.base.Draft()
	for t, a := range w.actions {
		if !w.dropped[t.message] {
			w.applyAction(d, t, a)
		}
	}
	w.recast = w.misplacedSystem()
	for i, gone := range w.dropped {
		if gone {
			d.DropMessages(i, i+1)
		} else if w.recast[i] {
			d.ReplaceMessages(i, i+1, w.reminder(i))
		}
	}
	if w.note != "" {
		d.InsertMessages(w.lay.at, wire.TextMessage(w.base.Dialect, wire.RoleUser, w.note))
	}
	next, err := d.Build()
	if err != nil {
		w.err = fmt.Errorf("compact: %w", err)
		return false
	}
	w.cur, w.sizes = next, w.measure(next)
	return true
}

// A candidate is one action that a rung may take, with an estimate of the tokens it would save.
type candidate struct {
	target
	action
	saves int
}

// applyCandidates applies one candidate after the other, in their order, until the request is no larger than aim, with as few builds as the
// estimates allow. It returns whether it applied any; false if a build failed.
func (w *work) applyCandidates(list []candidate, aim int) bool {
	least := 1
	done := 0
	for done < len(list) && w.sizes.Total > aim && w.err == nil && w.ctx.Err() == nil {
		need, saved := w.sizes.Total-aim, 0
		for n := 0; done < len(list) && (saved < need || n < least); n++ {
			w.actions[list[done].target] = list[done].action
			saved += list[done].saves
			done++
		}
		if !w.build() {
			return false
		}
		// Estimates that promise too much must not make this a build for each candidate.
		least = min(2*least, len(list))
	}
	if done > 0 && w.err == nil {
		w.softenLast(list[done-1], aim)
	}
	return done > 0
}

// softenLast lets the last candidate keep as many bytes as aim allows: one result of half a window need not shrink to a page when half of
// it fits.
func (w *work) softenLast(last candidate, aim int) {
	p := &w.base.Messages[last.message].Parts[last.part]
	slack := aim - w.sizes.Total
	if slack < aim/10 || p.Kind != wire.Result || w.dropped[last.message] || w.digests[last.target] != "" {
		return
	}
	cost := max(1, w.bytesCost(last.message, p.Span.Len()))
	keep := last.keep + int(0.9*float64(slack)*float64(p.Span.Len())/float64(cost))
	if keep < 2*cutLeast {
		return
	}
	before, did := w.saveState(), w.actions[last.target]
	w.actions[last.target] = action{keep: keep}
	if !w.build() {
		return
	}
	if w.sizes.Total > aim {
		w.restoreState(before)
		w.actions[last.target] = did
	}
}

// bytesCost returns the estimated tokens of that many bytes of a message.
func (w *work) bytesCost(message, bytes int) int {
	span := w.base.Messages[message].Span.Len()
	if message >= len(w.start.Messages) || span == 0 {
		return bytes / 4
	}
	return int(int64(w.start.Messages[message]) * int64(min(bytes, span)) / int64(span))
}

// forEditable calls f for each message whose results may be cut or masked on a level, oldest first.
func (w *work) forEditable(at level, f func(message int)) {
	for u, s := range w.lay.standing {
		if s == free || s == newest && at >= levelRelax || (s == open || s == sacred || s == preamble || s == covered) && at >= levelOpen {
			for i := max(w.lay.units[u].From, w.lay.edge); i < w.lay.units[u].To; i++ {
				if !w.dropped[i] {
					f(i)
				}
			}
		}
	}
}

// completeResult returns res with the changes as patches of the client's own messages; res itself if the request got no smaller.
func (w *work) completeResult(v *View, res Result) (Result, error) {
	touched := make([]bool, len(w.base.Messages))
	copy(touched, w.dropped)
	for t := range w.actions {
		touched[t.message] = true
	}
	for i, yes := range w.recast {
		touched[i] = touched[i] || yes
	}
	for i, yes := range touched {
		if yes {
			res.Messages++
			res.Cut = append(append(res.Cut, w.base.Raw(w.base.Messages[i].Span)...), '\n')
		}
	}
	patches := w.patchesMade(touched)
	composed, covers := v.composePatches(patches)
	// What is sent now has to be what later requests get from the checkpoint, to the byte.
	next, err := applyPatches(v.Client, composed)
	if err != nil {
		return res, fmt.Errorf("compact: put the patches into the client's request: %w", err)
	}
	sizes := w.measure(next)
	if sizes.Total >= res.Before {
		return res, nil
	}
	res.Request, res.Patches, res.Covers = next, composed, covers
	res.Rungs, res.After = w.rungs, sizes.Total
	res.CutBytes = max(0, int64(len(v.Request.Body)-len(next.Body)))
	return res, nil
}

// patchesMade returns the patches that turn the base into the current request. touched marks the messages of the base that were changed or
// dropped. The summary, or the line in its place, becomes a message of its own; adjacent patches are joined.
func (w *work) patchesMade(touched []bool) (patches []Patch) {
	at := 0 // in the current request
	put := func(from, to int, raw ...[]byte) {
		if n := len(patches); n > 0 && patches[n-1].To == from {
			patches[n-1].To = to
			patches[n-1].With = append(patches[n-1].With, raw...)
			return
		}
		patches = append(patches, Patch{From: from, To: to, With: raw})
	}
	take := func() []byte {
		at++
		return unmarked(w.cur, at-1)
	}
	for i := range len(w.base.Messages) + 1 {
		if i == w.lay.at && w.note != "" {
			put(i, i, take())
		}
		switch {
		case i == len(w.base.Messages):
		case w.dropped[i]:
			put(i, i+1)
		case touched[i]:
			put(i, i+1, take())
		default:
			at++
		}
	}
	return patches
}

// DoesNotFit means that even what must stay is too large. It holds no text of the
// conversation.
type DoesNotFit struct {
	// Message is the largest message that had to stay, by its position in the client's
	// request; -1 when the system prompt and the tools are larger.
	Message int
	Role    string // of that message: "user", "tool", …; "system and tools" for -1
	Tokens  int    // of that message, after what could be cut was cut
	Total   int    // of the request
	Limit   int
}

func (e *DoesNotFit) Error() string {
	what := fmt.Sprintf("message %d (%s)", e.Message, e.Role)
	if e.Message < 0 {
		what = e.Role
	}
	return fmt.Sprintf("the request has %d tokens after everything that may be cut was cut, and %d fit: %s takes %d of them; shorten it, or use a model with a larger context window",
		e.Total, e.Limit, what, e.Tokens)
}

// doesNotFit returns the [DoesNotFit] that names the largest part of the request.
func (w *work) doesNotFit(v *View) error {
	e := &DoesNotFit{Message: -1, Role: "system and tools", Tokens: w.sizes.Head, Total: w.sizes.Total, Limit: w.goal.Limit}
	at := 0
	for i := range len(w.base.Messages) + 1 {
		if i == w.lay.at && w.note != "" {
			at++
		}
		if i == len(w.base.Messages) || w.dropped[i] {
			continue
		}
		if at < len(w.sizes.Messages) && w.sizes.Messages[at] > e.Tokens {
			e.Message, e.Tokens, e.Role = i, w.sizes.Messages[at], w.base.Messages[i].Role.String()
		}
		at++
	}
	if v.Replayed() && e.Message >= 0 {
		// What was changed before stands before the client's next message that was not.
		list := patchedElements(len(v.Client.Messages), v.Patches)
		i := e.Message
		for i < len(list)-1 && list[i].client < 0 {
			i++
		}
		e.Message = max(0, list[i].client)
	}
	return e
}
