package mend

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Lines that replace an empty message or result, or follow the model's last words.
const (
	userSaidNothing  = "[The user sent an empty message here.]"
	modelSaidNothing = "[Nothing was said here.]"
	failedSilently   = "[The tool failed and said nothing.]"
	goOn             = "[Go on from where the last message ends.]"
)

// isBlank reports whether all texts of a part are empty, and whether all are empty or white space. A part without texts is both.
func (m *mending) isBlank(p *wire.Part) (empty, white bool) {
	if len(p.Texts) == 0 {
		return true, true
	}
	for _, lit := range p.Texts {
		if lit.Len() > 2 {
			empty = false
			if !m.isWhite(lit) {
				return false, false
			}
			white = true
		}
	}
	return !white, true
}

// isWhite reports whether a string literal is all white space. For most literals it reads their first byte only.
func (m *mending) isWhite(lit wire.Span) bool {
	if c := m.r.Body[lit.Start+1]; c > ' ' && c < utf8.RuneSelf && c != '\\' {
		return false
	}
	return len(bytes.TrimSpace(wire.Unquote(nil, m.r.Raw(lit)))) == 0
}

// dropEmptyParts drops parts of message i that are empty, or reasoning that the provider refuses, or the whole message if nothing else is in it. It
// returns false if the message was dropped or replaced.
func (m *mending) dropEmptyParts(i int, msg *wire.Message) bool {
	if wordless(m.rules.dialect, msg) {
		return true
	}
	if !m.rules.noEmpty {
		m.setEmptyContent(i, msg)
		return true
	}
	left, some := 0, false // parts that say something; and whether there are others
	for j := range msg.Parts {
		switch keep, _ := m.partStays(&msg.Parts[j]); {
		case !keep:
			some = true
		case msg.Parts[j].Kind != wire.Reasoning:
			left++
		}
	}
	if left == 0 || m.onlyWhite(msg) {
		if !m.takesEmpty(i, msg) {
			m.replaceEmpty(i, msg)
			return false
		}
		return true
	}
	if !some && (!m.rules.signed || msg.Role != wire.RoleAssistant) {
		return true
	}
	behind := true // nothing that says something comes later
	for j := len(msg.Parts) - 1; j >= 0; j-- {
		p := &msg.Parts[j]
		keep, kind := m.partStays(p)
		if keep && p.Kind == wire.Reasoning && behind && m.rules.signed && left > 0 {
			keep, kind = false, Unsigned // "The final block in an assistant message cannot be `thinking`."
		}
		if keep {
			behind = behind && p.Kind == wire.Reasoning
			continue
		}
		m.moveMark(msg, j)
		m.gone = append(m.gone, p.Span)
		m.draft().DropPart(i, j)
		m.addAction(kind, i, "", p.Span.Len())
	}
	return true
}

// wordless reports whether a message is never taken for empty: an item of Responses that is not a message, a result in a message of its
// own, or one of an unknown role.
func wordless(d *wire.Rules, msg *wire.Message) bool {
	return d.Items && msg.Role != wire.RoleUser && len(msg.Parts) == 1 && msg.Parts[0].Kind != wire.Text && msg.Parts[0].Kind != wire.Media || msg.Role == wire.RoleTool && !d.Untyped || msg.Role == wire.RoleOther
}

// partStays reports whether the provider accepts a part; if not, kind is the action to report for dropping it.
func (m *mending) partStays(p *wire.Part) (keep bool, kind string) {
	switch p.Kind {
	case wire.Text:
		empty, white := m.isBlank(p)
		switch {
		case m.rules.dialect.SealedAlone && !p.Sealed.IsZero():
			return true, "" // a signature comes in a part of its own, without words
		case empty || white && m.rules.noBlank:
			return false, Emptied
		}
	case wire.Reasoning:
		// "messages.1.content.0.thinking.signature: Field required"
		if m.rules.signed && p.Sealed.Len() <= 2 {
			return false, Unsigned
		}
	case wire.Other:
		hollow := m.rules.dialect.Untyped && len(bytes.TrimSpace(m.r.Body[p.Span.Start+1:p.Span.End-1])) == 0
		return !hollow, Emptied // {}: "required oneof field 'data' must have one initialized field"
	}
	return true, ""
}

