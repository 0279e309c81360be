package wire

// geminiMember reads one member of a generateContent request. Every name has two
// spellings: protobuf's JSON takes the field's own name (snake_case) as well.
func (p *parser) geminiMember(k []byte, seen *set) {
	switch string(k) {
	case "model":
		p.noteKey(seen, 0)
		p.model()
	case "contents":
		p.noteKey(seen, 1)
		if p.Peek() == '{' {
			// The provider takes one object where an array of one is meant.
			at := p.At
			p.geminiContent()
			p.r.List = Span{Start: at, End: p.At}
			return
		}
		p.readList((*parser).geminiContent)
	case "systemInstruction", "system_instruction":
		p.noteKey(seen, 2)
		p.geminiSystem()
	case "generationConfig", "generation_config":
		p.noteKey(seen, 3)
		p.generationConfig()
	case "tools":
		p.noteKey(seen, 4)
		p.geminiTools()
	case "cachedContent", "cached_content":
		p.noteKey(seen, 5)
		if p.isSet() {
			p.r.outer |= Referenced
		}
	default:
		p.Skip()
	}
}

// geminiSystem reads the system instruction: a string, or an object with parts.
func (p *parser) geminiSystem() {
	c := p.Peek()
	at := p.At
	var m Message
	switch c {
	case 'n':
		p.Skip()
		return
	case '"':
		lit := p.String()
		p.addText(lit)
		p.addPart(Part{Kind: Text, place: placePlain, Span: lit})
	default:
		if !p.Begin('{', "a system instruction is no object") {
			return
		}
		var seen set
		for p.More('}') {
			if string(p.readKey()) != "parts" {
				p.Skip()
				continue
			}
			p.noteKey(&seen, 0)
			p.geminiParts(&m)
		}
	}
	p.r.System, p.r.SystemSpan = p.takeParts(), Span{Start: at, End: p.At}
}

// generationConfig reads the bound of the output, and counts schemas of the answer as extra input.
func (p *parser) generationConfig() {
	if p.Peek() == 'n' {
		p.Skip()
		return
	}
	if !p.Begin('{', "a generationConfig is no object") {
		return
	}
	var seen set
	for p.More('}') {
		switch string(p.readKey()) {
		case "maxOutputTokens", "max_output_tokens":
			p.noteKey(&seen, 0)
			p.maxOutput()
		case "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema":
			p.extra()
		default:
			p.Skip()
		}
	}
}

// geminiTools reads the tools: each declared function is one, and so is each other member of a tool's object.
func (p *parser) geminiTools() {
	c := p.Peek()
	at := p.At
	switch c {
	case 'n':
		p.Skip()
		return
	case '{':
		p.geminiTool()
	default:
		if !p.Begin('[', "the tools are no array") {
			return
		}
		for p.More(']') {
			p.geminiTool()
		}
	}
	p.r.ToolsSpan = Span{Start: at, End: p.At}
}

// geminiTool reads one object of the tools: each declared function is a tool, and so is each other member.
func (p *parser) geminiTool() {
	if !p.Begin('{', "a tool is no object") {
		return
	}
	var seen set
	for p.More('}') {
		switch k := p.readKey(); string(k) {
		case "functionDeclarations", "function_declarations":
			if p.null() {
				break
			}
			p.noteKey(&seen, 0)
			p.Begin('[', "the declared functions are no array")
			for p.More(']') {
				p.Peek()
				from := p.At
				p.tool(namedTool(p), from)
			}
		default:
			name := string(k)
			if p.null() {
				break
			}
			from := p.At
			p.Skip()
			p.tool(name, from)
		}
	}
}

// geminiContent reads one element of contents.
func (p *parser) geminiContent() {
	if !p.Begin('{', "a content is no object") {
		return
	}
	m := Message{Span: Span{Start: p.At - 1}}
	var seen set
	var role string
	for p.More('}') {
		switch string(p.readKey()) {
		case "role":
			p.noteKey(&seen, 0)
			role, _ = p.word("a role is no string")
		case "parts":
			p.noteKey(&seen, 1)
			p.geminiParts(&m)
		default:
			p.Skip()
		}
	}
	m.Span.End = p.At
	switch role {
	case "user", "":
		m.Role = RoleUser
	case "model":
		m.Role = RoleAssistant
	case "function", "tool":
		m.Role = RoleTool
	case "system":
		m.Role = RoleSystem
	}
	p.addMessage(m)
}

// geminiParts reads an array of parts, or one part in place of an array.
func (p *parser) geminiParts(m *Message) {
	c := p.Peek()
	at := p.At
	switch c {
	case 'n':
		p.Skip()
		return
	case '{':
		p.geminiPart(placeOnly)
	default:
		if !p.Begin('[', "the parts are no array") {
			return
		}
		for p.More(']') {
			p.geminiPart(placeBlock)
		}
	}
	m.Content = Span{Start: at, End: p.At}
}

