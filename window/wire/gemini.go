package wire

// geminiMember reads one member of a generateContent request. Every name has two
// spellings: protobuf's JSON takes the field's own name (snake_case) as well.
func (p *parser) geminiMember(k []byte, seen *set) {
	switch string(k) {
	case "model":
		p.once(seen, 0)
		p.model()
	case "contents":
		p.once(seen, 1)
		if p.peek() == '{' {
			// The provider takes one object where an array of one is meant.
			at := p.i
			p.geminiContent()
			p.r.List = Span{at, p.i}
			return
		}
		p.list((*parser).geminiContent)
	case "systemInstruction", "system_instruction":
		p.once(seen, 2)
		p.geminiSystem()
	case "generationConfig", "generation_config":
		p.once(seen, 3)
		p.generationConfig()
	case "tools":
		p.once(seen, 4)
		p.geminiTools()
	case "cachedContent", "cached_content":
		p.once(seen, 5)
		if p.given() {
			p.r.Aside = max(p.r.Aside, AsideReference)
		}
	default:
		p.skip()
	}
}

func (p *parser) geminiSystem() {
	c := p.peek()
	at := p.i
	var m Message
	switch c {
	case 'n':
		p.skip()
		return
	case '"':
		lit := p.str()
		p.words(lit)
		p.add(Part{Kind: Text, place: placePlain, Span: lit})
	default:
		if !p.begin('{', "a system instruction is no object") {
			return
		}
		var seen set
		for p.more('}') {
			if string(p.name()) != "parts" {
				p.skip()
				continue
			}
			p.once(&seen, 0)
			p.geminiParts(&m)
		}
	}
	p.r.System, p.r.SystemSpan = p.take(), Span{at, p.i}
}

func (p *parser) generationConfig() {
	if p.peek() == 'n' {
		p.skip()
		return
	}
	if !p.begin('{', "a generationConfig is no object") {
		return
	}
	var seen set
	for p.more('}') {
		switch string(p.name()) {
		case "maxOutputTokens", "max_output_tokens":
			p.once(&seen, 0)
			p.maxOutput()
		case "responseSchema", "response_schema", "responseJsonSchema", "response_json_schema":
			p.extra()
		default:
			p.skip()
		}
	}
}

// geminiTools reads the tools: each declared function is one, and each other member of a
// tool's object.
func (p *parser) geminiTools() {
	c := p.peek()
	at := p.i
	switch c {
	case 'n':
		p.skip()
		return
	case '{':
		p.geminiTool()
	default:
		if !p.begin('[', "the tools are no array") {
			return
		}
		for p.more(']') {
			p.geminiTool()
		}
	}
	p.r.ToolsSpan = Span{at, p.i}
}

func (p *parser) geminiTool() {
	if !p.begin('{', "a tool is no object") {
		return
	}
	var seen set
	for p.more('}') {
		switch k := p.name(); string(k) {
		case "functionDeclarations", "function_declarations":
			if p.null() {
				break
			}
			p.once(&seen, 0)
			p.begin('[', "the declared functions are no array")
			for p.more(']') {
				p.peek()
				from := p.i
				p.tool(namedTool(p), from)
			}
		default:
			name := string(k)
			if p.null() {
				break
			}
			from := p.i
			p.skip()
			p.tool(name, from)
		}
	}
}

// geminiContent reads one element of contents.
func (p *parser) geminiContent() {
	if !p.begin('{', "a content is no object") {
		return
	}
	m := Message{Span: Span{Start: p.i - 1}}
	var seen set
	var role string
	for p.more('}') {
		switch string(p.name()) {
		case "role":
			p.once(&seen, 0)
			role, _ = p.word("a role is no string")
		case "parts":
			p.once(&seen, 1)
			p.geminiParts(&m)
		default:
			p.skip()
		}
	}
	m.Span.End = p.i
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
	p.message(m)
}

// geminiParts reads an array of parts, or one part where an array of one is meant.
func (p *parser) geminiParts(m *Message) {
	c := p.peek()
	at := p.i
	switch c {
	case 'n':
		p.skip()
		return
	case '{':
		p.geminiPart(placeOnly)
	default:
		if !p.begin('[', "the parts are no array") {
			return
		}
		for p.more(']') {
			p.geminiPart(placeBlock)
		}
	}
	m.Content = Span{at, p.i}
}

