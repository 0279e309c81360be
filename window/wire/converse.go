package wire

import (
	"bytes"
	"cmp"
)

// converseMember reads one member of a Converse request of Amazon Bedrock. Model and stream are in its path.
func (p *parser) converseMember(k []byte, seen *set) {
	switch string(k) {
	case "messages":
		p.noteKey(seen, 0)
		p.readList((*parser).converseMessage)
	case "system":
		p.noteKey(seen, 1)
		var m Message
		p.converseContent(&m)
		p.r.System, p.r.SystemSpan = p.takeParts(), m.Content
	case "toolConfig":
		p.noteKey(seen, 2)
		p.toolConfig()
	case "inferenceConfig":
		p.noteKey(seen, 3)
		p.objectMembers(func(k []byte, seen *set) {
			if string(k) != "maxTokens" {
				p.Skip()
				return
			}
			p.noteKey(seen, 0)
			p.maxOutput()
		})
	case "additionalModelRequestFields": // what the model's maker has beside: Claude's thinking
		p.noteKey(seen, 4)
		if p.Peek() != '{' {
			p.Skip()
			return
		}
		p.objectMembers(func(k []byte, seen *set) {
			if string(k) != "thinking" {
				p.Skip()
				return
			}
			p.noteKey(seen, 0)
			p.thinking()
		})
	case "outputConfig":
		p.extra()
	default:
		p.Skip()
	}
}

// thinking reads the value that asks for reasoning: any but one with "disabled" does.
func (p *parser) thinking() {
	p.r.ThinkingSpan = p.Skip()
	p.r.Thinking = !bytes.Contains(p.r.Raw(p.r.ThinkingSpan), []byte(`"disabled"`))
}

// objectMembers calls member for each member of an object, with the set of those seen, after the name was read. A null has no members.
func (p *parser) objectMembers(member func(name []byte, seen *set)) {
	if p.null() || !p.Begin('{', "a member that has to be an object is none") {
		return
	}
	var seen set
	for p.More('}') {
		member(p.readKey(), &seen)
	}
}

// toolConfig reads the tools: each toolSpec is one, and so is each other element but a cache point.
func (p *parser) toolConfig() {
	p.Peek()
	at := p.At
	p.objectMembers(func(k []byte, seen *set) {
		if string(k) != "tools" {
			p.Skip()
			return
		}
		p.noteKey(seen, 0)
		if p.null() || !p.Begin('[', "the tools are no array") {
			return
		}
		for p.More(']') {
			p.converseTool()
		}
	})
	if p.At > at && p.Text[at] == '{' {
		p.r.ToolsSpan = Span{Start: at, End: p.At}
	}
}

// converseTool reads one element of the tools. A cache point is no tool, and is noted as a mark.
func (p *parser) converseTool() {
	p.Peek()
	from, comma := p.At, p.Comma
	name, mark := "", false
	p.objectMembers(func(k []byte, seen *set) {
		switch string(k) {
		case "toolSpec":
			p.noteKey(seen, 0)
			name = namedTool(p)
		case "cachePoint":
			mark = true
			p.Skip()
		default:
			p.Skip()
		}
	})
	if mark {
		p.cachePoint(comma, from)
		return
	}
	p.tool(name, from)
}

// cachePoint records an element that is nothing but a cache mark, with the comma before it. It is not a part of its message.
func (p *parser) cachePoint(comma, from int) {
	if p.Err == nil {
		p.r.Marks = append(p.r.Marks, p.removable(comma, from, p.At))
	}
}

// converseMessage reads one element of messages.
func (p *parser) converseMessage() {
	p.Peek()
	m := Message{Span: Span{Start: p.At}}
	role := ""
	p.objectMembers(func(k []byte, seen *set) {
		switch string(k) {
		case "role":
			p.noteKey(seen, 0)
			role, _ = p.word("a role is no string")
		case "content":
			p.noteKey(seen, 1)
			p.converseContent(&m)
		default:
			p.Skip()
		}
	})
	m.Span.End = p.At
	switch role {
	case "user":
		m.Role = RoleUser
	case "assistant":
		m.Role = RoleAssistant
	case "":
		p.Fail(m.Span.Start, "a message without a role")
	}
	p.addMessage(m)
}

// converseContent reads a content, which is an array of blocks, or null.
func (p *parser) converseContent(m *Message) {
	p.Peek()
	at := p.At
	if p.null() || !p.Begin('[', "a content is no array") {
		return
	}
	for p.More(']') {
		p.converseBlock()
	}
	m.Content = Span{Start: at, End: p.At}
}

