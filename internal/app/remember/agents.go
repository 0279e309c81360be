package remember

import (
	"context"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
)

// AgentKeeper takes what is said to one of Plimsoll's own agents; nil where nothing is kept, or only what is cut: an agent keeps its
// conversations whole.
func (p *Plane) AgentKeeper() agent.Keeper {
	if !p.Turns() {
		return nil
	}
	return agentKeeper{p}
}

// AgentRecaller adds to questions what the user said before; nil unless the memory is switched on.
func (p *Plane) AgentRecaller() agent.Recaller {
	if p == nil || !p.on {
		return nil
	}
	return agentRecaller{p}
}

// agentRecaller implements [agent.Recaller].
type agentRecaller struct{ *Plane }

// indexWait bounds the wait of an agent's question for the index, which a command that asks once has only begun to read.
const indexWait = 2 * time.Second

// Recall implements [agent.Recaller].
func (k agentRecaller) Recall(ctx context.Context, session, question string, earlier []agent.Message) string {
	ctx, cancel := context.WithTimeout(ctx, indexWait)
	defer cancel()
	k.WaitReady(ctx)
	q := proxy.Prompt{Conversation: session, Text: question, First: true}
	for i := range earlier {
		if m := &earlier[i]; m.Role == agent.RoleUser {
			q.First = false
			q.Recalled = append(q.Recalled, capture.Unwrap(m.Text)...)
		}
	}
	return recaller(k).Recall(ctx, q)
}

// agentKeeper implements [agent.Keeper].
type agentKeeper struct{ *Plane }

// Keep implements [agent.Keeper].
func (k agentKeeper) Keep(session string, place int, at time.Time, ms []agent.Message) {
	size := int64(0)
	for i := range ms {
		size += int64(len(ms[i].Text) + 64)
		for _, c := range ms[i].Calls {
			size += int64(len(c.Arguments))
		}
	}
	k.parts.Add(1)
	k.queue.Put(size, func() []memory.Record { return k.turns(session, place, at, ms) })
}

// turns returns the records of messages of an agent. A question is the user's where a person types at a terminal.
func (p *Plane) turns(session string, place int, at time.Time, ms []agent.Message) []memory.Record {
	of := capture.Conversation{Namespace: p.o.Namespace, Client: p.o.Client, Run: p.o.Run, Name: session}
	var said []capture.Said
	for i := range ms {
		m := &ms[i]
		s := capture.Said{Role: string(m.Role), Tool: m.Name, Text: m.Text, Turn: place + i + 1, At: at, Origin: memory.OriginTool}
		switch m.Role {
		case agent.RoleUser:
			if !p.o.Inside {
				s.Origin = memory.OriginUser
			}
		case agent.RoleAssistant:
			s.Origin = memory.OriginAgent
		case agent.RoleTool:
			s.Kind = capture.Result
		}
		said = append(said, s)
		for _, c := range m.Calls {
			said = append(said, capture.Said{Kind: capture.Call, Role: s.Role, Tool: c.Name, Text: c.Arguments, Turn: s.Turn, At: at, Origin: memory.OriginAgent})
		}
	}
	return capture.Episodes(of, said)
}
