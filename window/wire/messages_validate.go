package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxCacheMarks   = 4 // cache_control marks in one request, as the provider refuses a fifth
	messagesIDMarks = "_-"
	maxBedrockID    = 64 // characters of a toolUseId in Bedrock's ToolUseBlock
)

// messages checks a Messages body. Roles need not alternate, and role system inside the list is accepted (Claude Code sends it), but not
// between a call and its result.
func (c *checker) messages(top object) {
	list, ok := c.array("messages", top["messages"])
	if !ok {
		return
	}
	if len(list) == 0 {
		c.add(RuleEmptyHistory, "messages", "", "")
		return
	}
	w := &blocks{checker: c, seen: map[string]bool{}, settled: map[string]bool{}}
	if top.has("system") {
		w.marks += w.checkSystem(top)
	}
	if top.has("tools") {
		w.marks += w.toolMarks(top)
	}
	for i, raw := range list {
		place := joinPath("messages", i)
		if m, ok := c.object(place, raw); ok {
			w.checkMessage(place, m, i == len(list)-1)
		}
	}
	w.expect()
	if thinking, ok := top["thinking"]; ok && isObject(thinking) {
		t, _ := c.object("thinking", thinking)
		if kind, _ := t.text("type"); kind == "enabled" {
			w.thinkingFirst()
		}
	}
	if w.marks > maxCacheMarks {
		c.add(RuleCacheMarks, "messages", "", "")
	}
}

// blocks is the state of a walk over the messages.
type blocks struct {
	*checker
	group                   // the calls of the message before, when it was the assistant's
	seen    map[string]bool // ids of tool_use blocks so far
	settled map[string]bool // and of those that have their result
	started bool            // a message other than a system one was there
	marks   int
	// The last assistant turn: everything since the last user message without results. A
	// tool loop inside it is one turn, reminders beside the results included.
	turnPlace string
	turnKind  string // type of its first block
	turnCalls bool
	answering bool // the user's messages since the last of the assistant have results
	served    served
}

// checkSystem checks the blocks of the system prompt and returns the number of its cache marks.
func (w *blocks) checkSystem(top object) (marks int) {
	if top.isText("system") {
		return 0
	}
	list, ok := w.array("system", top["system"])
	if !ok {
		return 0
	}
	for k, raw := range list {
		if b, ok := w.object(joinPath("system", k), raw); ok {
			marks += cacheMarks(b)
			w.checkText(joinPath("system", k), b)
		}
	}
	return marks
}

// toolMarks returns the number of cache marks on the tools.
func (w *blocks) toolMarks(top object) (marks int) {
	list, _ := w.array("tools", top["tools"])
	for k, raw := range list {
		if b, ok := w.object(joinPath("tools", k), raw); ok {
			marks += cacheMarks(b)
		}
	}
	return marks
}

func cacheMarks(b object) int {
	if b.has("cache_control") {
		return 1
	}
	return 0
}

// expect reports the calls of the last assistant message that have no results in the message behind it.
func (w *blocks) expect() {
	w.orphans(w.group.place, w.unanswered(), "")
	w.group = group{}
}

// comesFirst reports whether a message begins with the provider's summary of earlier messages, which may come first in either role
// (platform.claude.com, compaction-on-demand, 2026-11-26).
func comesFirst(list []object) bool { return len(list) > 0 && isCompaction(list[0]) }

// isCompaction reports whether a block is a compaction made by the provider. One without text has failed and replaces nothing.
func isCompaction(b object) bool {
	kind, _ := b.text("type")
	return kind == "compaction" && b.isText("content")
}

// forget drops all state and the findings about order at a compaction, because the provider does not read what stands before it.
func (w *blocks) forget() {
	w.forgive()
	w.group = group{place: w.group.place}
	clear(w.seen)
	clear(w.settled)
	w.served = served{}
	w.turnPlace = ""
}

// checkMessage checks one message: its role and content, and that calls and results pair. last is true for the last one, which may end in
// the middle.
func (w *blocks) checkMessage(place string, m object, last bool) {
	role, _ := m.text("role")
	list, plain := w.checkContent(place, role, m, last)
	switch role {
	case "user", "assistant":
		if !w.started && role != "user" && !comesFirst(list) {
			w.add(RuleRoleFirst, place, "", role)
		}
		w.started = true
	case "system":
	default:
		w.add(RuleRole, joinPath(place, "role"), "", role)
	}
	if slices.ContainsFunc(list, isCompaction) {
		w.forget()
	}
	switch {
	case role != "user":
		w.expect()
	case plain:
		w.expect()
		w.endTurn()
		w.served.endTurn(w.checker)
	default:
		w.checkUser(place, list)
	}
	if role == "assistant" {
		w.checkAssistant(place, list, plain)
	}
}

// checkContent checks and returns the blocks of a message; none if it has a string, of which plain tells, or a content of another form.
func (w *blocks) checkContent(place, role string, m object, last bool) (list []object, plain bool) {
	final := last && role == "assistant"
	if m.isText("content") {
		switch raw := m["content"]; {
		case string(raw) == `""`:
			if !final {
				w.add(RuleEmptyContent, place, "", "")
			}
		case blank(raw):
			w.add(RuleEmptyText, place, "", "white space")
		case final && endsInSpace(raw):
			w.add(RuleTrailingSpace, place, "", "")
		}
		return nil, true
	}
	raws, ok := w.array(joinPath(place, "content"), m["content"])
	if !ok {
		return nil, false
	}
	if len(raws) == 0 && !final {
		w.add(RuleEmptyContent, place, "", "")
	}
	for k, raw := range raws {
		here := joinPath(place, "content", k)
		b, ok := w.object(here, raw)
		if !ok {
			b = object{} // keeps the numbering
		}
		list = append(list, b)
		w.marks += cacheMarks(b)
		switch kind, _ := b.text("type"); kind {
		case "":
			if ok {
				w.add(RuleShape, joinPath(here, "type"), "", "required")
			}
		case "text":
			w.checkText(here, b)
			if final && k == len(raws)-1 && b.isText("text") && endsInSpace(b["text"]) {
				w.add(RuleTrailingSpace, place, "", "")
			}
		case "tool_use":
			if role != "assistant" {
				w.add(RuleBlockRole, here, "", kind)
			}
		case "tool_result":
			if role != "user" {
				w.add(RuleBlockRole, here, "", kind)
			}
		case "thinking", "redacted_thinking":
			if role != "assistant" {
				w.add(RuleBlockRole, here, "", kind)
			}
		}
	}
	return list, false
}

