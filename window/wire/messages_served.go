package wire

import "strings"

// served pairs what tools at the provider were asked with what they found, in a body of Messages or Gemini. The result
// stands behind its call in the same turn of the model. That turn may go over several messages, but between them stand
// results of the client's tools and nothing else: a script is refused beside other words of the user, and so is a call
// whose turn ended without a result ("was found without a corresponding result block"; Anthropic's pages on server tools
// and on programmatic tool calling, 2026-11; claude-code#80439 for a result without its call). Google wants each toolCall
// back "along with the corresponding ToolResponse" (its SDK, 2026-11, and ai.google.dev, "tool-combination"); its own
// words for half a pair are not known.
type served struct {
	turn  []callItem           // calls of this turn, in order
	state map[string]servedUse // by id
}

type servedUse uint8

const (
	servedOpen  servedUse = iota + 1
	servedDone            // has its result; what a second one in the same turn would do is not known
	servedEnded           // its turn is over
)

// serve records a block of the model's that is a call of a tool at the provider, or its result.
func (w *blocks) serve(place, kind string, b object) {
	switch {
	case kind == "tool_use", kind == "tool_result":
	case strings.HasSuffix(kind, "_use"):
		id, _ := b.text("id")
		name, ok := b.text("name")
		if !ok || kind == "mcp_tool_use" {
			name = "mcp" // whose results have one name
		}
		w.served.opens(callItem{name, place, id})
	case strings.HasSuffix(kind, "_result"):
		if id, ok := b.text("tool_use_id"); ok && id != "" { // else a kind that is no half of a pair
			w.served.closes(w.checker, callItem{kind, place, id})
		}
	}
}

func (s *served) opens(call callItem) {
	if s.state == nil {
		s.state = map[string]servedUse{}
	}
	s.state[call.id] = servedOpen
	s.turn = append(s.turn, call)
}

func (s *served) closes(c *checker, result callItem) {
	switch s.state[result.id] {
	case servedOpen:
		s.state[result.id] = servedDone
	case servedEnded:
		c.add(RuleAdjacency, result.place, result.id, result.kind)
	case servedDone:
	default:
		c.add(RuleOrphanResult, result.place, result.id, result.kind)
	}
}

// end reports the calls without a result at the end of their turn.
func (s *served) end(c *checker) {
	for _, call := range s.turn {
		if s.state[call.id] == servedOpen {
			c.add(RuleOrphanCall, call.place, call.id, call.kind)
		}
		s.state[call.id] = servedEnded
	}
	s.turn = nil
}
