package agent

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// encoding is a history and the request that it was encoded as. It translates edits of the request back into the history.
type encoding struct {
	ms      []Message
	request *wire.Request
	groups  [][2]int // the messages [from,to) of the history that each message of the request holds
	results map[string]resultAt
}

// resultAt is the place of a result in the history and in the request.
type resultAt struct {
	message int // of the history
	part    *wire.Part
}

// newEncoding finds out which messages of the request hold which messages of the history. It returns an error if the request does not match
// the history.
func newEncoding(ms []Message, r *wire.Request) (*encoding, error) {
	merged := r.Dialect.Rules().Merges
	if r.Dialect.Rules().Items {
		return nil, fmt.Errorf("its adapter encodes requests as %s, which an agent does not read", r.Dialect)
	}
	e := &encoding{ms: ms, request: r, groups: make([][2]int, len(r.Messages))}
	next := 0
	for i := range r.Messages {
		from := next
		if r.Messages[i].Role != wire.RoleSystem {
			if next == len(ms) || fromModel(&ms[next]) != (r.Messages[i].Role == wire.RoleAssistant) {
				return nil, fmt.Errorf("message %d of the encoded request is not message %d of the history, of %d", i+1, next+1, len(ms))
			}
			for next++; merged && next < len(ms) && fromModel(&ms[next]) == fromModel(&ms[from]); {
				next++
			}
		}
		e.groups[i] = [2]int{from, next}
	}
	if next < len(ms) {
		return nil, fmt.Errorf("the encoded request holds %d of %d messages", next, len(ms))
	}
	return e, nil
}

func fromModel(m *Message) bool { return m.Role == RoleAssistant }

// largest returns the index of the largest message of the history that a message of the request holds; false if it holds none, as the
// system prompt does.
func (e *encoding) largest(message int) (at int, ok bool) {
	if message < 0 || message >= len(e.groups) {
		return 0, false
	}
	for i := e.groups[message][0]; i < e.groups[message][1]; i++ {
		if !ok || e.ms[i].size() > e.ms[at].size() {
			at, ok = i, true
		}
	}
	return at, ok
}

// history returns the history after edits: now is the request that the patches make from the encoded one. Messages that were not edited are
// returned as they were.
func (e *encoding) history(now *wire.Request, patches []compact.Patch) ([]Message, error) {
	out := make([]Message, 0, len(e.ms))
	next, at := 0, 0 // of the encoded request; of now
	unchanged := func(to int) {
		for ; next < to; next++ {
			out = append(out, e.ms[e.groups[next][0]:e.groups[next][1]]...)
			at++
		}
	}
	for _, p := range patches {
		unchanged(p.From)
		for range p.With {
			if at < len(now.Messages) {
				out = e.appendEdited(out, now, &now.Messages[at])
			}
			at++
		}
		next = p.To
	}
	unchanged(len(e.groups))
	if at != len(now.Messages) {
		return nil, fmt.Errorf("agent: the edited conversation has %d messages, and its edits lead to %d", len(now.Messages), at)
	}
	return out, nil
}

// appendEdited appends the messages of the history for a message that compaction has written: results with other texts, or a summary.
func (e *encoding) appendEdited(out []Message, r *wire.Request, m *wire.Message) []Message {
	model := Message{Role: RoleAssistant}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch text := r.Words(p); {
		case p.Kind == wire.Result:
			out = append(out, e.result(p, text))
		case p.Kind == wire.Call:
			model.Calls = append(model.Calls, Call{ID: p.CallID, Name: p.Name, Arguments: arguments(r, p, text)})
		case p.Kind == wire.Text && m.Role == wire.RoleAssistant:
			model.Text += text
		case p.Kind == wire.Text && m.Role != wire.RoleSystem:
			out = append(out, Message{Role: RoleUser, Text: text})
		}
	}
	if model.Text != "" || len(model.Calls) > 0 {
		out = append(out, model)
	}
	return out
}

// arguments returns the arguments of a call: its JSON, or if it has them in a string, text, which is what that says.
func arguments(r *wire.Request, p *wire.Part, text string) string {
	if !p.Raw.IsZero() {
		return string(r.Raw(p.Raw))
	}
	return text
}

// result returns the message of the history for a result, with the text that it has after an edit.
func (e *encoding) result(p *wire.Part, text string) Message {
	was, known := e.findResult(p.CallID)
	if !known {
		return Message{Role: RoleTool, CallID: p.CallID, Text: text, Failed: p.Failed}
	}
	m := e.ms[was.message]
	if text != e.request.Words(was.part) { // else it has the text that it had, which adapters may send in another form
		m.Text = text
	}
	return m
}

// findResult returns the place of a result by the id of its call in the request, which may differ from that in the history; false if there
// is none.
func (e *encoding) findResult(id string) (resultAt, bool) {
	if e.results == nil {
		e.results = map[string]resultAt{}
		for i, group := range e.groups {
			next := group[0]
			for k := range e.request.Messages[i].Parts {
				p := &e.request.Messages[i].Parts[k]
				if p.Kind != wire.Result {
					continue
				}
				for next < group[1] && e.ms[next].Role != RoleTool {
					next++
				}
				if next == group[1] {
					break
				}
				e.results[p.CallID] = resultAt{next, p}
				next++
			}
		}
	}
	at, ok := e.results[id]
	return at, ok
}

// sentMessages returns the history as the request has it: the messages of the caller unchanged, if nothing was done; else with repairs and
// compactions.
func (p *compactionPass) sentMessages() ([]Message, error) {
	switch {
	case !p.result.Changed:
		return p.given, nil
	case p.now == p.View.Client:
		return p.encoded.ms, nil
	}
	return p.encoded.history(p.now, p.patches)
}