func (p *parser) geminiPart(where place) {
	if !p.begin('{', "a part is no object") {
		return
	}
	part := Part{place: where, Span: Span{Start: p.i - 1}}
	var seen set
	var thought, executed bool
	for p.more('}') {
		k := p.name()
		if p.null() {
			continue
		}
		switch string(k) {
		case "text":
			p.once(&seen, 0)
			part.Kind, part.Type = Text, "text"
			p.words(p.text("a text is no string"))
		case "thought":
			p.once(&seen, 1)
			thought = p.truth()
		case "thoughtSignature", "thought_signature":
			p.once(&seen, 2)
			part.Sealed = p.text("a thoughtSignature is no string")
		case "functionCall", "function_call":
			p.once(&seen, 3)
			part.Kind, part.Type = Call, "functionCall"
			p.geminiFunction(&part)
		case "functionResponse", "function_response":
			p.once(&seen, 4)
			part.Kind, part.Type = Result, "functionResponse"
			p.geminiFunction(&part)
		case "inlineData", "inline_data":
			p.once(&seen, 5)
			part.Kind, part.Type = Media, "inlineData"
			p.geminiData()
		case "fileData", "file_data":
			p.once(&seen, 6)
			part.Kind, part.Type = Media, "fileData"
			p.geminiData()
		case "executableCode", "executable_code", "codeExecutionResult", "code_execution_result":
			executed = true
			p.skip()
		default:
			p.skip()
		}
	}
	part.Span.End = p.i
	switch {
	case executed:
		part.Kind = Other
	case part.Kind == Text && thought:
		part.Kind = Reasoning
	}
	if part.Kind == Other {
		p.texts, p.media = p.texts[:0], p.media[:0]
		part.Raw = part.Span
	}
	p.add(part)
}

// geminiFunction reads a functionCall or functionResponse.
func (p *parser) geminiFunction(part *Part) {
	if !p.begin('{', "a function's call or response is no object") {
		return
	}
	var seen set
	for p.more('}') {
		switch string(p.name()) {
		case "id":
			p.once(&seen, 0)
			part.CallID, part.IDSpan = p.word("an id is no string")
		case "name":
			p.once(&seen, 1)
			part.Name, _ = p.word("a name is no string")
		case "args":
			p.once(&seen, 2)
			part.Raw = p.skip()
		case "response":
			p.once(&seen, 3)
			p.geminiResponse(part)
		case "parts":
			p.once(&seen, 4)
			if p.peek() != '[' {
				p.skip()
				break
			}
			p.begin('[', "")
			for p.more(']') {
				p.responsePart()
			}
		default:
			p.skip()
		}
	}
}

// geminiResponse reads what a function returned: an object, whose direct members that are
// strings may be cut.
func (p *parser) geminiResponse(part *Part) {
	c := p.peek()
	at := p.i
	if c != '{' {
		p.skip()
		part.Raw = Span{at, p.i}
		part.Content = part.Raw
		return
	}
	p.begin('{', "")
	for p.more('}') {
		failed := string(p.name()) == "error"
		if p.peek() == '"' {
			p.words(p.str())
		} else if v := p.skip(); p.err == nil {
			failed = failed && p.b[v.Start] != 'n'
		}
		part.Failed = part.Failed || failed
	}
	part.Raw = Span{at, p.i}
	part.Content = part.Raw
}

// responsePart reads one of the media a function returned.
func (p *parser) responsePart() {
	if !p.begin('{', "a part is no object") {
		return
	}
	var seen set
	for p.more('}') {
		switch string(p.name()) {
		case "inlineData", "inline_data", "fileData", "file_data":
			p.once(&seen, 0)
			p.geminiData()
		default:
			p.skip()
		}
	}
}

// geminiData reads inlineData or fileData.
func (p *parser) geminiData() {
	if !p.begin('{', "data of a part is no object") {
		return
	}
	var seen set
	var kind string
	var data, uri Span
	for p.more('}') {
		switch string(p.name()) {
		case "mimeType", "mime_type":
			p.once(&seen, 0)
			kind, _ = p.word("a mimeType is no string")
		case "data":
			p.once(&seen, 1)
			data = p.text("data is no string")
		case "fileUri", "file_uri":
			p.once(&seen, 2)
			uri = p.text("a fileUri is no string")
		default:
			p.skip()
		}
	}
	if !data.IsZero() {
		p.source(data, kind, true)
	} else if !uri.IsZero() {
		p.media = append(p.media, MediaSource{Type: kind, URL: true})
	}
}
