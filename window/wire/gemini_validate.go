package wire

// gemini checks a generateContent body: a turn with function calls is followed directly by one turn with as many function responses, and
// follows a user turn or such a turn of responses itself. Ids are optional there, and clients send response ids that no call has: then
// order and name decide. Behind a cachedContent the first turn may continue from the cached messages.
func (c *checker) gemini(top object) {
	list, ok := c.array("contents", top["contents"])
	if !ok {
		return
	}
	if len(list) == 0 {
		c.add(RuleEmptyHistory, "contents", "", "")
		return
	}
	var calls []part
	var asked served
	kept := top.has("cachedContent") || top.has("cached_content")
	callPlace, last := "", "" // of the call turn that waits; role of the turn before
	for i, raw := range list {
		place := joinPath("contents", i)
		turn, ok := c.geminiTurn(place, raw)
		if !ok {
			continue
		}
		switch {
		case len(turn.responses) > 0 && callPlace == "" && kept && i == 0:
		case len(turn.responses) > 0 && callPlace == "":
			c.add(RuleOrphanResult, place, turn.responses[0].id, turn.responses[0].name)
		case len(turn.responses) == 0 && callPlace != "":
			c.add(RuleOrphanCall, callPlace, calls[0].id, calls[0].name)
		case len(turn.responses) > 0:
			c.geminiPair(place, calls, turn.responses)
		}
		if turn.role == "user" && turn.speaks {
			asked.endTurn(c)
		}
		for _, one := range turn.served {
			if pairEnd(one.kind) == Opens {
				asked.opens(one)
			} else if !kept || asked.state[one.id] != 0 {
				asked.close(c, one)
			}
		}
		calls, callPlace = nil, ""
		if len(turn.calls) > 0 {
			if last != "user" && !(kept && i == 0) {
				c.add(RuleCallTurn, place, turn.calls[0].id, turn.calls[0].name)
			}
			calls, callPlace = turn.calls, place
		}
		last = turn.role
	}
	if callPlace != "" {
		c.add(RuleOrphanCall, callPlace, calls[0].id, calls[0].name)
	}
}

type part struct{ id, name string }

type turn struct {
	role             string // "user" or "model"
	speaks           bool   // it has parts other than responses
	calls, responses []part
	served           []callItem // calls and results of tools at the provider
}

// geminiTurn checks one content, and returns its role, calls and responses; false if it has no parts that can be read.
func (c *checker) geminiTurn(place string, raw []byte) (turn, bool) {
	var t turn
	content, ok := c.object(place, raw)
	if !ok {
		return t, false
	}
	role, _ := content.text("role")
	switch role {
	case "", "user", "function": // a missing role is the user's; "function" is the first API's
		t.role = "user"
	case "model":
		t.role = "model"
	default:
		c.add(RuleRole, joinPath(place, "role"), "", role)
		t.role = "user"
	}
	parts, ok := c.array(joinPath(place, "parts"), content["parts"])
	if !ok {
		return t, false
	}
	if len(parts) == 0 {
		c.add(RuleEmptyContent, joinPath(place, "parts"), "", "")
	}
	for k, raw := range parts {
		here := joinPath(place, "parts", k)
		p, ok := c.object(here, raw)
		if !ok {
			continue
		}
		if len(p) == 0 {
			c.add(RuleEmptyContent, here, "", "")
		}
		if call, ok := c.geminiPart(here, p, "functionCall", "function_call"); ok {
			if t.role != "model" {
				c.add(RuleBlockRole, here, call.id, "functionCall")
			}
			for _, other := range t.calls {
				if call.id != "" && call.id == other.id {
					c.add(RuleDuplicateCall, here, call.id, "")
				}
			}
			t.calls = append(t.calls, call)
		}
		if response, ok := c.geminiPart(here, p, "functionResponse", "function_response"); ok {
			if t.role == "model" {
				c.add(RuleBlockRole, here, response.id, "functionResponse")
			}
			t.responses = append(t.responses, response)
		} else {
			t.speaks = true
		}
		t.served = c.geminiServed(t.served, here, p)
	}
	return t, true
}

// geminiServed appends the calls and results of tools at the provider in a part to list. Those without an id are left out.
func (c *checker) geminiServed(list []callItem, place string, p object) []callItem {
	for kind, raw := range p {
		switch kind {
		case "functionCall", "function_call", "functionResponse", "function_response":
			continue
		}
		if pairEnd(kind) == NoEnd || !isObject(raw) {
			continue
		}
		if o, ok := c.object(place, raw); ok {
			if id, ok := o.text("id"); ok && id != "" {
				list = append(list, callItem{kind, place, id})
			}
		}
	}
	return list
}

// geminiPart returns the call or response in a part, in either of the two spellings that the API takes; false if it has none.
func (c *checker) geminiPart(place string, p object, names ...string) (part, bool) {
	for _, name := range names {
		if !p.has(name) {
			continue
		}
		o, ok := c.object(joinPath(place, name), p[name])
		if !ok {
			return part{}, false
		}
		var found part
		found.id, _ = o.text("id")
		found.name, _ = o.text("name")
		if found.name == "" {
			c.add(RuleShape, joinPath(place, name, "name"), found.id, "required")
		}
		for _, value := range []string{"args", "response"} {
			if o.has(value) && !isObject(o[value]) {
				c.add(RuleShape, joinPath(place, name, value), found.id, "not an object")
			}
		}
		return found, true
	}
	return part{}, false
}

// geminiPair checks that the responses answer the calls right before them: by id and name, or by order and name.
func (c *checker) geminiPair(place string, calls, responses []part) {
	if len(calls) != len(responses) {
		c.add(RuleResultCount, place, responses[0].id, "")
		return
	}
	byID := map[string]string{}
	for _, call := range calls {
		if call.id != "" {
			byID[call.id] = call.name
		}
	}
	matched, taken := 0, map[string]bool{}
	for _, r := range responses {
		if name, ok := byID[r.id]; ok && name == r.name && !taken[r.id] {
			matched++
			taken[r.id] = true
		}
	}
	if matched == len(calls) {
		return
	}
	for k, r := range responses {
		if r.name != calls[k].name {
			c.add(RuleResultName, joinPath(place, "parts", k), r.id, r.name)
			return
		}
	}
}
