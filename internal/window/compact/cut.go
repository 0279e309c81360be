package compact

import (
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
)

// How much of a tool's result the rung "cut" keeps: a sixteenth of a byte for each token
// that fits (12.5 KB for 200,000 tokens), within these bounds. Agents cap single results at
// about 10 to 50 KB themselves, so what is over twice that is worth cutting.
const (
	cutShare  = 16
	cutLeast  = 1 << 10
	cutMost   = 16 << 10
	openLeast = 256 // of a result of the running turn, at the very last
)

// keepBytes returns how many bytes of a result stay when it is cut: set if that is above 0, else a size derived from the window; half of it
// with Strict.
func (g Goal) keepBytes(set int) int {
	keep := min(max(g.Limit/cutShare, cutLeast), cutMost)
	if set > 0 {
		keep = set
	}
	if g.Strict {
		keep = max(keep/2, cutLeast/2)
	}
	return keep
}

// cutResults cuts large results to their head and tail. On levelOpen it cuts them shorter until the request fits.
func (w *work) cutResults(at level) {
	keep := w.goal.keepBytes(w.c.o.ResultBytes)
	if at < levelOpen {
		if w.c.o.WholeResults {
			return
		}
		if w.applyCandidates(w.largeResults(at, keep), w.aim(at)) {
			w.addRung(RungCut)
		}
		return
	}
	for ; keep >= openLeast && w.sizes.Total > w.aim(at) && w.err == nil; keep /= 2 {
		if w.applyCandidates(w.largeResults(at, keep), w.aim(at)) {
			w.addRung(RungOpen)
		}
	}
}

// largeResults returns the results that may be cut on a level, and for which cutting to keep bytes saves more than keep bytes.
func (w *work) largeResults(at level, keep int) (list []candidate) {
	w.forEditable(at, func(i int) {
		for j := range w.base.Messages[i].Parts {
			t := target{i, j}
			p := &w.base.Messages[i].Parts[j]
			done, acted := w.actions[t]
			if p.Kind != wire.Result || p.Declares && at < levelOpen || acted && (done.mask || done.keep <= keep) {
				continue
			}
			if _, saves := shortenResult(w.base, p, keep); saves > keep {
				list = append(list, candidate{t, action{keep: keep}, w.bytesCost(i, saves)})
			}
		}
	})
	return list
}

// Bound cuts tool results that are larger than Options.ResultBytes in the messages with index from and later. It returns the changed
// request and those messages as they were, one JSON value a line; r itself and nil if there are none, or if an edit cannot be made.
func (c *Compactor) Bound(r *wire.Request, from int) (next *wire.Request, cut []byte) {
	if c.o.ResultBytes <= 0 || c.o.WholeResults {
		return r, nil
	}
	w := &work{c: c, base: r}
	var d *wire.Draft
	for i := from; i < len(r.Messages); i++ {
		touched := false
		for j := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[j]
			if p.Kind != wire.Result || readableBytes(p) <= c.o.ResultBytes {
				continue
			}
			keep := max(c.o.ResultBytes/max(1, len(p.Texts)), openLeast)
			if _, saves := shortenResult(r, p, keep); saves <= 0 {
				continue
			}
			if d == nil {
				d = r.Draft()
			}
			w.applyAction(d, target{i, j}, action{keep: keep})
			touched = true
		}
		if touched {
			cut = append(append(cut, r.Raw(r.Messages[i].Span)...), '\n')
		}
	}
	if d == nil {
		return r, nil
	}
	next, err := d.Build()
	if err != nil || len(next.Body) >= len(r.Body) {
		return r, nil
	}
	return next, cut
}

// readableBytes returns the size of the part of a result that the model reads.
func readableBytes(p *wire.Part) (size int) {
	if !p.Raw.IsZero() {
		return p.Raw.Len()
	}
	for _, t := range p.Texts {
		size += t.Len()
	}
	return size
}

// A shortening holds the texts that replace those of a result that is cut: whole for all of it, or in texts one for each text that was too
// long, by its index.
type shortening struct {
	texts map[int]string
	whole string
}

// shortenResult returns the shortening of a result's texts to about keep bytes each, and the bytes that it saves, 0 when it is not worth
// it. A result of many texts, or of none, becomes one text, unless it declares tools.
func shortenResult(r *wire.Request, p *wire.Part, keep int) (s shortening, saves int) {
	size := readableBytes(p)
	for i, t := range p.Texts {
		if t.Len() <= keep {
			continue
		}
		text := string(wire.Unquote(nil, r.Raw(t)))
		if cut := cutText(text, keep); cut != text {
			if s.texts == nil {
				s.texts = map[int]string{}
			}
			s.texts[i] = cut
			// The literal is written in its shortest form; the old one may have been shorter
			// only by the escapes of what was cut.
			saves += t.Len() - len(wire.Quote(nil, cut))
		}
	}
	if !p.Declares && (size-saves >= 3*keep || len(p.Texts) == 0 && size > keep) {
		text := resultText(r, p)
		cut := cutText(text, keep)
		if cut == text || !r.TakesText(p) {
			return s, max(0, saves)
		}
		return shortening{whole: cut}, size - len(cut)
	}
	return s, max(0, saves)
}

const (
	cutBegin = "\n[Plimsoll cut "
	cutEnd   = " bytes out of this result here to make room; its beginning and its end are kept]\n"
)

// cutText returns text cut to about keep bytes, with a line in the middle that says how many bytes were cut out, earlier cuts included. A
// shorter text is returned as it is.
func cutText(text string, keep int) string {
	before := 0
	if _, rest, ok := strings.Cut(text, cutBegin); ok {
		if number, _, ok := strings.Cut(rest[:min(len(rest), 20)], " "); ok {
			before, _ = strconv.Atoi(number)
			before = max(0, before)
		}
	}
	return limit.Cut(text, keep, func(cut int) string { return cutBegin + strconv.Itoa(cut+before) + cutEnd })
}

// resultText returns a result as one text; one that is a JSON object as JSON.
func resultText(r *wire.Request, p *wire.Part) string {
	if !p.Raw.IsZero() {
		return string(r.Raw(p.Raw)) // names and numbers between the texts count too
	}
	return partText(r, p)
}
