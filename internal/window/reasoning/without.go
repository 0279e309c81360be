package reasoning

import (
	"errors"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Without takes the reasoning out of the messages from an index on, and returns how many parts went. A
// message that was nothing but reasoning goes as a whole. The same request and 0 when there was none.
//
//   - Messages: thinking and redacted_thinking. Where a turn that still runs would then begin without
//     thinking and the request gives thinking a budget, thinking is turned off for this request: the
//     models that have budgets refuse such a turn.
//   - Responses: reasoning items that came with their content, and all where the provider keeps nothing
//     ("store": false). One that is only named is the provider's own copy and fits.
//   - Chat: what is signed (reasoning_details, thinking_blocks), and beside it the same in plain words.
//     Words that nobody signed stay: some providers demand them back.
//   - Gemini: nothing. A signature there is bound to its part alone, and a call without one is refused.
//
// The error is of the edit itself; the request is then as it was.
func Without(r *wire.Request, from int) (*wire.Request, int, error) {
	return without(r, from, r.Dialect.Rules().Bound(r))
}

// without takes out the parts of reasoning that a choice is true for.
func without(r *wire.Request, from int, choice func(*wire.Message, *wire.Part) bool) (*wire.Request, int, error) {
	d, n := r.Draft(), 0
	for i := max(from, 0); i < len(r.Messages); i++ {
		m := &r.Messages[i]
		for j := range m.Parts {
			if p := &m.Parts[j]; p.Kind == wire.Reasoning && choice(m, p) {
				d.DropPart(i, j)
				n++
			}
		}
	}
	if n == 0 {
		return r, 0, nil
	}
	next, err := d.Build()
	if err != nil {
		return r, 0, err
	}
	if len(next.Messages) == 0 {
		return r, 0, nil // there was nothing else: no request is left
	}
	if r.Dialect.Rules().SignedThinking && budgeted(next) {
		if broken, ok := errors.AsType[*wire.Invalid](wire.ValidateEdit(r.Dialect, r.Body, next.Body)); ok && broken.Rule == wire.RuleThinkingFirst {
			if next, err = notThinking(next); err != nil {
				return r, 0, err
			}
		}
	}
	return next, n, nil
}

// budgeted reports whether a request gives thinking a budget, as models before Claude 4.7 want it.
func budgeted(r *wire.Request) bool {
	kind, _ := rawjson.Text(r.Raw(r.ThinkingSpan), "type")
	return kind == "enabled"
}

// notThinking returns a request that asked for thinking and asks for none.
func notThinking(r *wire.Request) (*wire.Request, error) {
	d := r.Draft()
	d.Replace(r.ThinkingSpan, []byte(`{"type":"disabled"}`))
	return d.Build()
}
