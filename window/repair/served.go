package repair

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A spot is the position of a part in the request.
type spot struct{ msg, part int }

// A request is a call of a tool at the provider, or a request for an approval.
type request struct {
	spot
	id    string
	end   int  // index of the message that ended the turn, or in which the user went past it
	done  bool // it has its result
	again bool // a later one has the same id, and the answer to that answers both
	found bool // its result came late, in another turn, at late
	late  spot
}

// A strayResult is a result without a request, or a second one for the same request.
type strayResult struct {
	spot
	second bool
}

// An idState is the state of an id: of a request in the current turn, or in one that ended without its result, each with its index in turn
// or ended; or settled, in a turn that is over.
type idState struct {
	phase phase
	index int
}

type phase uint8

const (
	running phase = iota + 1
	waiting
	settled
)

// unansweredServed finds what is out of order among the calls that no client answers (see [wire.End]): requests of a turn that is over
// without their result, and results without a request. In Messages both stand in one turn of the model, with nothing but results of the
// client's tools between its messages; in Responses the result stands anywhere behind the request, and may be missing, except for an
// approval that the user went past. A second result in the same turn is left alone, because its effect is not known. So is a result whose
// call the provider may have.
func unansweredServed(r *wire.Request) (ended []request, strays []strayResult) {
	rules := r.Dialect.Rules()
	if !rules.Served {
		return nil, nil
	}
	var turn []request // what was asked in the turn that runs
	var seen map[string]idState
	passed := 0 // of turn: those that the user went past
	edge, edgePart := r.Edge()
	for i := edge; i < len(r.Messages); i++ {
		m := &r.Messages[i]
		if rules.Items && m.Role == wire.RoleUser {
			for ; passed < len(turn); passed++ {
				turn[passed].end = i
			}
		}
		if !rules.Items && m.Role != wire.RoleAssistant {
			if len(turn) > 0 && m.Role == wire.RoleUser && hasOwnWords(m) {
				ended = endTurn(i, ended, turn, seen)
				turn = turn[:0]
			}
			continue
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			if i == edge && j < edgePart {
				continue
			}
			if p.End == wire.Opens && p.CallID != "" {
				if seen == nil {
					seen = map[string]idState{}
				}
				seen[p.CallID] = idState{running, len(turn)}
				turn = append(turn, request{spot: spot{i, j}, id: p.CallID})
			}
			if p.End != wire.Closes || p.CallID == "" {
				continue
			}
			a := seen[p.CallID]
			if a.phase == running {
				turn[a.index].done = true
			}
			if strings.HasSuffix(p.Type, "_call") { // one that names what allowed it stands by itself
				continue
			}
			switch a.phase {
			case running:
			case waiting:
				ended[a.index].late, ended[a.index].found = spot{i, j}, true
				seen[p.CallID] = idState{phase: settled}
			default:
				strays = append(strays, strayResult{spot{i, j}, a.phase == settled})
			}
		}
	}
	if r.Bypass.Partial() {
		return ended, nil
	}
	for n, a := range turn[:passed] {
		if !a.done && seen[a.id] == (idState{running, n}) && r.Messages[a.msg].Parts[a.part].Type == approvalRequest {
			ended = append(ended, a)
		}
	}
	return ended, strays
}

// approvalRequest is the type of item that must be answered before the user says anything else.
const approvalRequest = "mcp_approval_request"

// unansweredText is the reason given when an approval is refused that nobody answered.
const unansweredText = "[Nobody answered this request.]"

// endTurn appends to ended the requests in turn that have no result. end is the index of the message that ends the turn. Of a request that
// was made again only the last one waits for a result.
func endTurn(end int, ended, turn []request, seen map[string]idState) []request {
	for n, a := range turn {
		switch {
		case seen[a.id] != idState{running, n}: // asked again
			if newest := seen[a.id]; !a.done && newest.phase == running && !turn[newest.index].done {
				a.end, a.again = end, true
				ended = append(ended, a)
			}
		case a.done:
			seen[a.id] = idState{phase: settled}
		default:
			seen[a.id] = idState{waiting, len(ended)}
			a.end = end
			ended = append(ended, a)
		}
	}
	return ended
}

// hasOwnWords reports whether a user's message contains anything but results.
func hasOwnWords(m *wire.Message) bool {
	for j := range m.Parts {
		if m.Parts[j].Kind != wire.Result {
			return true
		}
	}
	return false
}

// isServedInOrder reports whether the calls that no client answers need no repair.
func isServedInOrder(r *wire.Request) bool {
	ended, strays := unansweredServed(r)
	return len(ended)+len(strays) == 0
}

