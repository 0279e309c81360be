package overflow

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/refusal"
)

// A row is one form of refusal. It matches when the status is among its statuses and one
// of its phrases is found in a text, or, when none is, when one of its codes is there:
// the words carry the numbers, the code is the surer sign.
type row struct {
	form     string // "provider.what", the name in events and metrics
	provider string
	// codes are values of code, type or status in the error object, in lower case.
	codes []string
	// phrases are tried in order, so those with more numbers come first.
	phrases []phrase
	// servers is true where a 500 is used for it too; else 200 (inside), 400, 413 and 422.
	servers bool
	// limitMember and actualMember are numeric members of the error object, in lower case.
	limitMember, actualMember string
}

func (r *row) match(status int, w refusal.Words) (Overflow, bool) {
	if status == 500 && !r.servers {
		return Overflow{}, false
	}
	n, found := r.words(w)
	if !found && !slices.ContainsFunc(r.codes, func(code string) bool { return slices.Contains(w.Codes, code) }) {
		return Overflow{}, false
	}
	if r.limitMember != "" {
		if limit := w.Counts[r.limitMember]; limit > 0 {
			n.limit = limit
		}
		if actual := w.Counts[r.actualMember]; actual > 0 {
			n.actual = actual
		}
	}
	o := Overflow{Form: r.form, Provider: r.provider, Limit: n.limit, Actual: n.actual, Output: n.output, AtLeast: n.least}
	// One token of room is asked for, so that there is something to lower the output to.
	o.LowerOutput = o.Output > 0 && o.Actual > 0 && o.Actual < o.Limit
	return o, true
}

func (r *row) words(w refusal.Words) (numbers, bool) {
	for _, p := range r.phrases {
		for _, text := range w.Texts {
			if n, ok := p.find(text); ok {
				return n, true
			}
		}
	}
	return numbers{}, false
}

// An other is a refusal for another reason that sounds alike.
type other struct {
	what  string
	codes []string
	all   []phrase // every one of them is in one and the same text
}

func (o other) matches(w refusal.Words) bool {
	if slices.ContainsFunc(o.codes, func(code string) bool { return slices.Contains(w.Codes, code) }) {
		return true
	}
	return len(o.all) > 0 && slices.ContainsFunc(w.Texts, func(text string) bool {
		return !slices.ContainsFunc(o.all, func(p phrase) bool { _, ok := p.find(text); return !ok })
	})
}
