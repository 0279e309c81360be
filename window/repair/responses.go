package repair

import "github.com/plimsoll/plimsoll/window/wire"

// anywhere gives every call of Responses an output behind it. The provider does not mind where it stands, so an output behind its call
// stays.
func (p *pairing) anywhere() {
	p.rename()
	kept := make([]bool, len(p.results))
	gone := map[int]bool{} // items that leave
	for _, i := range p.serve() {
		gone[i] = true
	}
	for k := range p.calls {
		c := &p.calls[k]
		switch {
		case c.drop:
			gone[c.msg] = true
		case c.result != none && p.results[c.result].msg > c.msg:
			kept[c.result] = true
		case c.result != none:
			p.draft.InsertMessages(p.behind(c.msg), p.brought(c))
		case c.group == p.open || !owesOutput(p.r, p.partOf(c)):
		default:
			if raw := p.note(c); raw != nil {
				p.draft.InsertMessages(p.behind(c.msg), raw)
				continue
			}
			gone[c.msg] = true
			p.draft.DropMessages(c.msg, c.msg+1)
			p.did(Dropped, c.msg, c.id, p.partOf(c).Span.Len())
		}
	}
	for s := range p.results {
		gone[p.results[s].msg] = gone[p.results[s].msg] || !kept[s] && !p.results[s].elsewhere
	}
	p.settle(kept)
	p.thoughts(gone)
}

// thoughts drops reasoning items whose next item the model did not make. gone are the messages that are dropped. At the very end reasoning
// is left alone: the turn is open. What is inserted stands behind calls, so it follows no reasoning.
func (p *pairing) thoughts(gone map[int]bool) {
	follows := true // what comes next is the model's, or the end
	for i := len(p.r.Messages) - 1; i >= p.edge; i-- {
		if gone[i] {
			continue
		}
		if m := &p.r.Messages[i]; isReasoning(m) {
			if !follows {
				p.draft.DropMessages(i, i+1)
				p.did(Reasoning, i, "", m.Span.Len())
			}
			continue // those before it share its fate
		}
		follows = mayFollowReasoning(&p.r.Messages[i])
	}
}

func isReasoning(m *wire.Message) bool {
	return len(m.Parts) == 1 && m.Parts[0].Kind == wire.Reasoning && m.Parts[0].Type == "reasoning"
}

// mayFollowReasoning reports whether an item may follow a reasoning item: the model made it, or the provider for the model.
func mayFollowReasoning(m *wire.Message) bool {
	switch m.Role {
	case wire.RoleAssistant:
		return true
	case wire.RoleUser, wire.RoleSystem:
		return false
	}
	if len(m.Parts) != 1 {
		return true
	}
	switch m.Parts[0].Type {
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "shell_call_output",
		"apply_patch_call_output", "computer_call_output", "mcp_approval_response":
		return false
	}
	return true
}
