package wire

import (
	"bytes"
	"slices"
	"strings"
)

// responsesMember reads one member of a Responses request.
func (p *parser) responsesMember(k []byte, seen *set) {
	switch string(k) {
	case "model":
		p.noteKey(seen, 0)
		p.model()
	case "input":
		p.noteKey(seen, 1)
		if p.Peek() == '"' {
			p.inputString()
			return
		}
		p.readList((*parser).responsesItem)
	case "stream":
		p.noteKey(seen, 2)
		p.r.Stream = p.truth()
	case "max_output_tokens":
		p.noteKey(seen, 3)
		p.maxOutput()
	case "tools":
		p.noteKey(seen, 4)
		p.tools(namedTool)
	case "instructions":
		p.noteKey(seen, 5)
		if lit := p.readText("the instructions are no string"); !lit.IsZero() {
			p.addText(lit)
			p.addPart(Part{Kind: Text, place: placePlain, Span: lit})
			p.r.System, p.r.SystemSpan = p.takeParts(), lit
		}
	case "previous_response_id", "conversation":
		if p.isSet() {
			p.r.outer |= Stored
		}
	case "context_management":
		p.noteKey(seen, 6)
		p.contextManagement()
	case "text", "prompt":
		p.extra()
	default:
		p.compaction(k)
	}
}

// inputString reads an input that is one string, as one message of the user.
func (p *parser) inputString() {
	lit := p.String()
	p.r.List = lit
	p.addText(lit)
	p.addPart(Part{Kind: Text, place: placePlain, Span: lit})
	p.addMessage(Message{Span: lit, Role: RoleUser, Plain: true, Content: lit})
}

// item collects the members of a Responses item until its type is known.
type item struct {
	role   string
	id     Span
	of     Span // approval_request_id: the id of the item that this one answers
	action Span // value of action, operation or arguments that is not a string
	output Span
	part   Part
}

// responsesItem reads one element of input.
func (p *parser) responsesItem() {
	if !p.Begin('{', "an item is no object") {
		return
	}
	var (
		m    = Message{Span: Span{Start: p.At - 1}}
		it   item
		seen set
	)
	for p.More('}') {
		p.responsesField(p.readKey(), &m, &it, &seen)
	}
	m.Span.End = p.At
	it.part.Span = m.Span
	if it.part.Type == "" || it.part.Type == "message" {
		switch it.role {
		case "user":
			m.Role = RoleUser
		case "assistant":
			m.Role = RoleAssistant
		case "system", "developer":
			m.Role = RoleSystem
		case "":
			p.Fail(m.Span.Start, "an item without type and role")
		}
		p.addMessage(m)
		return
	}
	m.Role = p.wholeItem(&it)
	m.Content = it.part.Content
	m.Plain = false
	p.addMessage(m)
}

// responsesField reads one member of an item whose type may not be known yet.
func (p *parser) responsesField(k []byte, m *Message, it *item, seen *set) {
	switch string(k) {
	case "type":
		p.noteKey(seen, 0)
		it.part.Type, _ = p.word("an item's type is no string")
	case "role":
		p.noteKey(seen, 1)
		it.role, _ = p.word("a role is no string")
	case "content":
		p.noteKey(seen, 2)
		if !it.isMessage() {
			p.Skip()
			break
		}
		m.lone = p.content(m, (*parser).openaiBlock)
	case "call_id":
		p.noteKey(seen, 3)
		it.part.CallID, it.part.IDSpan = p.word("a call_id is no string")
	case "id":
		p.noteKey(seen, 4)
		it.id = p.readText("an item's id is no string")
	case "name":
		p.noteKey(seen, 5)
		it.part.Name, _ = p.word("a name is no string")
	case "arguments":
		p.noteKey(seen, 6)
		p.itemInput(it)
	case "input":
		p.noteKey(seen, 11)
		p.itemInput(it)
	case "action", "operation":
		if !p.null() {
			p.noteKey(seen, 7)
			it.action = p.Skip()
		}
	case "output":
		p.noteKey(seen, 8)
		p.itemOutput(it)
	case "summary":
		p.noteKey(seen, 9)
		if p.Peek() != '[' {
			p.Skip()
			break
		}
		p.Begin('[', "")
		for p.More(']') {
			p.openaiBlock()
		}
	case "encrypted_content":
		p.noteKey(seen, 10)
		it.part.Sealed = p.readText("encrypted_content is no string")
	case "approval_request_id":
		p.noteKey(seen, 12)
		it.of = p.readText("an approval_request_id is no string")
	case "tools":
		p.noteKey(seen, 13)
		v := p.Skip()
		it.part.Declares = p.Err == nil && bytes.IndexByte(p.Text[v.Start:v.End], '{') > 0
	default:
		p.Skip()
	}
}

