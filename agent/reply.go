package agent

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// tally adds what a provider counted. A summary may come when nobody waits for it any more.
func (r *Run) tally(u Usage) {
	r.held.mu.Lock()
	defer r.held.mu.Unlock()
	r.use.Input += max(u.Input, 0)
	r.use.Cached += max(u.Cached, 0)
	r.use.Output += max(u.Output, 0)
}

// summarize is the model, asked for a summary of what no longer fits.
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

// tidy brings a reply into the bounds of a message. What it changes it says.
func (r *Run) tidy(reply *Reply) answer {
	l := r.a.o.Limits
	out := answer{Reply: &Reply{Message: reply.Message, Stop: reply.Stop, Usage: reply.Usage}}
	m := &out.Message
	m.Role, m.CallID, m.Name, m.Failed = RoleAssistant, "", "", false
	m.Text = strings.ToValidUTF8(m.Text, "\uFFFD")
	streamed := r.held.unstream()
	if streamed == "" {
		pieces(m.Text, func(p string) { r.events.emit(Event{Kind: EventText, Step: r.steps, Text: p}) })
	} else if m.Text == "" {
		m.Text = streamed
	}
	if most := max(int(l.MaxAnswer)-len(r.held.partial), 0); len(m.Text) > most {
		m.Text, out.full = strings.Clone(limit.Clip(m.Text, most)), true
	}
	if len(m.Opaque) > int(maxOpaque) {
		r.warn("what the model wants back with its message has %d bytes, more than %d, and was left out", len(m.Opaque), maxOpaque)
		m.Opaque = nil
	}
	m.Calls = r.tidyCalls(m.Calls)
	return out
}

// tidyCalls gives each call an id of its own, and bounds how many there are and what they take.
func (r *Run) tidyCalls(calls []Call) []Call {
	if len(calls) == 0 {
		return nil
	}
	if most := 2 * r.a.o.Limits.MaxCalls; len(calls) > most {
		r.warn("the model made %d calls in one step; all beyond %d were left out", len(calls), most)
		calls = calls[:most]
	}
	used := map[string]bool{}
	for _, m := range r.held.list() {
		for _, c := range m.Calls {
			used[c.ID] = true
		}
	}
	tidied := make([]Call, len(calls))
	room := int(maxArguments)
	for i, c := range calls {
		c.Name, c.Arguments = strings.ToValidUTF8(c.Name, "\uFFFD"), strings.ToValidUTF8(c.Arguments, "\uFFFD")
		// The providers take up to 64 characters of an id. One that was there before would
		// be the id of two calls, which they refuse.
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
