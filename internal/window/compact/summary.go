package compact

import (
	"bytes"
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// A summary gets a third of the target, and not more than what a person would read. What is
	// not needed for the user's words, plans, decisions, files and failures is filled with
	// lines of results, which say more for a token than the newest of them in full. Where a third
	// is little it is up to a half, and up to three quarters where that is little too: what was decided takes the same room in a small
	// window, and the newest turns in full say less.
	summaryShare  = 3
	summaryFew    = 2_200  // tokens; up to where it may be three quarters
	summaryEnough = 4_000  // tokens; from where on a third will do
	summaryMost   = 16_000 // tokens
	spareShare    = 10     // of the target, that may be left over behind a summary
	summaryLeast  = 200    // tokens; below it a summary says nothing
	summaryFair   = 400    // tokens; a summary has room for as much where there are turns enough
	// bytesPerToken turns tokens into bytes for a first try; what comes of it is measured.
	bytesPerToken = 3
	// tries bounds how often one rung builds anew because an estimate was wrong, fills how often a small summary is written anew because it
	// left room.
	tries = 8
	fills = 2
)

// summarise puts a summary in place of old units, of as few as it takes to reach the aim; a model may be asked to write it. With the style
// Off it does nothing.
func (w *work) summarise(at level) {
	if w.c.o.Style == Off {
		return
	}
	units := w.lay.droppable(at)
	w.weighMessages()
	aim := w.aim(at)
	whole := min(max(aim/summaryShare, min(aim/2, summaryEnough), min(aim-aim/4, summaryFew), summaryLeast), summaryMost)
	room := whole
	n := 0
	before := w.saveState()
	for try := 0; try < tries && w.sizes.Total > aim && w.err == nil && w.ctx.Err() == nil; try++ {
		more := w.unitsToDrop(units, n, w.sizes.Total-aim, room)
		if more == n {
			// Everything there is went in: only the summary itself can be shorter.
			if room /= 2; n == 0 || room < summaryLeast || room < whole/2 && w.sizes.Total <= w.goal.goodEnough() {
				break
			}
		}
		n = more
		if !w.replaceBySummary(units, n, room, aim) {
			return
		}
	}
	if n > 0 && room == whole && whole > aim/2 {
		w.retryFewer(units, aim, before)
	}
}

// retryFewer summarises fewer units if the summary came out shorter than planned and the request is well below the aim. If that does not
// fit, it restores the present state. before is the state without a summary.
func (w *work) retryFewer(units []int, aim int, before state) {
	room := w.summaryTokens()
	if w.note == "" || w.verbatim != "" || room == 0 || aim-w.sizes.Total < aim/spareShare || w.err != nil || w.ctx.Err() != nil {
		return
	}
	after := w.saveState()
	w.restoreState(before)
	if !w.replaceBySummary(units, w.unitsToDrop(units, 0, w.sizes.Total-aim, room), room, aim) || w.sizes.Total > aim {
		w.restoreState(after)
	}
}

// unitsToDrop returns how many of the first units have to be dropped to free need tokens and the room tokens that a summary will take.
// dropped of them are dropped already.
func (w *work) unitsToDrop(units []int, dropped, need, room int) int {
	if w.note != "" {
		room = 0 // it is in the total already
	}
	saved, summaries := 0, 0
	for dropped < len(units) {
		// A summary takes no more than half of what it stands for, and what an earlier one took. One of a single turn would
		// have no room to say what was done in it.
		if saved+summaries-min(room, saved/2+summaries) >= need && saved/2+summaries >= min(room, summaryFair) {
			break
		}
		u := w.lay.units[units[dropped]]
		for i := u.From; i < u.To; i++ {
			if w.isSummary(i) {
				summaries += w.currentCost(i)
			} else {
				saved += w.currentCost(i)
			}
		}
		dropped++
	}
	return dropped
}

// weighMessages sets in costs the tokens of each message that is still in the request, by the newest measure.
func (w *work) weighMessages() {
	if w.costs == nil {
		w.costs = make([]int, len(w.base.Messages))
		for i := range w.costs {
			w.costs[i] = -1
		}
	}
	at := 0
	for i := range w.base.Messages {
		if i == w.lay.at && w.note != "" {
			at++
		}
		if !w.dropped[i] && at < len(w.sizes.Messages) {
			w.costs[i] = w.sizes.Messages[at]
			at++
		}
	}
}

// isSummary reports whether a message of the base is an earlier summary.
func (w *work) isSummary(message int) bool {
	m := &w.base.Messages[message]
	if m.Role != wire.RoleUser || len(m.Parts) != 1 || m.Parts[0].Kind != wire.Text {
		return false
	}
	texts := m.Parts[0].Texts
	return len(texts) == 1 && bytes.HasPrefix(w.base.Raw(texts[0]), []byte(`"`+extract.Opening)) && extract.IsSummary(partText(w.base, &m.Parts[0]))
}

// currentCost returns the estimated tokens of a message of the base, 0 if it is dropped.
func (w *work) currentCost(message int) int {
	if w.dropped[message] {
		return 0
	}
	return w.cost(message)
}

// cost returns the estimated tokens of a message of the base with its actions applied, also if it is dropped.
func (w *work) cost(message int) int {
	if w.costs != nil && w.costs[message] >= 0 {
		return w.costs[message]
	}
	if message >= len(w.start.Messages) {
		return 0
	}
	cost := w.start.Messages[message]
	m := &w.base.Messages[message]
	for j := range m.Parts {
		a, ok := w.actions[target{message, j}]
		if !ok {
			continue
		}
		kept := a.keep
		if a.mask {
			kept = maskWorth
		}
		cost -= w.bytesCost(message, max(0, m.Parts[j].Span.Len()-kept))
	}
	return max(0, cost)
}