// repairServed repairs the calls that no client answers. A request gets its result that came too late, or an error as the provider writes
// it; if no form for that is known, it is dropped. A result without a request is dropped. Messages that were sent before stay: their
// requests are answered in a message of the model's own, before the one that ends the turn. It returns the indices of the messages in which
// parts were dropped.
func (p *pairing) repairServed() (gone []int) {
	ended, strays := unansweredServed(p.r)
	drops := map[int][]int{}
	drop := func(at spot, kind string) {
		part := &p.r.Messages[at.msg].Parts[at.part]
		drops[at.msg] = append(drops[at.msg], at.part)
		p.addAction(kind, at.msg, part.CallID, part.Span.Len())
	}
	closing := map[int][][]byte{} // by message that ends a turn
	for i := range ended {
		a := &ended[i]
		part := &p.r.Messages[a.msg].Parts[a.part]
		raw := errorResult(part)
		switch {
		case a.again && raw != nil:
			continue
		case a.end < p.frozen: // it was sent like that
			if a.found && a.late.msg >= p.frozen {
				drop(a.late, Dropped)
			}
			continue
		case a.found:
			raw = slices.Clone(p.r.Raw(p.r.Messages[a.late.msg].Parts[a.late.part].Span))
			drops[a.late.msg] = append(drops[a.late.msg], a.late.part)
			p.addAction(Moved, a.late.msg, a.id, 0)
		case raw != nil:
			p.addAction(Synthesised, a.msg, a.id, 0)
		default: // where it was sent, that is a cut
			drop(a.spot, Dropped)
			continue
		}
		switch {
		case p.rules.Items:
			p.draft.InsertMessages(a.end, raw)
		case a.msg < p.frozen && !hasResult(&p.r.Messages[a.end]):
			closing[a.end] = append(closing[a.end], raw)
		default:
			p.draft.InsertPart(a.msg, a.part+1, raw)
		}
	}
	for end, raw := range closing {
		head := `{"role":"assistant","content":[`
		if p.rules.ByName {
			head = `{"role":"model","parts":[`
		}
		p.draft.InsertMessages(end, joinMessage(head, raw))
	}
	for _, at := range strays {
		kind := Dropped
		if at.second {
			kind = Duplicate
		}
		if at.msg >= p.frozen {
			drop(at.spot, kind)
		}
	}
	for msg, parts := range drops {
		p.dropServed(msg, parts)
		gone = append(gone, msg)
	}
	return gone
}

// dropServed drops parts of a message, and the reasoning that would then be at its end, because it led to these parts.
func (p *pairing) dropServed(msg int, parts []int) {
	leaves := map[int]bool{}
	for _, part := range parts {
		leaves[part] = true
		p.draft.DropPart(msg, part)
	}
	all := p.r.Messages[msg].Parts
	for j := len(all) - 1; j >= 0 && (leaves[j] || all[j].Kind == wire.Reasoning); j-- {
		if !leaves[j] {
			p.draft.DropPart(msg, j)
		}
	}
}

// errorResult returns a result that says that a tool at the provider gave none, or the refusal of an approval; nil where the form of such a
// result is not known. The provider's own tools write their errors in one way, under the tool's name (Anthropic's schema of the Messages
// API, beta, 2026-11); a search for tools has one name for its two ways to search.
func errorResult(call *wire.Part) []byte {
	var kind string
	switch call.Type {
	case "mcp_tool_use":
		out := wire.Quote([]byte(`{"type":"mcp_tool_result","tool_use_id":`), call.CallID)
		out = wire.Quote(append(out, `,"is_error":true,"content":[{"type":"text","text":`...), Note)
		return append(out, "}]}"...)
	case approvalRequest: // "The following MCP approval requests do not have an approval: mcpr_…"
		out := wire.Quote([]byte(`{"type":"mcp_approval_response","approval_request_id":`), call.CallID)
		return append(wire.Quote(append(out, `,"approve":false,"reason":`...), unansweredText), '}')
	case "server_tool_use":
		kind = call.Name
	}
	if kind == "" {
		return nil
	}
	if strings.HasPrefix(kind, "tool_search_tool_") {
		kind = "tool_search"
	}
	kind += "_tool_result"
	out := wire.Quote([]byte(`{"type":`), kind)
	out = wire.Quote(append(out, `,"tool_use_id":`...), call.CallID)
	out = wire.Quote(append(out, `,"content":{"type":`...), kind+"_error")
	return append(out, `,"error_code":"unavailable"}}`...)
}