// converseBlock reads one block: an object with one member, which names it.
func (p *parser) converseBlock() {
	p.Peek()
	comma := p.Comma
	part := Part{place: placeBlock, Span: Span{Start: p.At}}
	point := false
	p.objectMembers(func(k []byte, seen *set) {
		if p.null() {
			return
		}
		p.noteKey(seen, 0)
		switch string(k) {
		case "text":
			part.Kind, part.Type = Text, "text"
			p.addText(p.readText("a text is no string"))
		case "toolUse":
			part.Kind, part.Type = Call, "toolUse"
			p.toolUse(&part)
		case "toolResult":
			part.Kind, part.Type = Result, "toolResult"
			p.toolResult(&part)
		case "reasoningContent":
			part.Kind, part.Type = Reasoning, "reasoningContent"
			p.reasoningContent(&part)
		case "image", "document", "video", "audio":
			part.Kind, part.Type = Media, string(k)
			p.converseMedia(part.Type)
		case "cachePoint":
			point = true
			p.Skip()
		default:
			part.Type = string(k)
			part.Declares = part.Type == "toolAddition" || part.Type == "toolRemoval"
			p.Skip()
		}
	})
	part.Span.End = p.At
	if point {
		p.cachePoint(comma, part.Span.Start)
		return
	}
	if part.Kind == Other {
		part.Raw = part.Span
	}
	p.addPart(part)
}

// toolUse reads a call into part.
func (p *parser) toolUse(part *Part) {
	p.objectMembers(func(k []byte, seen *set) {
		switch string(k) {
		case "toolUseId":
			p.noteKey(seen, 0)
			part.CallID, part.IDSpan = p.word("an id is no string")
		case "name":
			p.noteKey(seen, 1)
			part.Name, _ = p.word("a name is no string")
		case "input":
			p.noteKey(seen, 2)
			part.Raw = p.Skip()
		default:
			p.Skip()
		}
	})
}

// toolResult reads a result into part.
func (p *parser) toolResult(part *Part) {
	p.objectMembers(func(k []byte, seen *set) {
		switch string(k) {
		case "toolUseId":
			p.noteKey(seen, 0)
			part.CallID, part.IDSpan = p.word("an id is no string")
		case "content":
			p.noteKey(seen, 1)
			p.Peek()
			at := p.At
			if p.null() || !p.Begin('[', "the content of a result is no array") {
				return
			}
			for p.More(']') {
				p.resultBlock()
			}
			part.Content = Span{Start: at, End: p.At}
		case "status":
			p.noteKey(seen, 2)
			status, _ := p.word("a status is no string")
			part.Failed = status == "error"
		default:
			p.Skip()
		}
	})
}

// resultBlock reads one block of a result. In JSON and in unknown blocks the model may read every string.
func (p *parser) resultBlock() {
	if p.Peek() != '{' {
		p.gatherStrings()
		return
	}
	p.objectMembers(func(k []byte, _ *set) {
		switch string(k) {
		case "text":
			p.addText(p.readText("a text is no string"))
		case "image", "document", "video", "audio":
			p.converseMedia(string(k))
		default:
			p.gatherStrings()
		}
	})
}

// reasoningContent reads reasoning into part: its text, and its signature or sealed content.
func (p *parser) reasoningContent(part *Part) {
	p.objectMembers(func(k []byte, seen *set) {
		switch string(k) {
		case "reasoningText":
			p.noteKey(seen, 0)
			p.objectMembers(func(k []byte, seen *set) {
				switch string(k) {
				case "text":
					p.noteKey(seen, 0)
					p.addText(p.readText("a text is no string"))
				case "signature":
					p.noteKey(seen, 1)
					part.Sealed = p.readText("a signature is no string")
				default:
					p.Skip()
				}
			})
		case "redactedContent":
			p.noteKey(seen, 1)
			part.Sealed = p.readText("a redactedContent is no string")
		default:
			p.Skip()
		}
	})
}

// converseMedia gathers an image, a document, a sound or a video.
func (p *parser) converseMedia(kind string) {
	form := ""
	var data Span
	at := len(p.media)
	p.objectMembers(func(k []byte, seen *set) {
		switch string(k) {
		case "format":
			p.noteKey(seen, 0)
			form, _ = p.word("a format is no string")
		case "source":
			p.noteKey(seen, 1)
			p.objectMembers(func(k []byte, seen *set) {
				switch string(k) {
				case "bytes":
					p.noteKey(seen, 0)
					data = p.readText("bytes are no string")
				case "s3Location":
					p.noteKey(seen, 1)
					p.Skip()
					p.media = append(p.media, MediaSource{FileID: true})
				default: // a document may be words
					p.gatherStrings()
				}
			})
		default: // its name, and what it is for
			p.anyText()
		}
	})
	switch {
	case kind == "document" && form == "pdf":
		kind = "application/pdf"
	case form != "":
		kind += "/" + form
	}
	if !data.IsZero() {
		p.gatherMedia(data, kind, true)
	}
	for i := at; i < len(p.media); i++ {
		p.media[i].Type = cmp.Or(p.media[i].Type, kind)
	}
}
