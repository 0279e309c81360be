package mend

import (
	"cmp"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// mendResult mends the result of a call in part j of message i: empty texts, images, a failure without words. It adds the line about its call.
func (m *mending) mendResult(i, j int, p *wire.Part) {
	line := m.takeNote(p)
	switch d := m.rules.dialect; {
	case d.ObjectResults:
		m.mendResponse(i, p, line)
		return
	case d.Items:
		if p.Content.IsZero() && p.Type != "tool_search_output" && p.Type != "apply_patch_call_output" && m.r.TakesText(p) {
			// "Missing required parameter: 'input[2].output'."
			m.draft().ReplaceResult(i, j, line)
			m.addAction(Filled, i, p.CallID, 0)
			return
		}
	case d.SilentError:
		if p.Failed && m.isEmptyResult(p) {
			// "content cannot be empty if `is_error` is true" (oh-my-pi#2250, trae-agent#231)
			m.draft().ReplaceResult(i, j, joinLines(line, failedSilently))
			m.addAction(Filled, i, p.CallID, 0)
			return
		}
	}
	if p.Content.IsZero() || m.r.Body[p.Content.Start] == 'n' {
		if none := m.rules.openai && m.rules.dialect.StringContent; none || line != "" && p.Content.IsZero() {
			m.draft().ReplaceResult(i, j, line)
			if none { // "Invalid value for 'content': expected a string, got null."
				m.addAction(Emptied, i, p.CallID, 0)
			}
		}
		return
	}
	switch m.r.Body[p.Content.Start] {
	case '"':
		if line != "" && m.r.TakesText(p) {
			m.draft().ReplaceResult(i, j, joinLines(line, string(wire.Unquote(nil, m.r.Raw(p.Content)))))
		}
	case '[':
		if m.rules.openai && len(p.Texts) == 0 && len(p.Media) == 0 && len(m.listOf(p.Content).at) == 0 {
			// "Invalid 'messages[2].content': empty array. Expected an array with minimum length 1, but got an empty array instead."
			m.draft().ReplaceResult(i, j, line)
			m.addAction(Emptied, i, p.CallID, 0)
			return
		}
		if line == "" && len(p.Media) == 0 && !(m.rules.dialect.NoEmptyText && m.hasRefusedText(p)) && !m.o.NoReferences && !m.o.NoLostTools {
			return
		}
		m.mendBlocks(i, j, p, line)
	}
}

// mendBlocks mends a result that is a list of blocks. Unless line is "", it becomes the first block.
func (m *mending) mendBlocks(i, j int, p *wire.Part, line string) {
	l := m.listOf(p.Content)
	if line != "" && m.r.TakesText(p) {
		l.first = wire.TextElement(m.r.Dialect, wire.RoleUser, line)
	}
	for k, at := range l.at {
		if m.r.Body[at.Start] != '{' {
			continue
		}
		raw := m.r.Raw(at)
		if name := m.refusedReference(raw); name != "" {
			l.replaceElement(k, m.describeInstead(i, p, &picture{block: at}, "[The tool "+name+" was found.]"))
			continue
		}
		if m.rules.dialect.NoEmptyText {
			if text := rawjson.Get(raw, "text"); text.Len() >= 2 && raw[text.Start] == '"' && m.kindOf(raw) == "text" && m.isRefusedText(wire.Span{Start: at.Start + text.Start, End: at.Start + text.End}) {
				l.dropElement(k)
				m.gone = append(m.gone, at)
				m.addAction(Emptied, i, p.CallID, at.Len())
				continue
			}
		}
		if len(p.Media) > 0 {
			if line := m.replacementFor(i, j, at); line != "" {
				l.replaceElement(k, m.describeInstead(i, p, &picture{block: at}, line))
				continue
			}
			if pic, ok := m.readPicture(at); ok {
				if with := m.mendPicture(i, p, &pic); with != nil {
					l.replaceElement(k, with)
				}
			}
		}
	}
	if l.remaining() == 0 && l.first == nil && len(l.gone) > 0 {
		with := []byte(`""`)
		if !m.rules.dialect.StringContent {
			with = append(append([]byte{'['}, wire.TextElement(m.r.Dialect, wire.RoleUser, modelSaidNothing)...), ']')
		}
		m.draft().Replace(p.Content, with)
		return
	}
	l.applyEdits()
}

// refusedReference returns the name of the tool to which a block refers, if the provider refuses that; "" otherwise.
func (m *mending) refusedReference(block []byte) string {
	if !m.o.NoReferences && !m.o.NoLostTools || m.kindOf(block) != "tool_reference" {
		return ""
	}
	name, _ := rawjson.Text(block, "tool_name")
	// A tool without a name is a set of them, which may have this one.
	declared := func(t wire.Tool) bool { return t.Name == name || t.Name == "" }
	if !m.o.NoReferences && slices.ContainsFunc(m.r.Tools, declared) {
		return ""
	}
	return cmp.Or(name, "(none)")
}

// isRefusedText reports whether the provider refuses a text in a result because it is empty, or all white space.
func (m *mending) isRefusedText(lit wire.Span) bool {
	return lit.Len() == 2 || m.rules.dialect.NoBlankText && m.isWhite(lit)
}

// hasRefusedText reports whether a result contains a text that isRefusedText reports.
func (m *mending) hasRefusedText(p *wire.Part) bool {
	return slices.ContainsFunc(p.Texts, m.isRefusedText)
}

// isEmptyResult reports whether a result has neither words nor media nor other blocks.
func (m *mending) isEmptyResult(p *wire.Part) bool {
	if len(p.Media) > 0 {
		return false
	}
	for _, lit := range p.Texts {
		if lit.Len() > 2 && !m.isWhite(lit) {
			return false
		}
	}
	if p.Content.IsZero() || m.r.Body[p.Content.Start] != '[' {
		return true
	}
	for _, at := range m.listOf(p.Content).at {
		if m.r.Body[at.Start] != '{' || m.kindOf(m.r.Raw(at)) != "text" {
			return false
		}
	}
	return true
}

// mendResponse mends a functionResponse of Gemini: the response has to be an object, and media stand in parts beside it. It adds line to
// the object, unless that is "".
func (m *mending) mendResponse(i int, p *wire.Part, line string) {
	holder := m.memberObject(p.Span, "functionResponse")
	if holder.IsZero() {
		if holder = m.memberObject(p.Span, "function_response"); holder.IsZero() {
			return
		}
	}
	said := p.Content
	switch {
	case said.IsZero() || string(m.r.Raw(said)) == "null":
		if line != "" {
			m.draft().SetMember(holder, "response", addNote("{}", line))
		}
	case m.r.Body[said.Start] != '{':
		// "Invalid value at 'contents[2].parts[0].function_response.response'"
		with := append(append([]byte(`{"output":`), m.r.Raw(said)...), '}')
		if line != "" {
			with = addNote(string(with), line)
		}
		m.draft().Replace(said, with)
		m.addAction(Wrapped, i, p.CallID, 0)
	case line != "":
		m.draft().SetMember(said, "note", wire.Quote(nil, line))
	}
	if len(p.Media) == 0 || len(m.rules.pictures.types) == 0 {
		return
	}
	parts := rawjson.Get(m.r.Raw(holder), "parts")
	if parts.IsZero() || m.r.Body[holder.Start+parts.Start] != '[' {
		return
	}
	l := m.listOf(wire.Span{Start: holder.Start + parts.Start, End: holder.Start + parts.End})
	for k, at := range l.at {
		pic, ok := m.readPicture(at)
		if !ok {
			continue
		}
		if with := m.mendPicture(i, p, &pic); with != nil {
			if pic.line {
				l.dropElement(k) // no text may stand here
				continue
			}
			l.replaceElement(k, with)
		}
	}
	l.applyEdits()
}

// addNote returns a JSON object with line added as the member "note".
func addNote(object, line string) []byte {
	out := []byte(object[:len(object)-1])
	if len(out) > 1 {
		out = append(out, ',')
	}
	return append(wire.Quote(append(out, `"note":`...), line), '}')
}

// joinLines returns both texts with a line end between them, or the one that is not empty.
func joinLines(first, rest string) string {
	if first == "" || rest == "" {
		return first + rest
	}
	return first + "\n" + rest
}

// kindOf returns the type of a block: the member "type", or in Gemini the name of its first member.
func (m *mending) kindOf(raw []byte) string {
	if m.rules.dialect.Untyped {
		for member, err := range rawjson.Members(raw, 0) {
			if err != nil {
				break
			}
			return string(member.Key)
		}
	}
	kind, _ := rawjson.Text(raw, "type")
	return kind
}
