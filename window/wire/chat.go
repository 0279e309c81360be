package wire

import "cmp"

// chatMember reads one member of a Chat Completions request.
func (p *parser) chatMember(k []byte, seen *set) {
	switch string(k) {
	case "model":
		p.noteKey(seen, 0)
		p.model()
	case "messages":
		p.noteKey(seen, 1)
		p.readList((*parser).chatMessage)
	case "stream":
		p.noteKey(seen, 2)
		p.r.Stream = p.truth()
	case "max_completion_tokens":
		p.noteKey(seen, 3)
		if n, at := p.readNumber(); !at.IsZero() {
			p.r.MaxOutput, p.r.MaxOutputSpan = n, at
		}
	case "max_tokens":
		p.noteKey(seen, 4)
		if n, at := p.readNumber(); p.r.MaxOutputSpan.IsZero() {
			p.r.MaxOutput, p.r.MaxOutputSpan = n, at
		}
	case "tools":
		p.noteKey(seen, 5)
		p.tools(namedTool)
	case "response_format", "functions", "prediction":
		p.extra()
	default:
		p.Skip()
	}
}

// chatMessage reads one element of messages.
func (p *parser) chatMessage() {
	if !p.Begin('{', "a message is no object") {
		return
	}
	var (
		m      = Message{Span: Span{Start: p.At - 1}}
		seen   set
		role   string
		result Part
	)
	for p.More('}') {
		key, k := p.member()
		switch string(k) {
		case "role":
			p.noteKey(&seen, 0)
			role, _ = p.word("a role is no string")
		case "content":
			p.noteKey(&seen, 1)
			m.lone = p.content(&m, (*parser).openaiBlock)
		case "tool_calls":
			p.noteKey(&seen, 2)
			p.toolCalls(&m)
		case "tool_call_id":
			p.noteKey(&seen, 3)
			result.CallID, result.IDSpan = p.word("a tool_call_id is no string")
		case "name":
			p.noteKey(&seen, 4)
			result.Name, _ = p.word("a name is no string")
		case "refusal":
			p.noteKey(&seen, 5)
			p.memberPart(Text, "refusal")
		case "reasoning_content":
			p.noteKey(&seen, 6)
			p.memberPart(Reasoning, "reasoning_content")
		case "reasoning":
			p.noteKey(&seen, 7)
			p.memberPart(Reasoning, "reasoning")
		case "reasoning_details":
			p.noteKey(&seen, 8)
			p.memberPart(Reasoning, "reasoning_details")
		case "thinking_blocks": // LiteLLM's, of Claude
			p.noteKey(&seen, 12)
			p.memberPart(Reasoning, "thinking_blocks")
		case "function_call":
			p.noteKey(&seen, 9)
			p.memberPart(Other, "function_call")
		case "audio":
			p.noteKey(&seen, 10)
			p.memberPart(Other, "audio")
		case "cache_control":
			p.noteKey(&seen, 11)
			p.cacheControl(key)
		default:
			p.Skip()
		}
	}
	m.Span.End = p.At
	switch role {
	case "system", "developer":
		m.Role = RoleSystem
	case "user":
		m.Role = RoleUser
	case "assistant":
		m.Role = RoleAssistant
	case "tool":
		m.Role = RoleTool
		result.Kind, result.Span, result.Content, result.Type = Result, m.Span, m.Content, "tool"
		p.addWhole(result)
	case "function":
		// The legacy form pairs by name and order; it is left as it is.
		p.addWhole(Part{Span: m.Span, Name: result.Name, Type: "function", Content: m.Content})
	case "":
		p.Fail(m.Span.Start, "a message without a role")
	}
	p.addMessage(m)
}

// memberPart reads a member of a message as a part of its own. A string is its text, and null no part. Any other value is opaque, except
// for a refusal, where it is an error.
func (p *parser) memberPart(kind PartKind, name string) {
	switch p.Peek() {
	case 'n':
		p.Skip()
	case '"':
		lit := p.String()
		p.addText(lit)
		p.addPart(Part{Kind: kind, place: placeMember, Span: lit, Type: name})
	default:
		v := p.Skip()
		if kind == Text {
			p.Fail(v.Start, "a refusal is no string")
		}
		p.addPart(Part{Kind: kind, place: placeMember, Span: v, Raw: v, Type: name})
	}
}

// toolCalls reads the calls of an assistant's message. A null has none.
func (p *parser) toolCalls(m *Message) {
	if p.Peek() == 'n' {
		p.Skip()
		return
	}
	at := p.At
	if !p.Begin('[', "tool_calls is no array") {
		return
	}
	for p.More(']') {
		p.Peek()
		call := Part{Kind: Call, place: placeCall, Span: Span{Start: p.At}}
		if !p.Begin('{', "a call is no object") {
			return
		}
		var seen set
		for p.More('}') {
			switch string(p.readKey()) {
			case "id":
				p.noteKey(&seen, 0)
				call.CallID, call.IDSpan = p.word("a call's id is no string")
			case "type":
				p.noteKey(&seen, 1)
				call.Type, _ = p.word("a call's type is no string")
			case "function":
				p.noteKey(&seen, 2)
				p.callFunction(&call)
			case "custom":
				p.noteKey(&seen, 3)
				p.callFunction(&call)
			default:
				p.Skip()
			}
		}
		call.Span.End = p.At
		call.Type = cmp.Or(call.Type, "function")
		p.addPart(call)
	}
	m.calls = Span{Start: at, End: p.At}
}