// onlyWhite reports whether a message contains nothing but white space, and perhaps reasoning; false for one without parts.
func (m *mending) onlyWhite(msg *wire.Message) bool {
	for j := range msg.Parts {
		p := &msg.Parts[j]
		if p.Kind == wire.Reasoning {
			continue
		}
		if _, white := m.isBlank(p); p.Kind != wire.Text || !white || m.rules.dialect.SealedAlone && !p.Sealed.IsZero() {
			return false
		}
	}
	return len(msg.Parts) > 0
}

// takesEmpty reports whether message i may be empty: it is the last one, the model's, and the model continues it ("all messages must have
// non-empty content except for the optional final assistant message").
func (m *mending) takesEmpty(i int, msg *wire.Message) bool {
	return m.rules.dialect.EmptyLast && m.rules.prefill && i == len(m.r.Messages)-1 && msg.Role == wire.RoleAssistant && (len(msg.Parts) == 0 || msg.Plain && msg.Parts[0].Span.Len() == 2)
}

// replaceEmpty drops message i, which is empty, or replaces it by a line of text where the order of messages needs one: the first and the
// last message have to be the user's, and in Gemini calls follow a content of the user's.
func (m *mending) replaceEmpty(i int, msg *wire.Message) {
	before, after := m.nearestKept(i, -1), m.nearestKept(i, 1)
	turns := m.rules.dialect.CallsBehindUser
	switch {
	case msg.Role == wire.RoleSystem && !turns:
		m.dropMessage(i)
		return
	case before >= 0 && msg.Role == wire.RoleAssistant && (!turns || m.hasRole(before, wire.RoleUser) && (after < 0 || m.hasRole(after, wire.RoleUser))):
		m.dropMessage(i)
		return
	case after >= 0 && msg.Role == wire.RoleUser && !turns && (before >= 0 || m.hasRole(after, wire.RoleUser)):
		m.dropMessage(i)
		return
	}
	line, role := userSaidNothing, wire.RoleUser
	if msg.Role == wire.RoleAssistant {
		line, role = modelSaidNothing, wire.RoleAssistant
	}
	m.gone = append(m.gone, msg.Span)
	m.draft().ReplaceMessages(i, i+1, wire.TextMessage(m.r.Dialect, role, line))
	m.addAction(Emptied, i, "", msg.Span.Len())
}

// nearestKept returns the index of the nearest message before (by -1) or after (by 1) message i that is neither dropped nor the system's,
// -1 if there is none.
func (m *mending) nearestKept(i, by int) int {
	for i += by; i >= 0 && i < len(m.r.Messages); i += by {
		if !m.dropped[i] && m.r.Messages[i].Role != wire.RoleSystem {
			return i
		}
	}
	return -1
}

// hasRole reports whether message i has a role.
func (m *mending) hasRole(i int, role wire.Role) bool { return m.r.Messages[i].Role == role }

// setEmptyContent sets an empty text as the content of a message that has none, or an empty list, for providers that accept the text only ("Invalid
// value for 'content': expected a string, got null.").
func (m *mending) setEmptyContent(i int, msg *wire.Message) {
	if !m.rules.dialect.StringContent || msg.Role == wire.RoleOther || len(msg.Parts) > 0 {
		return
	}
	if m.r.Body[msg.Span.Start] == '{' {
		m.draft().SetMember(msg.Span, "content", []byte(`""`))
		m.addAction(Emptied, i, "", 0)
	}
}

