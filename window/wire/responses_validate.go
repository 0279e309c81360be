package wire

import "strings"

// mayAnswer reports whether an output item of one type may answer a call of another: the call type plus "_output". Codex
// answers a local_shell_call with a function_call_output, and a search for tools has names of its own.
func mayAnswer(output, call string) bool {
	switch output {
	case "function_call_output":
		return call == "function_call" || call == "local_shell_call"
	case "tool_search_output":
		return call == "tool_search_call"
	}
	return output == call+"_output"
}

// answered are the types of calls whose output the client owes. Other calls (web search, file search, code interpreter, images, MCP) run at
// the provider.
var answered = map[string]bool{
	"function_call": true, "custom_tool_call": true, "local_shell_call": true, "shell_call": true,
	"apply_patch_call": true, "computer_call": true,
}

// responses checks a Responses body: a call and its output are paired by call_id, the output anywhere behind the call; an id is free again
// once it is answered.
func (c *checker) responses(top object) {
	elsewhere := top.has("previous_response_id") || top.has("conversation")
	if !top.has("input") {
		if !elsewhere && !top.has("prompt") {
			c.add(RuleEmptyHistory, "input", "", "")
		}
		return
	}
	if top.isText("input") {
		return
	}
	list, ok := c.array("input", top["input"])
	if !ok {
		return
	}
	if len(list) == 0 && !elsewhere {
		c.add(RuleEmptyHistory, "input", "", "")
		return
	}
	s := &items{checker: c, open: map[string]callItem{}, seen: map[string]bool{}, asked: map[string]bool{}, agreed: map[string]bool{}, closed: map[string]string{}, ids: map[string]bool{}, elsewhere: elsewhere}
	for i, raw := range list {
		item, ok := c.object(joinPath("input", i), raw)
		if !ok {
			continue
		}
		s.checkItem(joinPath("input", i), item)
	}
	s.settleReasoning("")
	for _, id := range s.order {
		if call, ok := s.open[id]; ok {
			delete(s.open, id)
			c.add(RuleOrphanCall, call.place, id, call.kind)
		}
	}
	for _, request := range s.passed {
		if !s.agreed[request.id] && !s.elsewhere { // the answer may be there
			c.add(RuleOrphanCall, request.place, request.id, request.kind)
		}
	}
}

// approvalRequest is the type of item that is refused without an answer, once the user has said something behind it.
const approvalRequest = "mcp_approval_request"

type callItem struct{ kind, place, id string }

// items is the state of a walk over an input list.
type items struct {
	*checker
	open      map[string]callItem // calls without an output so far
	order     []string            // their ids, in order of the calls
	seen      map[string]bool     // call ids met so far
	asked     map[string]bool     // ids of requests for an approval met so far
	agreed    map[string]bool     // ids of those that have an answer
	pending   []callItem          // those behind the user's last words
	passed    []callItem          // those before
	closed    map[string]string   // call ids that have an output, and of which kind
	ids       map[string]bool     // item ids met so far
	reasoning string              // place of a reasoning item that waits for what follows
	rsID      string
	elsewhere bool // part of the history lies outside the body
	compacted
}

// compacted tracks what precedes the newest compaction item: calls there need no output any more, but one may still be
// waiting for an output, which then follows immediately.
type compacted struct {
	calls map[string]bool // ids of calls before it
	fresh bool            // nothing but outputs stands behind it so far
}

// startAnew begins a new pairing after a compaction item: findings about order are dropped, and calls before it may still be answered.
func (s *items) startAnew() {
	s.forgive()
	calls := s.compacted.calls
	if calls == nil {
		calls = map[string]bool{}
	}
	for id := range s.seen {
		calls[id] = true
	}
	clear(s.open)
	clear(s.seen)
	clear(s.closed)
	s.pending, s.passed = nil, nil
	s.order = s.order[:0]
	s.compacted = compacted{calls: calls, fresh: true}
}

// checkItem checks one item: its type, its id, and by its type what has to pair.
func (s *items) checkItem(place string, item object) {
	kind, _ := item.text("type")
	role, hasRole := item.text("role")
	if kind == "" && hasRole {
		kind = "message"
	}
	if kind == "" {
		s.add(RuleShape, joinPath(place, "type"), "", "required")
		return
	}
	if id, ok := item.text("id"); ok && id != "" {
		if s.ids[id] {
			s.add(RuleDuplicateCall, place, id, "item")
		}
		s.ids[id] = true
	}
	s.settleReasoning(followKind(kind, role))
	s.fresh = s.fresh && strings.HasSuffix(kind, "_output")
	switch {
	case strings.Contains(kind, "compaction") && !strings.HasSuffix(kind, "_trigger"):
		s.startAnew()
	case kind == "item_reference":
		s.elsewhere = true
	case kind == "message":
		s.checkMessage(place, role, item)
	case kind == "reasoning":
		s.reasoning = place
		s.rsID, _ = item.text("id")
	case strings.HasSuffix(kind, "_output"):
		s.checkOutput(place, kind, item)
	case strings.HasSuffix(kind, "_response"), strings.HasSuffix(kind, "_result"):
		s.checkResponse(place, kind, item)
	default:
		if id, ok := item.text("id"); ok && strings.HasSuffix(kind, "_request") {
			s.asked[id] = true
			if kind == approvalRequest {
				s.pending = append(s.pending, callItem{kind, place, id})
			}
		}
		if id, ok := item.text("approval_request_id"); ok {
			s.agreed[id] = true // a call that was allowed
		}
		s.checkCall(place, kind, item)
	}
}

