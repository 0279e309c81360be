package wire

import (
	"bytes"
	"encoding/json"
)

// converse checks a Converse body against the rules of Messages, and that the two speakers take turns. Its blocks are translated into those
// of Messages that mean the same.
func (c *checker) converse(top object) {
	list, ok := c.array("messages", top["messages"])
	if !ok {
		return
	}
	if len(list) == 0 {
		c.add(RuleEmptyHistory, "messages", "", "")
		return
	}
	c.bedrock, c.idMarks = true, converseIDMarks
	w := &blocks{checker: c, seen: map[string]bool{}, settled: map[string]bool{}}
	if top.has("system") {
		system, _ := c.array("system", top["system"])
		w.converseBlocks("system", "", system)
	}
	if top.has("toolConfig") {
		if tools, ok := c.object("toolConfig", top["toolConfig"]); ok {
			list, _ := splitArray(tools["tools"])
			for _, raw := range list {
				w.marks += bytes.Count(raw[:min(len(raw), 16)], []byte(`"cachePoint"`))
			}
		}
	}
	before, tools := "", false
	for i, raw := range list {
		place := joinPath("messages", i)
		m, ok := c.object(place, raw)
		if !ok {
			continue
		}
		role, _ := m.text("role")
		switch {
		case role != "user" && role != "assistant":
			c.add(RuleRole, joinPath(place, "role"), "", role)
		case role == before:
			c.add(RuleAlternate, place, "", role)
		case i == 0 && role != "user":
			c.add(RuleRoleFirst, place, "", role)
		}
		before = role
		raws, ok := c.array(joinPath(place, "content"), m["content"])
		if ok && len(raws) == 0 {
			c.add(RuleEmptyContent, place, "", "")
		}
		blocks := w.converseBlocks(joinPath(place, "content"), role, raws)
		if role == "user" {
			w.checkUser(place, blocks)
		} else {
			w.expect()
			w.checkAssistant(place, blocks, false)
		}
		for _, b := range blocks {
			kind, _ := b.text("type")
			tools = tools || kind == "tool_use" || kind == "tool_result"
		}
	}
	w.expect()
	if tools && !top.has("toolConfig") {
		c.add(RuleToolConfig, "toolConfig", "", "")
	}
	if fields, ok := splitObject(top["additionalModelRequestFields"]); ok && isObject(fields["thinking"]) {
		t, _ := splitObject(fields["thinking"])
		if kind, _ := t.text("type"); kind == "enabled" {
			w.thinkingFirst()
		}
	}
	if w.marks > maxCacheMarks {
		c.add(RuleCacheMarks, "messages", "", "")
	}
}

// converseKinds are the blocks that mean the same in Messages.
var converseKinds = map[string]string{"text": "text", "toolUse": "tool_use", "toolResult": "tool_result", "reasoningContent": "thinking"}

// converseBlocks returns the blocks of a message as those of Messages; role "" stands for the system prompt. Cache points are counted and
// left out.
func (w *blocks) converseBlocks(place, role string, raws []json.RawMessage) (list []object) {
	for k, raw := range raws {
		here := joinPath(place, k)
		b, ok := w.object(here, raw)
		if ok && len(b) != 1 {
			w.add(RuleShape, here, "", "not one member")
		}
		if b.has("cachePoint") {
			w.marks++
			continue
		}
		block := object{"type": json.RawMessage(`"other"`)}
		for name, kind := range converseKinds {
			if raw, ok := b[name]; ok {
				block = w.asMessagesBlock(joinPath(here, name), kind, raw)
			}
		}
		switch kind, _ := block.text("type"); {
		case kind == "text" && !block.isText("text"):
			w.add(RuleShape, joinPath(here, "text"), "", "required")
		case kind == "text" && blank(block["text"]):
			w.add(RuleEmptyText, here, "", "")
		case kind == "tool_use" && role != "assistant", kind == "tool_result" && role != "user", kind == "thinking" && role != "assistant":
			w.add(RuleBlockRole, here, "", kind)
		}
		list = append(list, block)
	}
	if len(raws) > 0 && len(list) == 0 && role != "" {
		w.add(RuleEmptyContent, place, "", "cachePoint")
	}
	return list
}

// asMessagesBlock returns a block of Converse as the block of Messages with the same meaning, so that the rules of Messages can be applied
// to it.
func (w *blocks) asMessagesBlock(place, kind string, raw json.RawMessage) object {
	typed := object{"type": Quote(nil, kind)}
	if kind == "text" {
		typed["text"] = raw
		return typed
	}
	inner, ok := w.object(place, raw)
	if !ok {
		return typed
	}
	switch kind {
	case "tool_use":
		typed["id"], typed["name"], typed["input"] = inner["toolUseId"], inner["name"], inner["input"]
	case "tool_result":
		typed["tool_use_id"], typed["content"] = inner["toolUseId"], inner["content"]
		list, ok := splitArray(inner["content"])
		if !ok {
			w.add(RuleShape, joinPath(place, "content"), "", "not an array")
			typed["content"] = json.RawMessage("null")
		}
		if status, _ := inner.text("status"); status == "error" {
			typed["is_error"] = json.RawMessage("true")
		}
		for k, raw := range list {
			if one, ok := splitObject(raw); ok && one.isText("text") && blank(one["text"]) {
				w.add(RuleEmptyText, joinPath(place, "content", k), "", "")
			}
		}
	case "thinking":
		typed["thinking"], typed["signature"] = json.RawMessage(`""`), json.RawMessage(`""`) // only Claude demands both
	}
	return typed
}