// moveMark moves the cache mark of block j, which is dropped, to the nearest block before it that stays, where the cache then ends.
func (m *mending) moveMark(msg *wire.Message, j int) {
	mark := m.markIn(msg.Parts[j].Span)
	if mark == nil || len(m.r.Marks) > claudeMarks {
		return
	}
	for j--; j >= 0; j-- {
		p := &msg.Parts[j]
		if keep, _ := m.partStays(p); !keep {
			continue
		}
		if p.Kind != wire.Reasoning && m.r.Body[p.Span.Start] == '{' && m.markIn(p.Span) == nil {
			m.draft().SetMember(p.Span, "cache_control", mark)
		}
		return
	}
}

// markIn returns the value of the first cache mark in a span, nil when there is none.
func (m *mending) markIn(at wire.Span) []byte {
	for _, mark := range m.r.Marks {
		if at.Contains(mark) {
			raw := bytes.Trim(m.r.Raw(mark), ", \t\r\n")
			if _, value, ok := bytes.Cut(raw, []byte(":")); ok {
				if value = bytes.TrimSpace(value); string(value) != "null" {
					return value
				}
			}
		}
	}
	return nil
}

// dropEmptySystem drops empty blocks of the top-level system prompt.
func (m *mending) dropEmptySystem() {
	if !m.rules.dialect.NoEmptyText || len(m.r.System) == 0 {
		return
	}
	if m.r.Body[m.r.SystemSpan.Start] == '"' {
		if lit := m.r.SystemSpan; lit.Len() > 2 && m.isWhite(lit) {
			m.draft().Replace(lit, []byte(`""`))
			m.addAction(Emptied, -1, "", lit.Len())
		}
		return
	}
	l := m.listOf(m.r.SystemSpan)
	all, i := true, 0
	for k := range m.r.System {
		p := &m.r.System[k]
		for i < len(l.at) && l.at[i] != p.Span { // a cache mark that is an element
			i++
		}
		if empty, white := m.isBlank(p); p.Kind == wire.Text && (empty || white) && i < len(l.at) {
			l.dropElement(i)
			m.gone = append(m.gone, p.Span)
			m.addAction(Emptied, -1, "", p.Span.Len())
		} else {
			all = false
		}
	}
	if all {
		m.draft().Replace(m.r.SystemSpan, m.emptyContent())
		return
	}
	l.applyEdits()
}

// emptyContent returns an empty content in JSON: "" or [].
func (m *mending) emptyContent() []byte {
	if m.rules.dialect.StringContent {
		return []byte(`""`)
	}
	return []byte("[]")
}

// trimmed returns a text without the white space at its end.
func trimmed(s string) string { return strings.TrimRight(s, " \t\r\n") }

// recastSystem gives the system's messages another role where the provider refuses them. They stay where they are, so that what stands
// before them stays as it was sent.
func (m *mending) recastSystem() {
	for i := range m.r.Messages {
		switch role := m.refusedSystem(i); {
		case role == wire.RoleOther:
		case i < m.from:
			m.addAction(Cut, i, "", 0)
		default:
			m.draft().SetMember(m.r.Messages[i].Span, "role", wire.Quote(nil, role.String()))
			m.addAction(Recast, i, "", 0)
		}
	}
}

// refusedSystem returns the role that message i needs if it is the system's and the provider refuses that: the user's if it has to be the
// first or may not be there, the system's if it is a developer's. It returns RoleOther for a message that is taken.
func (m *mending) refusedSystem(i int) wire.Role {
	msg := &m.r.Messages[i]
	if msg.Role != wire.RoleSystem || m.r.Body[msg.Span.Start] != '{' {
		return wire.RoleOther
	}
	was, _ := rawjson.Text(m.r.Raw(msg.Span), "role")
	first := i == 0 && len(m.r.System) == 0
	switch {
	case was == "": // an item of Responses that declares tools
	case m.o.NoSystem, m.o.SystemFirst && !first:
		return wire.RoleUser
	case m.o.NoDeveloper && was == "developer":
		return wire.RoleSystem
	}
	return wire.RoleOther
}