// isClientOutput reports whether an output item is one that the client sends.
func isClientOutput(kind string) bool {
	call, output := strings.CutSuffix(kind, "_output")
	return output && answered[call]
}

// settleReasoning reports a waiting reasoning item that is not followed by something else the model made. next is the kind of what follows,
// "" when the model did not make that, or at the end.
func (s *items) settleReasoning(next string) {
	if s.reasoning != "" && next == "" {
		s.add(RuleReasoningFollow, s.reasoning, s.rsID, "")
	}
	s.reasoning = ""
}

// followKind returns the kind of an item as it counts for the reasoning before it: "" if the model did not make it.
func followKind(kind, role string) string {
	switch {
	case kind == "message" && role != "assistant", isClientOutput(kind), kind == "mcp_approval_response":
		return ""
	default:
		return kind
	}
}

// checkMessage checks the role and the content of a message.
func (s *items) checkMessage(place, role string, item object) {
	switch role {
	case "user":
		s.passed, s.pending = append(s.passed, s.pending...), nil
	case "assistant", "system", "developer":
	default:
		s.add(RuleRole, joinPath(place, "role"), "", role)
	}
	if item.isText("content") {
		return
	}
	parts, ok := s.array(joinPath(place, "content"), item["content"])
	if !ok {
		return
	}
	for k, raw := range parts {
		s.object(joinPath(place, "content", k), raw)
	}
}

// checkCall checks a call and opens it. A call that the provider answers itself need not have an output.
func (s *items) checkCall(place, kind string, item object) {
	if !answered[kind] {
		// A search of the client's tools is owed an output when the client executes it.
		if by, _ := item.text("execution"); kind != "tool_search_call" || by != "client" {
			if id, ok := item.text("call_id"); ok {
				s.seen[id] = true
				if _, twice := s.open[id]; !twice {
					s.open[id] = callItem{kind, place, id} // may be answered, need not
				}
			}
			return
		}
	}
	id, ok := item.text("call_id")
	if !ok || id == "" {
		s.add(RuleShape, joinPath(place, "call_id"), "", "required")
		return
	}
	if _, twice := s.open[id]; twice {
		s.add(RuleDuplicateCall, place, id, kind)
		return
	}
	s.open[id] = callItem{kind, place, id}
	s.order = append(s.order, id)
	s.seen[id] = true
	switch kind {
	case "function_call":
		if !item.isText("arguments") {
			s.add(RuleShape, joinPath(place, "arguments"), id, "not a string")
		}
		s.arguments(joinPath(place, "arguments"), id, item["arguments"])
	case "custom_tool_call":
		if !item.isText("input") {
			s.add(RuleShape, joinPath(place, "input"), id, "not a string")
		}
	default:
		return
	}
	if name, ok := item.text("name"); !ok || name == "" {
		s.add(RuleShape, joinPath(place, "name"), id, "required")
	}
}

// checkOutput checks an output and closes its call. It reports one without a call, of the wrong type, or a second one.
func (s *items) checkOutput(place, kind string, item object) {
	id, ok := item.text("call_id")
	if !ok && kind == "local_shell_call_output" {
		id, ok = item.text("id") // this one kind names its call by id
	}
	if !ok || id == "" {
		if isClientOutput(kind) { // the provider's own may have none
			s.add(RuleShape, joinPath(place, "call_id"), "", "required")
		}
		return
	}
	if !item.has("output") && isClientOutput(kind) && kind != "apply_patch_call_output" {
		s.add(RuleShape, joinPath(place, "output"), id, "required")
	}
	if call, ok := s.open[id]; ok {
		if mayAnswer(kind, call.kind) {
			delete(s.open, id)
			s.closed[id] = kind
			return
		}
		s.add(RuleOrphanResult, place, id, kind)
		return
	}
	switch {
	case s.closed[id] == kind && kind == "custom_tool_call_output":
		// Codex lets a script of one call send notes ahead of its result, as outputs.
	case s.seen[id] && (isClientOutput(kind) || kind == "tool_search_output"):
		s.add(RuleDuplicateResult, place, id, kind)
	case s.seen[id]: // what a second one of another kind would do is not known
	case !s.elsewhere && !s.fresh && !s.calls[id]:
		s.add(RuleOrphanResult, place, id, kind)
	}
}

// checkResponse reports an approval without the request that it answers, or another answer without its call.
func (s *items) checkResponse(place, kind string, item object) {
	id, ok := item.text("approval_request_id")
	if !ok {
		id, ok = item.text("call_id")
	}
	if ok && id != "" && !s.asked[id] && !s.seen[id] && !s.elsewhere {
		s.add(RuleOrphanResult, place, id, kind)
	}
	s.agreed[id] = true
}