// itemInput reads the arguments of a call: a string, or in a search for tools an object.
func (p *parser) itemInput(it *item) {
	if p.Peek() == '"' {
		p.addText(p.String())
	} else if !p.null() {
		it.action = p.Skip()
	}
}

// isMessage reports whether the content of an item has the form of a message's: new kinds of items may
// have anything under that name, and must not make the request unreadable.
func (it *item) isMessage() bool {
	switch it.part.Type {
	case "", "message", "reasoning":
		return true
	}
	return false
}

// itemOutput reads the result of a tool: a string, an array of blocks, or one block.
func (p *parser) itemOutput(it *item) {
	c := p.Peek()
	at := p.At
	switch c {
	case 'n':
		p.Skip()
		return
	case '"':
		p.addText(p.String())
	case '[':
		p.Begin('[', "")
		for p.More(']') {
			if p.Peek() == '{' {
				p.openaiBlock()
			} else {
				p.gatherStrings()
				p.addPart(Part{Kind: Text})
			}
		}
	case '{':
		p.openaiBlock()
	default:
		p.Skip()
	}
	it.output = Span{Start: at, End: p.At}
}

// wholeItem makes an item that is not a message its own only part, and returns its role.
func (p *parser) wholeItem(it *item) Role {
	part := &it.part
	kind := part.Type
	role := RoleOther
	switch {
	case kind == "reasoning":
		part.Kind, role = Reasoning, RoleAssistant
	case kind == "item_reference":
		p.brings |= Referenced
	case strings.Contains(kind, "compaction"):
		if strings.HasSuffix(kind, "_trigger") { // a wish
			p.brings |= Compacting
			break
		}
		p.brings |= Compacted
		part.Kind = Compaction
	case strings.HasSuffix(kind, "_call_output"), kind == "tool_search_output":
		if part.IDSpan.IsZero() && kind == "local_shell_call_output" {
			part.CallID, part.IDSpan = p.decoded(it.id), it.id
		}
		if part.CallID != "" {
			part.Kind, role = Result, RoleTool
			part.Content = it.output
		}
	case strings.HasSuffix(kind, "_call"):
		role = RoleAssistant
		if part.CallID != "" {
			part.Kind = Call
		}
	case kind == "additional_tools":
		role = RoleSystem // Codex declares its tools in the input
	case kind == "mcp_list_tools", pairEnd(kind) == Opens:
		role = RoleAssistant
	case strings.HasSuffix(kind, "_update"):
		part.Declares = true // a configuration_update holds until the next one
	}
	if part.Kind == Other {
		p.itemPairs(it)
	}
	p.addWhole(*part)
	w := &p.parts[len(p.parts)-1]
	switch {
	case w.Kind == Other:
		w.Texts, w.Raw = nil, w.Span
		w.Media = slices.Clone(p.findBlobs(w.Span))
	case w.Kind == Compaction && w.Sealed.IsZero() && len(w.Texts) == 0:
		w.Raw = w.Span
	case w.Kind == Call && len(w.Texts) == 0:
		w.Raw = it.action
		if w.Raw.IsZero() {
			w.Raw = w.Span
		}
	case w.Kind == Result && len(w.Texts) == 0 && len(w.Media) == 0 && w.Content.IsZero():
		w.Raw = w.Span // tool_search_output: what was found is in a member of its own
	}
	return role
}

// itemPairs sets whether an item opens or closes a pair that no client answers, and the id of the pair. An item that needed an approval has
// the id of the request for it, as the approval has.
func (p *parser) itemPairs(it *item) {
	part := &it.part
	own := part.IDSpan
	if own.IsZero() && strings.HasSuffix(part.Type, "_request") {
		own = it.id
	}
	of := part.IDSpan
	part.CallID, part.IDSpan = "", Span{}
	if it.of.Len() > 2 {
		part.End, part.CallID, part.IDSpan = Closes, p.decoded(it.of), it.of
		return
	}
	p.setEnd(part, own, of)
}
