package compact

import (
	"slices"

	"github.com/plimsoll/plimsoll/window/compact/extract"
)

const (
	// A summary gets a fifth of the target, and not more than what a person would read.
	summaryShare = 5
	summaryMost  = 16_000 // tokens
	summaryLeast = 200    // tokens; below it a summary says nothing
	// bytesPerToken turns tokens into bytes for a first try; what comes of it is measured.
	bytesPerToken = 3
	// tries bounds how often one rung builds anew because an estimate was wrong.
	tries = 8
)

// summarise puts a summary in place of old units, as few as reach the aim.
func (w *work) summarise(at level) {
	if w.c.o.Style == Off {
		return
	}
	units := w.lay.droppable(at)
	whole := min(max(w.aim(at)/summaryShare, summaryLeast), summaryMost)
	room := whole
	n := 0
	for try := 0; try < tries && w.sizes.Total > w.aim(at) && w.err == nil && w.ctx.Err() == nil; try++ {
		more := w.enough(units, n, w.sizes.Total-w.aim(at), room)
		if more == n {
			// Everything there is went in: only the summary itself can be shorter.
			if room /= 2; n == 0 || room < summaryLeast || room < whole/2 && w.sizes.Total <= w.goal.enough() {
				break
			}
		}
		n = more
		if !w.replace(units, n, room) {
			return
		}
	}
}

// enough is how many of the first units have to go, beyond those n that did, to free need
// tokens and a summary's room.
func (w *work) enough(units []int, n, need, room int) int {
	if w.note != "" {
		room = 0 // it is in the total already
	}
	saved := 0
	for n < len(units) {
		// A summary takes no more than half of what it stands for.
		if saved-min(room, saved/2) >= need {
			break
		}
		u := w.lay.units[units[n]]
		for i := u.From; i < u.To; i++ {
			saved += w.now(i)
		}
		n++
	}
	return n
}

// now is about what a message of the base costs as things stand, in tokens.
func (w *work) now(message int) int {
	if w.dropped[message] {
		return 0
	}
	return w.cost(message)
}

// cost is about what a message of the base costs once its parts are cut, in tokens.
func (w *work) cost(message int) int {
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
		cost -= w.share(message, max(0, m.Parts[j].Span.Len()-kept))
	}
	return max(0, cost)
}

// replace drops the first n units and puts a summary of at most room tokens in their
// place. It returns false when that made nothing smaller; then nothing is changed.
func (w *work) replace(units []int, n, room int) bool {
	before := w.state()
	messages := w.take(units, n)
	if len(messages) == 0 {
		return false
	}
	turns, _ := w.turns(messages)
	rung, tokens := RungExtract, 0
	for _, i := range messages {
		tokens += w.cost(i)
	}
	room = min(room, max(tokens/2, 1))
	if w.model(turns, max(room, summaryLeast)) {
		rung = RungModel
	}
	size := room * bytesPerToken
	for range tries {
		s := extract.Summarize(turns, extract.Options{Bytes: size, Messages: len(messages), Verbatim: w.verbatim})
		w.note = s.Text
		if !w.build() {
			return false
		}
		if w.lay.at >= len(w.sizes.Messages) || w.sizes.Messages[w.lay.at] <= room+room/8 || size < extract.MinBytes {
			break
		}
		size = size * room / w.sizes.Messages[w.lay.at] // a script that takes more tokens for a byte
	}
	if w.sizes.Total >= before.sizes.Total {
		w.restore(before)
		return false
	}
	w.did(rung)
	return true
}

// take marks the first n units as dropped, except the anchors, and lists all messages that
// are then dropped.
func (w *work) take(units []int, n int) (messages []int) {
	stay := w.lay.anchors(w.base, units, n)
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

// drop leaves out old units, as few as reach the aim, and a line in their place.
func (w *work) drop(at level) {
	if w.note != "" && w.c.o.Style != Off && (at == levelSpare || w.sizes.Total <= w.goal.enough()) {
		return // a summary is worth more than the last step to the target
	}
	units := w.lay.droppable(at)
	for n, last := 0, -1; n != last && w.sizes.Total > w.aim(at) && w.err == nil && w.ctx.Err() == nil; {
		last, n = n, w.enough(units, n, w.sizes.Total-w.aim(at), 0)
		if n == last && n > 0 {
			return
		}
		before := w.state()
		messages := w.take(units, n)
		if len(messages) == 0 {
			return
		}
		w.note = extract.Summarize(w.prior(messages), extract.Options{Messages: len(messages)}).Text
		if !w.build() {
			return
		}
		if w.sizes.Total >= before.sizes.Total {
			w.restore(before)
			continue // the line is longer than what went; more may have to
		}
		w.did(RungDrop)
	}
}

// prior lists the earlier summaries among messages: the line says how many messages they
// stood for.
func (w *work) prior(messages []int) (list []extract.Turn) {
	turns, _ := w.turns(messages)
	for _, t := range turns {
		if t.Kind == extract.Prior {
			list = append(list, t)
		}
	}
	return list
}
