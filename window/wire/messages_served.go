package wire

import "strings"

// served pairs what tools at the provider were asked with what they found, in a Messages body. The result stands behind
// its call in the same turn of the model. That turn may go over several messages, but between them stand results of the
// client's tools and nothing else: a script is refused beside other words of the user, and so is a call whose turn ended
// without a result ("was found without a corresponding result block"; Anthropic's pages on server tools and on
// programmatic tool calling, 2026-11; claude-code#80439 for a result without its call).
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

// serve takes a block of the model's that is not the client's to answer.
func (w *blocks) serve(place, kind string, b object) {
	switch {
	case kind == "tool_use", kind == "tool_result":
	case strings.HasSuffix(kind, "_use"):
		id, _ := b.text("id")
		name, ok := b.text("name")
		if !ok || kind == "mcp_tool_use" {
			name = "mcp" // whose results have one name
		}
		if w.served.state == nil {
			w.served.state = map[string]servedUse{}
		}
		w.served.state[id] = servedOpen
		w.served.turn = append(w.served.turn, callItem{name, place, id})
	case strings.HasSuffix(kind, "_result"):
		id, ok := b.text("tool_use_id")
		if !ok || id == "" { // a kind that is no half of a pair
			return
		}
		switch w.served.state[id] {
		case servedOpen:
			w.served.state[id] = servedDone
		case servedEnded:
			w.add(RuleAdjacency, place, id, kind)
		case servedDone:
		default:
			w.add(RuleOrphanResult, place, id, kind)
		}
	}
}

// endServed reports the calls whose turn ends here without a result.
func (w *blocks) endServed() {
	for _, call := range w.served.turn {
		if w.served.state[call.id] == servedOpen {
			w.add(RuleOrphanCall, call.place, call.id, call.kind)
		}
		w.served.state[call.id] = servedEnded
	}
	w.served.turn = nil
}