// replaceBySummary drops the first n units and puts a summary of at most room tokens in their place; a short summary may take more, up to
// aim, because units are dropped as a whole and so free more than needed. It returns false, with the state unchanged, if the request gets
// no smaller or an edit fails.
func (w *work) replaceBySummary(units []int, n, room, aim int) bool {
	before := w.saveState()
	messages := w.dropUnits(units, n)
	if len(messages) == 0 {
		return false
	}
	turns, _ := w.turnsOf(messages)
	rung, half := RungExtract, 0
	for _, i := range messages {
		if w.isSummary(i) {
			half += w.cost(i)
		} else {
			half += w.cost(i) / 2
		}
	}
	room = min(room, max(half, 1))
	if w.askModel(turns, max(room, summaryLeast)) {
		rung = RungModel
	} else if w.demand {
		w.restoreState(before)
		return false
	}
	if w.where = ""; w.verbatim != "" {
		w.where = w.placesText(messages)
	}
	turns = append(turns, w.keptTurns(messages[len(messages)-1])...)
	if !w.writeSummary(turns, len(messages), room*bytesPerToken, room, room/8) {
		return false
	}
	if rung == RungExtract && !w.lengthenSummary(turns, len(messages), room, min(half, summaryEnough), aim) {
		return false
	}
	if w.sizes.Total >= before.sizes.Total {
		w.restoreState(before)
		return false
	}
	w.addRung(rung)
	return true
}

// writeSummary writes a summary of turns, which were that many messages, in at most size bytes, and in fewer if it takes more than
// room+tolerance tokens. It returns false if the request cannot be built.
func (w *work) writeSummary(turns []extract.Turn, messages, size, room, tolerance int) bool {
	for range tries {
		s := extract.Summarize(turns, extract.Options{Bytes: size, Messages: messages, Verbatim: w.verbatim + w.where})
		w.note = s.Text
		if !w.build() {
			return false
		}
		took := w.summaryTokens()
		if took <= room+tolerance || size < extract.MinBytes {
			break
		}
		size = size * room / took // a script that takes more tokens for a byte
	}
	return true
}

// lengthenSummary writes the summary anew if the aim leaves room for a longer one than room tokens, of at most most tokens. It returns
// false if the request cannot be built.
func (w *work) lengthenSummary(turns []extract.Turn, messages, room, most, aim int) bool {
	if room > summaryFew {
		more := min(room+aim-w.sizes.Total, most)
		return more <= room || w.writeSummary(turns, messages, more*bytesPerToken, more, 0)
	}
	for range fills { // to the last token: how many bytes one has is better known each time
		used := w.summaryTokens()
		more := min(used+aim-w.sizes.Total, most)
		if used == 0 || more <= used+used/32 {
			break
		}
		if !w.writeSummary(turns, messages, more*len(w.note)/used, more, 0) {
			return false
		}
	}
	return true
}

// summaryTokens returns the tokens of the summary by the newest measure; 0 without one.
func (w *work) summaryTokens() int {
	if w.lay.at >= len(w.sizes.Messages) {
		return 0
	}
	return w.sizes.Messages[w.lay.at]
}

// keptTurns returns the turns after a message that stay in the conversation, marked as Kept: a plan in one of them supersedes one that is
// dropped.
func (w *work) keptTurns(after int) []extract.Turn {
	var messages []int
	for i := after + 1; i < len(w.base.Messages); i++ {
		if !w.dropped[i] {
			messages = append(messages, i)
		}
	}
	turns, _ := w.turnsOf(messages)
	for i := range turns {
		turns[i].Kept = true
	}
	return turns
}

// dropUnits marks the first n units as dropped, except those that anchorUnits names, and returns the indices of all messages that are
// dropped then.
func (w *work) dropUnits(units []int, n int) (messages []int) {
	stay := w.lay.anchorUnits(w.base, units, n)
	for _, u := range units[:n] {
		for i := w.lay.units[u].From; i < w.lay.units[u].To; i++ {
			w.dropped[i] = !slices.Contains(stay, u)
		}
	}
	for i, gone := range w.dropped {
		if gone {
			messages = append(messages, i)
		}
	}
	return messages
}

// dropToLine drops old units, as few as it takes to reach the aim, and puts a line with their number in their place. It does nothing if a
// summary stands there and the request is small enough.
func (w *work) dropToLine(at level) {
	if w.note != "" && w.c.o.Style != Off && (at == levelSpare || w.sizes.Total <= w.goal.goodEnough()) {
		return // a summary is worth more than the last step to the target
	}
	units := w.lay.droppable(at)
	for n, last := 0, -1; n != last && w.sizes.Total > w.aim(at) && w.err == nil && w.ctx.Err() == nil; {
		last, n = n, w.unitsToDrop(units, n, w.sizes.Total-w.aim(at), 0)
		if n == last && n > 0 {
			return
		}
		before := w.saveState()
		messages := w.dropUnits(units, n)
		if len(messages) == 0 {
			return
		}
		w.note = extract.Summarize(w.priorSummaries(messages), extract.Options{Messages: len(messages)}).Text
		if !w.build() {
			return
		}
		if w.sizes.Total >= before.sizes.Total {
			w.restoreState(before)
			continue // the line is longer than what went; more may have to
		}
		w.addRung(RungDrop)
	}
}

// priorSummaries returns those of messages that are earlier summaries.
func (w *work) priorSummaries(messages []int) (list []extract.Turn) {
	turns, _ := w.turnsOf(messages)
	for _, t := range turns {
		if t.Kind == extract.Prior {
			list = append(list, t)
		}
	}
	return list
}
