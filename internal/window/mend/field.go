package mend

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// learnField learns that the provider refuses members, which it takes from the paths in the refusal.
func learnField(o *Options, refusal string) (taught bool) {
	for _, form := range fieldPaths {
		for _, at := range form().FindAllStringSubmatch(refusal, maxLessons) {
			path := at[1]
			if len(at) > 2 {
				path = at[2] + "." + at[1]
			}
			taught = o.addField(fieldOf(path)) || taught
		}
	}
	return taught
}

// fieldPaths find the path of a member in a list of messages; that of Gemini has the member before the path.
var fieldPaths = []func() *regexp.Regexp{
	lazy.Regexp(`((?:messages|input)[.\[][a-z0-9_.\[\]-]{1,200}): extra inputs are not permitted`),
	lazy.Regexp(`property '((?:messages|input)[.\[][a-z0-9_.\[\]-]{1,200})' is unsupported`),
	lazy.Regexp(`unknown parameter: '((?:messages|input)[.\[][a-z0-9_.\[\]-]{1,200})'`),
	lazy.Regexp(`unknown name ([a-z0-9_]{1,64}) at '(contents\[[a-z0-9_.\[\]-]{1,200})': cannot find field`),
}

// needed are members without which a message means something else: they stay, whatever a refusal says.
var needed = []string{
	"role", "content", "type", "text", "id", "name", "input", "arguments", "args", "function", "tool_calls", "functioncall", "functionresponse", "response",
	"parts", "tool_use_id", "tool_call_id", "call_id", "output", "thinking", "data", "source", "summary", "encrypted_content",
}

// fieldOf returns how [Options.NoFields] names the member at a path: "tool_use.signature" for messages.1.content.0.tool_use.signature,
// ".reasoning_content" for messages[2].reasoning_content. It is "" for a member that must stay.
func fieldOf(path string) string {
	names := strings.FieldsFunc(path, func(c rune) bool { return c == '.' || c == '[' || c == ']' })
	if len(names) < 3 {
		return ""
	}
	name, holder := names[len(names)-1], names[len(names)-2]
	if _, err := strconv.Atoi(holder); err == nil {
		holder = ""
	}
	if slices.Contains(needed, name) || holder == "thinking" && name == "signature" || name[0] >= '0' && name[0] <= '9' {
		return ""
	}
	return holder + "." + name
}

// addField adds a member to NoFields. It returns false if that is "", known already, or there are too many.
func (o *Options) addField(name string) bool {
	if name == "" || slices.Contains(o.NoFields, name) || len(o.NoFields) >= maxLessons {
		return false
	}
	o.NoFields = append(slices.Clip(o.NoFields), name)
	o.NeedReasoning = o.NeedReasoning && !isReasoning(name) // the newest refusal counts
	return true
}

// mendRaw applies rules to the JSON of messages: it replaces halves of surrogate pairs and removes members that the provider refuses.
// Messages and parts keep their positions.
func (m *mending) mendRaw() {
	if !m.o.NoSurrogates && len(m.o.NoFields) == 0 {
		return
	}
	if m.o.NoSurrogates && m.r.SystemSpan.Len() > 0 {
		if fixed := replaceHalves(m.r.Raw(m.r.SystemSpan)); fixed != nil {
			m.draft().Replace(m.r.SystemSpan, fixed)
			m.addAction(Replaced, -1, "", 0)
		}
	}
	for i := m.from; i < len(m.r.Messages); i++ {
		before := m.r.Raw(m.r.Messages[i].Span)
		after, kind := before, ""
		if m.o.NoSurrogates {
			if fixed := replaceHalves(before); fixed != nil {
				after, kind = fixed, Replaced
			}
		}
		if len(m.o.NoFields) > 0 {
			if fixed := m.withoutFields(&m.r.Messages[i], after); fixed != nil {
				after, kind = fixed, Unfielded
			}
		}
		if kind != "" {
			m.draft().ReplaceMessage(i, after)
			m.addAction(kind, i, "", len(before)-len(after))
		}
	}
}

// replaceHalves returns JSON in which each escaped half of a surrogate pair is U+FFFD, as most readers take it; nil if there is none. The
// length does not change.
func replaceHalves(text []byte) (fixed []byte) {
	for at := 0; ; {
		n := bytes.Index(text[at:], []byte(`\u`))
		if n < 0 {
			return fixed
		}
		at += n
		slashes := 0
		for at-slashes > 0 && text[at-slashes-1] == '\\' {
			slashes++
		}
		if slashes%2 == 1 || at+6 > len(text) {
			at += 2
			continue
		}
		r, ok := rawjson.Hex4(text[at+2 : at+6])
		if !ok || r < 0xd800 || r > 0xdfff {
			at += 6
			continue
		}
		if r < 0xdc00 && at+12 <= len(text) && text[at+6] == '\\' && text[at+7] == 'u' {
			if low, ok := rawjson.Hex4(text[at+8 : at+12]); ok && low >= 0xdc00 && low <= 0xdfff {
				at += 12
				continue
			}
		}
		if fixed == nil {
			fixed = bytes.Clone(text)
		}
		copy(fixed[at:], `\ufffd`)
		at += 6
	}
}

// withoutFields returns msg, whose JSON is text, without the members that the provider refuses in it and its parts; nil if it has none.
func (m *mending) withoutFields(msg *wire.Message, text []byte) []byte {
	if text[0] != '{' {
		return nil
	}
	var edits []wire.Edit
	for j := range msg.Parts {
		p := msg.Parts[j].Span
		if p == msg.Span || !msg.Span.Contains(p) || m.r.Body[p.Start] != '{' {
			continue
		}
		at := wire.Span{Start: p.Start - msg.Span.Start, End: p.End - msg.Span.Start}
		if keys := m.refusedMembers(at.Of(text), "type"); len(keys) > 0 {
			if with, err := rawjson.Remove(at.Of(text), keys...); err == nil {
				edits = append(edits, wire.Edit{Span: at, With: with})
			}
		}
	}
	out, err := wire.Splice(text, edits)
	if err != nil {
		return nil
	}
	if keys := m.refusedMembers(out, "role", "type"); len(keys) > 0 {
		if with, err := rawjson.Remove(out, keys...); err == nil {
			return with
		}
	}
	if len(edits) == 0 {
		return nil
	}
	return out
}

// refusedMembers returns the members of an object that the provider refuses. One of the members in kinds tells the object's kind; one without any
// loses what is refused in any kind.
func (m *mending) refusedMembers(object []byte, kinds ...string) (keys []string) {
	var holders []string
	for _, member := range kinds {
		if kind, ok := rawjson.Text(object, member); ok {
			holders = append(holders, strings.ToLower(kind))
		}
	}
	for member, err := range rawjson.Members(object, 0) {
		if err != nil {
			return nil
		}
		for _, f := range m.o.NoFields {
			holder, name, _ := strings.Cut(f, ".")
			if strings.EqualFold(string(member.Key), name) && (holder == "" || slices.Contains(holders, holder) || len(holders) == 0) {
				keys = append(keys, string(member.Key))
				break
			}
		}
	}
	return keys
}
