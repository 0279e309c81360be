package wire

import "strings"

// messagesMember reads one member of an Anthropic Messages request.
func (p *parser) messagesMember(k []byte, seen *set) {
	switch string(k) {
	case "model":
		p.noteKey(seen, 0)
		p.model()
	case "messages":
		p.noteKey(seen, 1)
		p.readList((*parser).messagesMessage)
	case "stream":
		p.noteKey(seen, 2)
		p.r.Stream = p.truth()
	case "max_tokens":
		p.noteKey(seen, 3)
		p.maxOutput()
	case "tools":
		p.noteKey(seen, 4)
		p.tools(namedTool)
	case "system":
		p.noteKey(seen, 5)
		var m Message
		p.Peek()
		lone := p.content(&m, (*parser).block)
		if !m.Content.IsZero() {
			p.r.System, p.r.SystemSpan, p.r.systemLone = p.takeParts(), m.Content, lone
		}
	case "thinking":
		p.thinking()
	case "context_management":
		p.noteKey(seen, 6)
		p.contextManagement()
	case "output_config", "output_format":
		p.extra()
	default:
		p.compaction(k)
	}
}

// contextManagement reads the edits with which the provider itself is to shorten the input. Those that summarise (compact_* in Messages,
// compaction in Responses) set Compacting; the clear_* edits only blank old results there, and set Clears: what the provider counts is
// less.
func (p *parser) contextManagement() {
	v := p.Skip()
	if p.Err != nil {
		return
	}
	end := p.At
	p.At = v.Start
	for _, lit := range p.appendStrings(nil) {
		switch word := p.decoded(lit); {
		case strings.HasPrefix(word, "compact"):
			p.r.outer |= Compacting
		case strings.HasPrefix(word, "clear_"):
			p.r.Clears = v
		}
	}
	p.At = max(p.At, end)
}

// messagesMessage reads one element of messages.
func (p *parser) messagesMessage() {
	if !p.Begin('{', "a message is no object") {
		return
	}
	var (
		m    = Message{Span: Span{Start: p.At - 1}}
		seen set
		role string
	)
	for p.More('}') {
		key, k := p.member()
		switch string(k) {
		case "role":
			p.noteKey(&seen, 0)
			role, _ = p.word("a role is no string")
		case "content":
			p.noteKey(&seen, 1)
			m.lone = p.content(&m, (*parser).block)
		case "cache_control":
			p.noteKey(&seen, 2)
			p.cacheControl(key)
		default:
			p.Skip()
		}
	}
	m.Span.End = p.At
	switch role {
	case "user":
		m.Role = RoleUser
	case "assistant":
		m.Role = RoleAssistant
	case "system":
		m.Role = RoleSystem
	case "":
		p.Fail(m.Span.Start, "a message without a role")
	}
	p.addMessage(m)
}

// content reads a content: a string, null or an array of blocks. If it is one block of type and text alone, it returns the text's literal,
// which means the same.
func (p *parser) content(m *Message, block func(*parser) Span) (lone Span) {
	switch p.Peek() {
	case 'n':
		p.Skip()
	case '"':
		lit := p.String()
		m.Content, m.Plain = lit, true
		p.addText(lit)
		p.addPart(Part{Kind: Text, place: placePlain, Span: lit})
	case '[':
		at := p.At
		p.Begin('[', "")
		for n := 0; p.More(']'); n++ {
			if lone = block(p); n > 0 {
				lone = Span{}
			}
		}
		m.Content = Span{Start: at, End: p.At}
	default:
		p.Fail(p.At, "a content is neither string nor array")
	}
	return lone
}

