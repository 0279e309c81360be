package reasoning

import (
	"bytes"
	"errors"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Mend changes a request that was refused for its reasoning into one that is worth a second try, and returns the number of parts it
// changed; r itself and 0 if nothing is known to help. For most causes it calls [Without] from the message on that the provider named, as
// it has accepted those before.
func Mend(r *wire.Request, refused Refusal) (*wire.Request, int, error) {
	rules := r.Dialect.Rules()
	switch {
	case rules.Unsigned != "":
		return replaceSignatures(r, refused, rules.Unsigned)
	case refused.Form == "anthropic.first" && rules.SignedThinking && hasBudget(r):
		next, err := disableThinking(r)
		if err != nil {
			return r, 0, err
		}
		return next, 1, nil
	case refused.Cause == Wanted:
		return r, 0, nil // it is not ours to make up
	case rules.Items && refused.Cause == Missing:
		// Of the provider's own copies one is not there: then none is. Items with their content may stay.
		return dropReasoning(r, 0, func(_ *wire.Message, p *wire.Part) bool { return p.Sealed.IsZero() })
	case rules.Items && refused.Form == "openai.alone":
		return dropReasoning(r, 0, func(*wire.Message, *wire.Part) bool { return true })
	case rules.Items:
		return Without(r, 0) // items are encrypted for an account: what goes for one goes for all
	}
	if refused.Message >= len(r.Messages) { // a gateway may number otherwise
		refused.Message = 0
	}
	return Without(r, refused.Message)
}

// replaceSignatures replaces all signatures by the provider's placeholder unsigned, if one was refused as invalid. If one was missing, it
// adds the placeholder to the first call of each message in the running turn.
func replaceSignatures(r *wire.Request, refused Refusal, unsigned string) (*wire.Request, int, error) {
	from := 0
	if refused.Cause == Wanted {
		from = lastPrompt(r)
	}
	var edits []wire.Edit
	for i := from; i < len(r.Messages); i++ {
		m := &r.Messages[i]
		called := false
		for j := range m.Parts {
			p := &m.Parts[j]
			first := p.Kind == wire.Call && !called
			called = called || first
			switch {
			case refused.Cause != Wanted && !p.Sealed.IsZero() && !bytes.Equal(r.Raw(p.Sealed), []byte(unsigned)):
				edits = append(edits, wire.Edit{Span: p.Sealed, With: []byte(unsigned)})
			case refused.Cause == Wanted && first && p.Sealed.IsZero() && m.Role == wire.RoleAssistant:
				edits = append(edits, signatureFor(r, p, unsigned))
			}
		}
	}
	if len(edits) == 0 {
		return r, 0, nil
	}
	body, err := wire.Splice(r.Body, edits)
	if err != nil {
		return r, 0, err
	}
	next, err := wire.Parse(r.Dialect, body)
	if err != nil {
		return r, 0, err
	}
	next.Model, next.Stream = r.Model, r.Stream
	return next, len(edits), nil
}

// signatureFor returns the edit that adds the placeholder unsigned to a part with a call, or puts it in place of a null.
func signatureFor(r *wire.Request, p *wire.Part, unsigned string) wire.Edit {
	for m, err := range rawjson.Members(r.Body, p.Span.Start) {
		if err != nil {
			break
		}
		if name := string(m.Key); name == "thoughtSignature" || name == "thought_signature" {
			return wire.Edit{Span: m.Value, With: []byte(unsigned)}
		}
	}
	at := wire.Span{Start: p.Span.Start + 1, End: p.Span.Start + 1} // a part that calls is not empty
	return wire.Edit{Span: at, With: []byte(`"thoughtSignature":` + unsigned + `,`)}
}

// lastPrompt returns the index of the newest message of the user that has more than results, where the running turn begins; 0 without one.
func lastPrompt(r *wire.Request) int {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := &r.Messages[i]
		if m.Role != wire.RoleUser {
			continue
		}
		for j := range m.Parts {
			if m.Parts[j].Kind != wire.Result {
				return i
			}
		}
	}
	return 0
}

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
	return dropReasoning(r, from, r.Dialect.Rules().Bound(r))
}

// dropReasoning removes the parts of reasoning for which choice returns true, in messages with index from and later. It returns r and 0 if
// there are none, or if nothing else would be left.
func dropReasoning(r *wire.Request, from int, choice func(*wire.Message, *wire.Part) bool) (*wire.Request, int, error) {
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
	if r.Dialect.Rules().SignedThinking && hasBudget(next) {
		if broken, ok := errors.AsType[*wire.Invalid](wire.ValidateEdit(r.Dialect, r.Body, next.Body)); ok && broken.Rule == wire.RuleThinkingFirst {
			if next, err = disableThinking(next); err != nil {
				return r, 0, err
			}
		}
	}
	return next, n, nil
}

// hasBudget reports whether a request gives thinking a budget, as models before Claude 4.7 want it.
func hasBudget(r *wire.Request) bool {
	kind, _ := rawjson.Text(r.Raw(r.ThinkingSpan), "type")
	return kind == "enabled"
}

// disableThinking returns the request with thinking switched off.
func disableThinking(r *wire.Request) (*wire.Request, error) {
	d := r.Draft()
	d.Replace(r.ThinkingSpan, []byte(`{"type":"disabled"}`))
	return d.Build()
}