// geminiPart reads one part of a content; where is its place in the message.
func (p *parser) geminiPart(where place) {
	if !p.Begin('{', "a part is no object") {
		return
	}
	part := Part{place: where, Span: Span{Start: p.At - 1}}
	var seen set
	var thought, served bool
	for p.More('}') {
		k := p.readKey()
		if p.null() {
			continue
		}
		switch string(k) {
		case "text":
			p.noteKey(&seen, 0)
			part.Kind, part.Type = Text, "text"
			p.addText(p.readText("a text is no string"))
		case "thought":
			p.noteKey(&seen, 1)
			thought = p.truth()
		case "thoughtSignature", "thought_signature":
			p.noteKey(&seen, 2)
			part.Sealed = p.readText("a thoughtSignature is no string")
		case "functionCall", "function_call":
			p.noteKey(&seen, 3)
			part.Kind, part.Type = Call, "functionCall"
			p.geminiFunction(&part)
		case "functionResponse", "function_response":
			p.noteKey(&seen, 4)
			part.Kind, part.Type = Result, "functionResponse"
			p.geminiFunction(&part)
		case "inlineData", "inline_data":
			p.noteKey(&seen, 5)
			part.Kind, part.Type = Media, "inlineData"
			p.geminiData()
		case "fileData", "file_data":
			p.noteKey(&seen, 6)
			part.Kind, part.Type = Media, "fileData"
			p.geminiData()
		default:
			end := pairEnd(string(k))
			if end == NoEnd || p.Peek() != '{' {
				p.Skip()
				break
			}
			served, part.End, part.Type = true, end, string(k)
			p.geminiServed(&part)
		}
	}
	part.Span.End = p.At
	switch {
	case served:
		part.Kind = Other
	case part.Kind == Text && thought:
		part.Kind = Reasoning
	}
	if part.Kind == Other {
		p.texts, p.media = p.texts[:0], p.media[:0]
		part.Raw = part.Span
	}
	p.addPart(part)
}

// geminiServed reads the id in a part of the provider's own, which is a call of a tool there or its result.
func (p *parser) geminiServed(part *Part) {
	p.Begin('{', "")
	for p.More('}') {
		if string(p.readKey()) == "id" && p.Peek() == '"' {
			part.CallID, part.IDSpan = p.word("")
		} else {
			p.Skip()
		}
	}
}

// geminiFunction reads a functionCall or functionResponse.
func (p *parser) geminiFunction(part *Part) {
	if !p.Begin('{', "a function's call or response is no object") {
		return
	}
	var seen set
	for p.More('}') {
		switch string(p.readKey()) {
		case "id":
			p.noteKey(&seen, 0)
			part.CallID, part.IDSpan = p.word("an id is no string")
		case "name":
			p.noteKey(&seen, 1)
			part.Name, _ = p.word("a name is no string")
		case "args":
			p.noteKey(&seen, 2)
			part.Raw = p.Skip()
		case "response":
			p.noteKey(&seen, 3)
			p.geminiResponse(part)
		case "parts":
			p.noteKey(&seen, 4)
			if p.Peek() != '[' {
				p.Skip()
				break
			}
			p.Begin('[', "")
			for p.More(']') {
				p.responseMedia()
			}
		default:
			p.Skip()
		}
	}
}

// geminiResponse reads the response of a function: an object, whose direct members that are strings may be cut. A member "error" that is
// not null marks it as failed.
func (p *parser) geminiResponse(part *Part) {
	c := p.Peek()
	at := p.At
	if c != '{' {
		p.Skip()
		part.Raw = Span{Start: at, End: p.At}
		part.Content = part.Raw
		return
	}
	p.Begin('{', "")
	for p.More('}') {
		failed := string(p.readKey()) == "error"
		if p.Peek() == '"' {
			p.addText(p.String())
		} else if v := p.Skip(); p.Err == nil {
			failed = failed && p.Text[v.Start] != 'n'
		}
		part.Failed = part.Failed || failed
	}
	part.Raw = Span{Start: at, End: p.At}
	part.Content = part.Raw
}

// responseMedia gathers one of the media that a function returned.
func (p *parser) responseMedia() {
	if !p.Begin('{', "a part is no object") {
		return
	}
	var seen set
	for p.More('}') {
		switch string(p.readKey()) {
		case "inlineData", "inline_data", "fileData", "file_data":
			p.noteKey(&seen, 0)
			p.geminiData()
		default:
			p.Skip()
		}
	}
}

// geminiData gathers the media in inlineData or fileData.
func (p *parser) geminiData() {
	if !p.Begin('{', "data of a part is no object") {
		return
	}
	var seen set
	var kind string
	var data, uri Span
	for p.More('}') {
		switch string(p.readKey()) {
		case "mimeType", "mime_type":
			p.noteKey(&seen, 0)
			kind, _ = p.word("a mimeType is no string")
		case "data":
			p.noteKey(&seen, 1)
			data = p.readText("data is no string")
		case "fileUri", "file_uri":
			p.noteKey(&seen, 2)
			uri = p.readText("a fileUri is no string")
		default:
			p.Skip()
		}
	}
	if !data.IsZero() {
		p.gatherMedia(data, kind, true)
	} else if !uri.IsZero() {
		p.media = append(p.media, MediaSource{Type: kind, URL: true})
	}
}