// callFunction reads the object with the name and the arguments of a call.
func (p *parser) callFunction(call *Part) {
	if p.null() || !p.Begin('{', "a call's function is no object") {
		return
	}
	var seen set
	for p.More('}') {
		switch string(p.readKey()) {
		case "name":
			p.noteKey(&seen, 0)
			call.Name, _ = p.word("a call's name is no string")
		case "arguments":
			p.noteKey(&seen, 1)
			// Some clients send the arguments as an object; it counts as it stands.
			if p.Peek() == '{' {
				call.Raw = p.Skip()
				break
			}
			p.addText(p.readText("a call's arguments are no string"))
		case "input":
			p.noteKey(&seen, 2)
			p.addText(p.readText("a call's input is no string"))
		default:
			p.Skip()
		}
	}
}

// openaiBlock reads one content block. For a block of only type and text, apart from a cache mark, it returns the text's literal; else the zero Span.
func (p *parser) openaiBlock() (lone Span) {
	if !p.Begin('{', "a content block is no object") {
		return Span{}
	}
	part := Part{Kind: Other, place: placeBlock, Span: Span{Start: p.At - 1}}
	var seen set
	simple := true
	for p.More('}') {
		key, k := p.member()
		switch string(k) {
		case "type":
			p.noteKey(&seen, 0)
			part.Type, _ = p.word("a block's type is no string")
		case "text":
			p.noteKey(&seen, 1)
			lone = p.readText("a block's text is no string")
			p.addText(lone)
		case "refusal":
			p.noteKey(&seen, 7)
			simple = false
			p.addText(p.readText("a refusal is no string"))
		case "image_url":
			p.noteKey(&seen, 2)
			simple = false
			p.openaiSource()
		case "video_url":
			p.noteKey(&seen, 8)
			simple = false
			p.openaiSource()
		case "input_audio":
			p.noteKey(&seen, 9)
			simple = false
			p.openaiSource()
		case "file":
			p.noteKey(&seen, 10)
			simple = false
			p.openaiSource()
		case "file_url":
			p.noteKey(&seen, 3)
			simple = false
			p.gatherMedia(p.readText("a file_url is no string"), "", false)
		case "file_data":
			p.noteKey(&seen, 4)
			simple = false
			p.fileData()
		case "file_id":
			p.noteKey(&seen, 5)
			simple = false
			p.fileID()
		case "cache_control":
			p.noteKey(&seen, 6)
			p.cacheControl(key)
		default:
			simple = false
			p.Skip()
		}
	}
	part.Span.End = p.At
	switch part.Type {
	case "text", "input_text", "output_text", "refusal", "summary_text", "reasoning_text":
		part.Kind = Text
	case "image_url", "input_image", "input_audio", "file", "input_file", "video_url", "input_video", "computer_screenshot":
		part.Kind = Media
	default:
		p.texts, p.media = p.texts[:0], p.media[:0]
		part.Raw = part.Span
	}
	p.addPart(part)
	if !simple || part.Type != "text" {
		return Span{}
	}
	return lone
}

// openaiSource gathers the media in image_url, video_url, input_audio or file: a string or an object. A null has none.
func (p *parser) openaiSource() {
	switch p.Peek() {
	case '"':
		p.gatherMedia(p.String(), "", false)
		return
	case 'n':
		p.Skip()
		return
	}
	if !p.Begin('{', "a source is neither string nor object") {
		return
	}
	var seen set
	var data Span
	var format string
	for p.More('}') {
		switch string(p.readKey()) {
		case "url":
			p.noteKey(&seen, 0)
			p.gatherMedia(p.readText("a url is no string"), "", false)
		case "data":
			p.noteKey(&seen, 1)
			data = p.readText("data is no string")
		case "format":
			p.noteKey(&seen, 2)
			format, _ = p.word("a format is no string")
		case "file_data":
			p.noteKey(&seen, 3)
			p.fileData()
		case "file_id":
			p.noteKey(&seen, 4)
			p.fileID()
		default:
			p.Skip()
		}
	}
	p.gatherMedia(data, format, true)
}

// fileData gathers a file that is given as a data URL or as base64 alone.
func (p *parser) fileData() {
	lit := p.readText("file_data is no string")
	if lit.Len() > 6 && string(p.Text[lit.Start+1:lit.Start+6]) == "data:" {
		p.gatherMedia(lit, "", false)
		return
	}
	p.gatherMedia(lit, "", true)
}

// fileID gathers a file that is only named by its id.
func (p *parser) fileID() {
	if !p.readText("a file_id is no string").IsZero() {
		p.media = append(p.media, MediaSource{FileID: true})
	}
}
