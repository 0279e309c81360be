package wire

// chat checks a Chat Completions body: every call of an assistant message is answered by one tool message, and nothing but those stands
// between. An id may be used again by a later message: the pairing is local.
func (c *checker) chat(top object) {
	list, ok := c.array("messages", top["messages"])
	if !ok {
		return
	}
	if len(list) == 0 {
		c.add(RuleEmptyHistory, "messages", "", "")
		return
	}
	var open group
	seen := map[string]bool{}
	for i, raw := range list {
		place := joinPath("messages", i)
		m, ok := c.object(place, raw)
		if !ok {
			continue
		}
		role, _ := m.text("role")
		if role == "tool" {
			c.chatResult(place, m, &open, seen)
			continue
		}
		c.orphans(open.place, open.unanswered(), "")
		open = group{place: place}
		switch role {
		case "assistant":
			c.chatAssistant(place, m, &open, seen)
		case "system", "developer", "user", "function":
			if !m.has("content") {
				c.add(RuleContentNull, joinPath(place, "content"), "", role)
			}
			c.chatContent(place, m)
		default:
			c.add(RuleRole, joinPath(place, "role"), "", role)
		}
	}
	c.orphans(open.place, open.unanswered(), "")
}

func (c *checker) chatContent(place string, m object) {
	if !m.has("content") {
		return
	}
	if m.isText("content") {
		return
	}
	parts, ok := c.array(joinPath(place, "content"), m["content"])
	if ok && len(parts) == 0 {
		c.add(RuleEmptyContent, joinPath(place, "content"), "", "")
	}
	for k, raw := range parts {
		part, ok := c.object(joinPath(place, "content", k), raw)
		if !ok {
			continue
		}
		if !part.isText("type") {
			c.add(RuleShape, joinPath(place, "content", k, "type"), "", "required")
		}
	}
}

func (c *checker) chatResult(place string, m object, open *group, seen map[string]bool) {
	c.chatContent(place, m)
	if !m.has("content") {
		c.add(RuleContentNull, joinPath(place, "content"), "", "tool")
	}
	id, ok := m.text("tool_call_id")
	switch {
	case !ok:
		c.add(RuleShape, joinPath(place, "tool_call_id"), "", "required")
	case open.answered[id]:
		c.add(RuleDuplicateResult, place, id, "")
	case open.has(id):
		open.answer(id)
	case seen[id]:
		c.add(RuleAdjacency, place, id, "")
	default:
		c.add(RuleOrphanResult, place, id, "")
	}
}

func (c *checker) chatAssistant(place string, m object, open *group, seen map[string]bool) {
	c.chatContent(place, m)
	if !m.has("tool_calls") {
		if !m.has("content") && !m.has("function_call") && !m.has("refusal") && !m.has("audio") {
			c.add(RuleContentNull, joinPath(place, "content"), "", "assistant")
		}
		return
	}
	calls, ok := c.array(joinPath(place, "tool_calls"), m["tool_calls"])
	if !ok {
		return
	}
	if len(calls) == 0 {
		c.add(RuleEmptyCalls, joinPath(place, "tool_calls"), "", "")
	}
	for k, raw := range calls {
		here := joinPath(place, "tool_calls", k)
		call, ok := c.object(here, raw)
		if !ok {
			continue
		}
		id, ok := call.text("id")
		if !ok || id == "" {
			c.add(RuleShape, joinPath(here, "id"), "", "required")
			continue
		}
		if open.has(id) {
			c.add(RuleDuplicateCall, here, id, "")
		}
		open.call(id)
		seen[id] = true
		c.chatCall(here, id, call)
	}
}

func (c *checker) chatCall(place, id string, call object) {
	kind, _ := call.text("type")
	body, argument := "function", "arguments"
	switch kind {
	case "function":
	case "custom":
		body, argument = "custom", "input"
	default:
		c.add(RuleShape, joinPath(place, "type"), id, "required")
		return
	}
	f, ok := c.object(joinPath(place, body), call[body])
	if !ok {
		return
	}
	if name, ok := f.text("name"); !ok || name == "" {
		c.add(RuleShape, joinPath(place, body, "name"), id, "required")
	}
	switch {
	case !f.isText(argument):
		c.add(RuleShape, joinPath(place, body, argument), id, "not a string")
	case body == "function":
		c.arguments(joinPath(place, body, argument), id, f[argument])
	}
}

// A group is the calls of one message and those of them that have been answered.
type group struct {
	place    string
	calls    []string
	open     map[string]bool
	answered map[string]bool
}

func (g *group) has(id string) bool { return g.open[id] }

func (g *group) call(id string) {
	if g.open == nil {
		g.open, g.answered = map[string]bool{}, map[string]bool{}
	}
	if !g.open[id] {
		g.calls = append(g.calls, id)
	}
	g.open[id] = true
}

func (g *group) answer(id string) { g.answered[id] = true }

func (g *group) unanswered() []string {
	var ids []string
	for _, id := range g.calls {
		if !g.answered[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
