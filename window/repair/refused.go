package repair

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// The words by which a provider of Responses names a call without its output, or an output without its call, in lower case.
const (
	noOutput = "no tool output found for "
	noCall   = "no tool call found for "
	withID   = " output with call_id "
)

// RepairRefused repairs the pair that a refusal names, for a conversation of which the provider keeps a part itself (previous_response_id,
// a conversation): a call there without an output gets a note, and an output whose call is nowhere is dropped. words is the provider's
// text. It returns r itself if the refusal names no such pair.
func RepairRefused(r *wire.Request, words string) (*wire.Request, []Action, error) {
	if r.Dialect.Rules().Results != wire.ResultsAnywhere || !r.Bypass.Partial() {
		return r, nil, nil
	}
	if kind, id := namedCall(words, noOutput, " "); id != "" {
		return answerKept(r, kind, id)
	}
	if _, id := namedCall(words, noCall, withID); id != "" {
		return dropResults(r, id)
	}
	return r, nil, nil
}

// namedCall returns the type and the id of the call that a refusal names behind intro, with sep between the two; "" if it names none.
func namedCall(words, intro, sep string) (kind, id string) {
	at := strings.Index(strings.ToLower(words), intro)
	if at < 0 || len(strings.ToLower(words)) != len(words) {
		return "", ""
	}
	const suffix = " call"
	kind, rest, ok := strings.Cut(words[at+len(intro):], suffix+sep)
	if !ok {
		return "", ""
	}
	end := strings.IndexFunc(rest, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-' && r != ':'
	})
	if end >= 0 {
		rest = rest[:end]
	}
	return strings.ReplaceAll(strings.ToLower(kind+suffix), " ", "_"), rest
}

// answerKept inserts, in front of all messages, a note as the output of a call that only the provider has. If r has that call or an output
// for it, it returns r itself.
func answerKept(r *wire.Request, kind, id string) (*wire.Request, []Action, error) {
	if hasID(r, id) {
		return r, nil, nil
	}
	note := wire.ResultElement(r.Dialect, wire.Part{Kind: wire.Call, Type: kind, CallID: id}, Note, true)
	if note == nil {
		return r, nil, nil
	}
	d := r.Draft()
	d.InsertMessages(0, note)
	next, err := d.Build()
	if err != nil {
		return r, nil, err
	}
	return next, []Action{{Kind: Synthesised, CallID: id}}, nil
}

// dropResults drops the results with an id, if no call in r has it. A message that is empty then gets words of the user. If it drops
// nothing it returns r itself.
func dropResults(r *wire.Request, id string) (*wire.Request, []Action, error) {
	d := r.Draft()
	var actions []Action
	for i := range r.Messages {
		m := &r.Messages[i]
		if slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == wire.Call && p.CallID == id }) {
			return r, nil, nil
		}
		if slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == wire.Result && p.CallID == id }) {
			d.DropMessages(i, i+1)
			actions = append(actions, Action{Kind: Dropped, Message: i, CallID: id, Bytes: m.Span.Len()})
		}
	}
	if len(actions) == 0 {
		return r, nil, nil
	}
	if len(actions) == len(r.Messages) {
		d.InsertMessages(0, wire.TextMessage(r.Dialect, wire.RoleUser, nothing))
	}
	next, err := d.Build()
	if err != nil {
		return r, nil, err
	}
	return next, actions, nil
}

// hasID reports whether a call or a result in r has that id.
func hasID(r *wire.Request, id string) bool {
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			if p.CallID == id && (p.Kind == wire.Call || p.Kind == wire.Result) {
				return true
			}
		}
	}
	return false
}
