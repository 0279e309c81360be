package remember

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/window/wire"
)

// keeper implements [proxy.Keeper].
type keeper struct{ *Plane }

// Keep implements [proxy.Keeper]. It only queues: the excerpt is looked into later.
func (k keeper) Keep(e proxy.Excerpt) {
	k.parts.Add(1)
	k.queue.Put(int64(len(e.Body)), func() []memory.Record { return k.episodes(&e) })
}

// episodes returns the records of an excerpt.
func (p *Plane) episodes(e *proxy.Excerpt) []memory.Record {
	r, err := wire.Parse(e.Dialect, e.Body)
	if err != nil || len(r.Messages) != len(e.Places) {
		return nil // it was read before: only a bug comes here
	}
	of := capture.Conversation{
		Namespace: p.o.Namespace, Scope: e.Scope, Client: e.Speaker.Client, Run: p.o.Run, Name: e.Conversation,
	}
	if of.Client == "" {
		of.Client = p.o.Client
	}
	for _, text := range e.Recalled {
		of.Recalled = append(of.Recalled, capture.Unwrap(text)...)
	}
	var said []capture.Said
	for i := range r.Messages {
		said = append(said, p.said(e, r, i)...)
	}
	return capture.Episodes(of, said)
}

// said returns what one message of an excerpt says.
func (p *Plane) said(e *proxy.Excerpt, r *wire.Request, i int) (all []capture.Said) {
	m := &r.Messages[i]
	if m.Role == wire.RoleSystem {
		return nil
	}
	var typed []int
	if !p.o.Inside {
		typed = e.Speaker.Typed(r, i)
	}
	for j := range m.Parts {
		part := &m.Parts[j]
		s := capture.Said{Role: m.Role.String(), Tool: part.Name, Turn: e.Places[i] + 1, At: e.SeenAt, Origin: memory.OriginTool, Text: r.Words(part)}
		switch part.Kind {
		case wire.Text:
			switch {
			case m.Role == wire.RoleAssistant:
				s.Origin = memory.OriginAgent
			case slices.Contains(typed, j):
				s.Origin = memory.OriginUser
			}
		case wire.Call:
			s.Kind, s.Origin = capture.Call, memory.OriginAgent
		case wire.Result:
			call := e.Call(r, i, j)
			s.Kind, s.Command = capture.Result, call.Command
			if s.Tool == "" {
				s.Tool = call.Tool
			}
		default:
			continue // thoughts led to what was said; media has no words
		}
		if s.Text == "" && !part.Raw.IsZero() {
			s.Text = string(r.Raw(part.Raw))
		}
		all = append(all, s)
	}
	return all
}
