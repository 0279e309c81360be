package recall

import (
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/memory/signs"
)

// order tells whether a prompt begins as an order does.
type order uint8

const (
	none    order = iota
	ordered       // fix, führe … aus, 修复, arregla
	asked         // an order to tell something: list, erinnere mich, 告诉我, dime
)

// readSigns sets the fields of the prompt that depend on single words: whether it asks, whether it speaks of the user's own things, and
// others. It returns what kind of order the prompt is.
func (p *Prompt) readSigns(all []unit) order {
	p.asks = hasQuestionMark(p.Query)
	if len(all) == 0 {
		return none
	}
	first := true // no word stood before but polite ones
	told := none
	for i, t := range all {
		if t.Dense {
			first = false // see readHanSigns
			continue
		}
		in := signs.Lookup(t.Word)
		p.mine = p.mine || in&signs.Mine != 0
		p.said = p.said || in&signs.Said != 0
		p.List = p.List || in&signs.List != 0
		p.world = p.world || in&signs.General != 0
		p.fact = p.fact || in&signs.Fact != 0 && i < 3
		p.why = p.why || in&signs.Reason != 0
		p.should = p.should || in&signs.Should != 0 && i < 3
		if in&signs.Person != 0 {
			p.mine = p.mine || i+1 < len(all) && signs.Lookup(all[i+1].Word)&signs.Likes != 0 || i > 0 && signs.Lookup(all[i-1].Word)&signs.Likes != 0
			p.world = p.world || i > 0 && i <= 2 && !p.should && signs.Lookup(all[0].Word)&signs.Way != 0
		}
		p.world = p.world || i == 1 && t.Word == "to" && signs.Lookup(all[0].Word)&signs.Way != 0
		if in&signs.Here != 0 && !pointsElsewhere(all, i) {
			p.here = true
		}
		if !first {
			continue
		}
		switch {
		case in&signs.Question != 0 && in&signs.Polite == 0:
			p.asks, first = true, false
		case in&signs.Ask != 0:
			told, first = asked, false
		case in&signs.Order != 0 && t.Parts == 1 && !t.isName(true): // try-catch tells nobody to try
			told, first = ordered, false
		case in&signs.Polite == 0 && in&signs.Greeting == 0:
			first = false
		}
	}
	if told == ordered && strings.HasSuffix(p.Query, "?") && signs.Lookup(all[0].Word)&signs.Order != 0 {
		told = none // try-catch around the call?
	}
	p.readHanSigns(&told)
	return told
}

// hasQuestionMark reports whether a text has a question mark anywhere.
func hasQuestionMark(text string) bool {
	return strings.Contains(text, "?") || strings.Contains(text, "？")
}

// pointsElsewhere reports whether all[i], a word that points (this, diese), stands before a word of time or place, and so does not point at the code
// at hand: this quarter, this week.
func pointsElsewhere(all []unit, i int) bool {
	if i+1 >= len(all) {
		return false
	}
	r := all[i+1].rank
	return r == everyday || r == rare && all[i+1].Term != ""
}

// readHanSigns is readSigns for scripts without spaces, in which words are found by their characters alone. It changes told if the prompt begins as
// an order.
func (p *Prompt) readHanSigns(told *order) {
	if !strings.ContainsFunc(p.Query, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		return
	}
	var has, begins uint64
	for w, in := range signs.Words() {
		if !signs.IsHan(w) || !strings.Contains(p.Query, w) {
			continue
		}
		has |= in
		if strings.HasPrefix(p.Query, w) {
			begins |= in
		}
	}
	p.asks = p.asks || has&signs.Question != 0
	p.mine = p.mine || has&signs.Mine != 0
	p.said = p.said || has&signs.Said != 0
	p.here = p.here || has&signs.Here != 0
	p.world = p.world || has&signs.General != 0
	p.fact = p.fact || has&signs.Fact != 0
	p.why = p.why || has&signs.Reason != 0
	p.should = p.should || has&signs.Should != 0
	p.List = p.List || has&signs.List != 0
	switch {
	case begins&signs.Ask != 0:
		*told = asked
	case begins&signs.Order != 0 && !p.asks:
		*told = ordered
	}
}

// isCommand reports whether a prompt is a command of a client or a shell: /compact, !ls, git push origin HEAD, npm run build, ls -la.
func isCommand(text string) bool {
	if strings.ContainsAny(text[:1], "/!") && !strings.Contains(text, "\n") && len(text) < 200 {
		return true
	}
	if strings.Contains(text, "\n") || hasQuestionMark(text) {
		return false
	}
	fields := strings.Fields(text)
	if len(fields) > 12 {
		return false
	}
	marks, functions := 0, 0
	for i, f := range fields {
		switch {
		case i > 0 && (strings.HasPrefix(f, "-") && len(f) > 1 || strings.HasPrefix(f, "./") || strings.HasPrefix(f, "/") || f == "&&" || f == "|" || strings.Contains(f, "/...")):
			marks++
		case rankOfWord(strings.ToLower(f)) == function:
			functions++
		}
	}
	return marks > 0 && functions == 0 || len(fields) <= 4 && functions == 0 && listed.Of(fields[0])&listProgram != 0 && len(fields) > 1
}
