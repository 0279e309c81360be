package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// tally adds a request's usage to that of the query. It locks the state, because a summary may arrive after the request for it was given
// up.
func (r *Run) tally(u Usage) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.usage.Input += max(u.Input, 0)
	r.usage.Cached += max(u.Cached, 0)
	r.usage.Output += max(u.Output, 0)
}

// summarize makes a request to the model for a summary, and adds its usage. It implements [summarizer].
func (r *Run) summarize(ctx context.Context, req *Request) (reply *Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			reply, err = nil, fmt.Errorf("the adapter panicked: %v", p)
		}
	}()
	reply, err = r.a.o.Model.Generate(ctx, req, func(string) {})
	if err == nil && reply != nil {
		r.tally(reply.Usage)
	}
	return reply, err
}

// tidyReply returns a reply in a form that can be stored: within the bounds of a message, as valid UTF-8, and with usable calls. It emits
// text that was not streamed, and a warning about what it leaves out.
func (r *Run) tidyReply(reply *Reply) answer {
	l := r.a.o.Limits
	out := answer{Reply: &Reply{Message: reply.Message, Stop: reply.Stop, Reason: limit.Clip(strings.ToValidUTF8(reply.Reason, "\uFFFD"), 64), Usage: reply.Usage}}
	m := &out.Message
	m.Role, m.CallID, m.Name, m.Failed = RoleAssistant, "", "", false
	m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	streamed := r.state.unstream()
	if streamed == "" {
		pieces(m.Text, func(p string) { r.events.emit(Event{Kind: EventText, Step: r.steps, Text: p}) })
	} else if m.Text == "" {
		m.Text = streamed
	}
	if maxBytes := max(int(l.MaxAnswer)-len(r.state.partial), 0); len(m.Text) > maxBytes {
		m.Text, out.full = strings.Clone(limit.Clip(m.Text, maxBytes)), true
	}
	if len(m.Opaque) > int(maxOpaque) {
		r.warn("what the model wants back with its message has %d bytes, more than %d, and was left out", len(m.Opaque), maxOpaque)
		m.Opaque = nil
	}
	m.Calls = r.tidyCalls(m.Calls)
	return out
}

// tidyCalls returns the calls with ids that are unique in the conversation, and bounds their number, names and arguments.
func (r *Run) tidyCalls(calls []Call) []Call {
	if len(calls) == 0 {
		return nil
	}
	if maxCalls := 2 * r.a.o.Limits.MaxCalls; len(calls) > maxCalls {
		r.warn("the model made %d calls in one step; all beyond %d were left out", len(calls), maxCalls)
		calls = calls[:maxCalls]
	}
	used := map[string]bool{}
	for _, m := range r.state.list() {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	tidied := make([]Call, len(calls))
	room := int(maxArguments)
	for i, c := range calls {
		c.Name, c.Arguments = strings.ToValidUTF8(c.Name, "\uFFFD"), strings.ToValidUTF8(c.Arguments, "\uFFFD")
		// Providers take ids of up to 64 characters, and refuse two calls with the same id.
		if c.ID == "" || len(c.ID) > 64 || used[c.ID] {
			c.ID = "call_" + rand.Text()[:20]
		}
		used[c.ID] = true
		if len(c.Name) > 128 {
			c.Name = limit.Clip(c.Name, 128)
		}
		if strings.TrimSpace(c.Arguments) == "" {
			c.Arguments = "{}"
		}
		if len(c.Arguments) > room {
			r.warn("the arguments of a call of %s have %d bytes; the calls of one step have at most %d", c.Name, len(c.Arguments), maxArguments)
			c.Arguments, _ = capText(c.Arguments, 256)
			c.Arguments = strings.Clone(c.Arguments)
		}
		room -= len(c.Arguments)
		tidied[i] = c
	}
	return tidied
}

func (r *Run) warn(format string, args ...any) {
	r.events.emit(Event{Kind: EventWarning, Step: r.steps, Text: limit.Clip(fmt.Sprintf(format, args...), int(maxPiece))})
}