// checkText reports a text block without a text, or with white space alone.
func (w *blocks) checkText(place string, b object) {
	if kind, _ := b.text("type"); kind != "text" {
		return
	}
	switch raw := b["text"]; {
	case !b.isText("text"):
		w.add(RuleShape, joinPath(place, "text"), "", "required")
	case string(raw) == `""`:
		w.add(RuleEmptyText, place, "", "")
	case blank(raw):
		w.add(RuleEmptyText, place, "", "white space")
	}
}

// endsInSpace reports whether a text ends in white space.
func endsInSpace(raw json.RawMessage) bool {
	s, _ := decodeText(raw)
	return s != strings.TrimRight(s, " \t\r\n")
}

// checkUser pairs the results of a user message with the calls right before it, and reports those that do not pair.
func (w *blocks) checkUser(place string, list []object) {
	other, answers := false, false
	for k, b := range list {
		here := joinPath(place, "content", k)
		if kind, _ := b.text("type"); kind != "tool_result" {
			other = true
			continue
		}
		answers = true
		id, ok := b.text("tool_use_id")
		if !ok || id == "" {
			w.add(RuleShape, joinPath(here, "tool_use_id"), "", "required")
			continue
		}
		w.checkID(joinPath(here, "tool_use_id"), id)
		w.silentError(here, id, b)
		switch {
		case w.settled[id]:
			w.add(RuleDuplicateResult, here, id, "")
		case w.has(id):
			if other {
				w.add(RuleResultsFirst, here, id, "")
			}
			w.answer(id)
			w.settled[id] = true
		case w.seen[id]:
			w.add(RuleAdjacency, here, id, "")
		default:
			w.add(RuleOrphanResult, here, id, "")
		}
	}
	w.expect()
	if other {
		w.served.endTurn(w.checker)
	}
	if answers {
		w.answering = true
	} else {
		w.endTurn()
	}
}

// endTurn ends the assistant's turn at a message of the user, unless that comes right after one with results: the provider joins the two.
func (w *blocks) endTurn() {
	if !w.answering {
		w.turnPlace = ""
	}
}

// checkAssistant checks the blocks of a message of the model, and opens its calls.
func (w *blocks) checkAssistant(place string, list []object, plain bool) {
	w.group, w.answering = group{place: place}, false
	kind := ""
	for k, b := range list {
		kind, _ = b.text("type")
		here := joinPath(place, "content", k)
		id, _ := b.text("id")
		switch {
		case kind == "tool_use":
			w.checkCall(here, id, b)
		case kind == "thinking":
			if !b.isText("thinking") {
				w.add(RuleShape, joinPath(here, "thinking.thinking"), "", "required")
			}
			if !b.isText("signature") {
				w.add(RuleShape, joinPath(here, "thinking.signature"), "", "required")
			}
		}
		w.noteServed(here, kind, b)
		if isCompaction(b) {
			w.forget()
		} else if w.turnPlace == "" {
			w.turnPlace, w.turnKind, w.turnCalls = here, kind, false
		}
	}
	if plain && w.turnPlace == "" {
		w.turnPlace, w.turnKind, w.turnCalls = joinPath(place, "content"), "text", false
	}
	if kind == "thinking" || kind == "redacted_thinking" {
		w.add(RuleThinkingLast, place, "", kind)
	}
	w.turnCalls = w.turnCalls || len(w.group.calls) > 0
}

// checkCall checks the id, name and input of a call, and opens it.
func (w *blocks) checkCall(place, id string, b object) {
	w.checkID(joinPath(place, "tool_use.id"), id)
	if w.seen[id] {
		w.add(RuleDuplicateCall, place, id, "")
	}
	w.seen[id] = true
	w.group.openCall(id)
	if name, ok := b.text("name"); !ok || name == "" {
		w.add(RuleShape, joinPath(place, "tool_use.name"), id, "required")
	}
	if !isObject(b["input"]) {
		w.add(RuleShape, joinPath(place, "tool_use.input"), id, "not an object")
	}
}

// checkID reports an id that is empty, too long for Bedrock, or has characters that the provider refuses.
func (w *blocks) checkID(place, id string) {
	marks := cmp.Or(w.idMarks, messagesIDMarks)
	for _, r := range id {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(marks, r) {
			w.add(RuleID, place, id, "")
			return
		}
	}
	if id == "" {
		w.add(RuleID, place, id, "")
	}
	if w.bedrock && utf8.RuneCountInString(id) > maxBedrockID {
		w.add(RuleIDLength, place, id, "")
	}
}

// thinkingFirst reports an assistant turn that is still running and calls tools, but does not begin with thinking.
func (w *blocks) thinkingFirst() {
	if w.turnPlace == "" || !w.turnCalls || w.turnKind == "thinking" || w.turnKind == "redacted_thinking" {
		return
	}
	w.add(RuleThinkingFirst, w.turnPlace, "", w.turnKind)
}