// block reads one content block. For a block of only type and text, apart from a cache mark, it returns the text's literal; else the zero Span.
func (p *parser) block() (lone Span) {
	if !p.Begin('{', "a content block is no object") {
		return Span{}
	}
	var (
		part        = Part{place: placeBlock, Span: Span{Start: p.At - 1}}
		seen        set
		id, use     Span
		input, file Span
		data        Span
	)
	for p.More('}') {
		key, k := p.member()
		switch string(k) {
		case "type":
			p.noteKey(&seen, 0)
			part.Type, _ = p.word("a block's type is no string")
		case "text":
			p.noteKey(&seen, 1)
			lone = p.readText("a text is no string")
			p.addText(lone)
		case "cache_control":
			p.noteKey(&seen, 2)
			p.cacheControl(key)
		case "id":
			p.noteKey(&seen, 3)
			id = p.readText("an id is no string")
		case "tool_use_id":
			p.noteKey(&seen, 4)
			use = p.readText("a tool_use_id is no string")
		case "name":
			p.noteKey(&seen, 5)
			part.Name, _ = p.word("a name is no string")
		case "input":
			p.noteKey(&seen, 6)
			input = p.Skip()
		case "content":
			p.noteKey(&seen, 7)
			part.Content = p.inner(2)
		case "is_error":
			p.noteKey(&seen, 8)
			part.Failed = p.truth()
		case "thinking":
			p.noteKey(&seen, 9)
			p.addText(p.readText("a thinking is no string"))
		case "signature":
			p.noteKey(&seen, 10)
			part.Sealed = p.readText("a signature is no string")
		case "data":
			p.noteKey(&seen, 11)
			data = p.Skip()
		case "source":
			p.noteKey(&seen, 12)
			p.anthropicSource(2)
		case "file_id":
			p.noteKey(&seen, 13)
			file = p.readText("a file_id is no string")
		case "title", "context":
			seen |= 1 << 14
			p.anyText()
		default:
			seen |= 1 << 15
			p.Skip()
		}
	}
	part.Span.End = p.At
	part.Declares, p.declares = p.declares, false
	switch part.Type {
	case "text":
		part.Kind = Text
	case "tool_use":
		part.Kind, part.Raw = Call, input
		part.CallID, part.IDSpan = p.decoded(id), id
	case "tool_result":
		part.Kind = Result
		part.CallID, part.IDSpan = p.decoded(use), use
	case "thinking":
		part.Kind = Reasoning
	case "redacted_thinking":
		part.Kind, part.Sealed = Reasoning, data
	case "image", "document":
		part.Kind = Media
	case "container_upload":
		part.Kind = Media
		if !file.IsZero() {
			p.media = append(p.media, MediaSource{FileID: true})
		}
	case "compaction":
		// One without a summary failed, and stands for nothing (Anthropic's schema, beta_compaction_block).
		if !part.Content.IsZero() && p.Text[part.Content.Start] == '"' {
			part.Kind, part.Content = Compaction, Span{}
			p.brings |= Compacted
		}
	}
	if part.Kind == Other {
		p.texts, p.media = p.texts[:0], p.media[:0]
		part.Raw, part.Content = part.Span, Span{}
		part.Declares = declaresTools(part.Type, p.Text[part.Span.Start:part.Span.End])
		p.setEnd(&part, id, use)
	}
	p.addPart(part)
	if part.Kind != Text || seen&^7 != 0 {
		return Span{}
	}
	return lone
}

// setEnd sets whether an opaque part opens or closes a pair, and the id of the pair; without an id it does neither. own is the part's id, and of that
// of the part it answers.
func (p *parser) setEnd(part *Part, own, of Span) {
	switch part.End = pairEnd(part.Type); {
	case part.End == Opens && own.Len() > 2:
		part.CallID, part.IDSpan = p.decoded(own), own
	case part.End == Closes && of.Len() > 2:
		part.CallID, part.IDSpan = p.decoded(of), of
	default:
		part.End = NoEnd
	}
}

// inner reads the content of a result or document: a string, or blocks, nested up to levels deep, whose texts and media are gathered. It
// returns its span.
func (p *parser) inner(levels int) Span {
	c := p.Peek()
	at := p.At
	if c != '[' || levels == 0 {
		return p.anyText()
	}
	p.Begin('[', "")
	for p.More(']') {
		if p.Peek() != '{' {
			p.anyText()
			continue
		}
		p.innerBlock(levels - 1)
	}
	return Span{Start: at, End: p.At}
}

// innerBlock reads one block inside a block, and gathers its texts and media.
func (p *parser) innerBlock(levels int) {
	at, texts, media := p.At, len(p.texts), len(p.media)
	p.Begin('{', "")
	var seen set
	var kind string
	for p.More('}') {
		key, k := p.member()
		switch string(k) {
		case "type":
			p.noteKey(&seen, 0)
			kind, _ = p.word("a block's type is no string")
		case "text":
			p.noteKey(&seen, 1)
			p.addText(p.readText("a text is no string"))
		case "cache_control":
			p.noteKey(&seen, 2)
			p.cacheControl(key)
		case "source":
			p.noteKey(&seen, 3)
			p.anthropicSource(levels)
		case "title", "context":
			p.anyText()
		default:
			p.Skip()
		}
	}
	switch kind {
	case "text", "image", "document":
	default:
		p.declares = p.declares || strings.HasSuffix(kind, "tool_reference")
		// Search results, references and what is yet to come: every string may be read.
		end := p.At
		p.texts, p.media = p.texts[:texts], p.media[:media]
		p.At = at
		p.gatherStrings()
		p.At = max(p.At, end)
	}
}

// anthropicSource gathers the media or the texts in the source of an image, document or search result.
func (p *parser) anthropicSource(levels int) {
	if p.Peek() != '{' {
		p.anyText() // a search result's source is an address
		return
	}
	p.Begin('{', "")
	var (
		seen       set
		kind, form string
		data, url  Span
		file       Span
	)
	for p.More('}') {
		switch string(p.readKey()) {
		case "type":
			p.noteKey(&seen, 0)
			kind, _ = p.word("a source's type is no string")
		case "media_type":
			p.noteKey(&seen, 1)
			form, _ = p.word("a media_type is no string")
		case "data":
			p.noteKey(&seen, 2)
			data = p.readText("data is no string")
		case "url":
			p.noteKey(&seen, 3)
			url = p.readText("a url is no string")
		case "file_id":
			p.noteKey(&seen, 4)
			file = p.readText("a file_id is no string")
		case "content":
			p.noteKey(&seen, 5)
			p.inner(levels)
		default:
			p.Skip()
		}
	}
	switch {
	case kind == "text":
		p.addText(data)
	case !data.IsZero():
		p.gatherMedia(data, form, true)
	case !url.IsZero():
		p.media = append(p.media, MediaSource{Type: form, URL: true})
	case !file.IsZero():
		p.media = append(p.media, MediaSource{Type: form, FileID: true})
	}
}
