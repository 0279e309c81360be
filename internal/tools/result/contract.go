package result

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Contract is the outputSchema that clients were given for a tool's structuredContent. Clients check every success against it: the SDKs for
// TypeScript and Python discard a result without structuredContent or with one that does not validate, although the call has taken effect.
type Contract struct {
	// Schema is the outputSchema that clients were given; nil if this gateway cannot compile it: then nothing validates.
	Schema *jsonschema.Resolved
	// Wrap is the only member of structuredContent, in which a list or a text stands; "" if there is no such member.
	Wrap string
}

// Stub returns the structuredContent for a page whose own content does not validate: the notice and the description that is also in _meta.
func Stub(notice string, meta []byte) []byte {
	return append(append([]byte(`{"`+MetaKey+`":`), pageMember(notice, meta)...), '}')
}

// pageMember returns the member of structuredContent that describes the page. Clients that give a model structuredContent in the place of
// content (Claude Code and Codex do) show the model no other description.
func pageMember(notice string, meta []byte) []byte {
	b := rawjson.Quote([]byte(`{"notice":`), notice)
	if len(meta) > 2 {
		return append(append(b, ','), meta[1:]...)
	}
	return append(b, '}')
}

// page returns the structuredContent of a page: the page with the notice, else the notice alone; nil if neither validates.
func (k *Contract) page(v *View) []byte {
	notice, meta := v.Notice(), v.meta()
	if part := k.wrapped(v); part != nil {
		if noted, err := rawjson.Set(part, MetaKey, pageMember(notice, meta)); err == nil && k.validates(noted) {
			return noted
		}
	}
	if stub := Stub(notice, meta); k.validates(stub) {
		return stub
	}
	return nil
}

// wrapped returns the page as an object: itself, or under Wrap; nil if it is not an object and cannot be wrapped.
func (k *Contract) wrapped(v *View) []byte {
	switch {
	case len(v.Page.Text) == 0:
		return nil
	case !v.Page.JSON && k.Wrap != "":
		b := append(rawjson.Quote([]byte{'{'}, k.Wrap), ':')
		return append(rawjson.Quote(b, v.Page.Text), '}')
	case !v.Page.JSON:
		return nil
	case v.Page.Text[0] == '{':
		return v.Page.Text
	case v.Page.Text[0] == '[' && k.Wrap != "":
		b := append(rawjson.Quote([]byte{'{'}, k.Wrap), ':')
		return append(append(b, v.Page.Text...), '}')
	}
	return nil
}

// validates reports whether a structuredContent satisfies the schema; false if that cannot be compiled.
func (k *Contract) validates(text []byte) bool {
	var value any
	return k.Schema != nil && json.Unmarshal(text, &value) == nil && k.Schema.Validate(value) == nil
}

// structuredPart returns the structuredContent to deliver, nil for none. v is the page that is delivered, or nil if the text is delivered
// whole.
func (s *spoolWriter) structuredPart(v *View) []seg {
	if s.structured != nil && !json.Valid(s.structured) {
		s.structured = nil
	}
	k := s.o.Contract
	switch {
	case s.prescan.failed && (v != nil || s.structured == nil):
		return nil // an error needs no structuredContent
	case s.structured != nil && (v == nil || k != nil): // there is room for all of it
		return []seg{{mem: s.structured}}
	case k == nil:
		return nil
	}
	if v != nil {
		if part := k.page(v); part != nil {
			return []seg{{mem: part}}
		}
	}
	return nil
}
