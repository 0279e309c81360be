package result

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Contract is the outputSchema that clients were told for a tool's structuredContent. Clients hold every success to it: the SDKs for
// TypeScript and Python throw a result away that has no structuredContent or one that does not validate, although the
// call has taken effect.
type Contract struct {
	// Schema is the outputSchema that clients were told; nil when this gateway cannot compile it, then nothing
	// validates.
	Schema *jsonschema.Resolved
	// Wrap is the member under which a list or a text stands that is all of structuredContent; "" for none.
	Wrap string
}

// Stub returns the structuredContent of a page of which nothing validates: the notice, and what stands in _meta.
func Stub(notice string, meta []byte) []byte {
	return append(append([]byte(`{"`+MetaKey+`":`), pageMember(notice, meta)...), '}')
}

// pageMember returns the member of structuredContent that describes the page. Clients that give a model structuredContent in the
// place of content (Claude Code and Codex do) have no other way to tell it.
func pageMember(notice string, meta []byte) []byte {
	b := rawjson.Quote([]byte(`{"notice":`), notice)
	if len(meta) > 2 {
		return append(append(b, ','), meta[1:]...)
	}
	return append(b, '}')
}

// page makes the structuredContent of a page; nil when none validates.
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

// wrapped returns the page as an object; nil when it is none.
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

func (k *Contract) validates(text []byte) bool {
	var value any
	return k.Schema != nil && json.Unmarshal(text, &value) == nil && k.Schema.Validate(value) == nil
}

// structuredPart returns the structuredContent that is delivered, nil for none; v is the page that is delivered, nil when
// the text is delivered whole.
func (s *spoolWriter) structuredPart(v *View) []seg {
	if s.structured != nil && !json.Valid(s.structured) {
		s.structured = nil
	}
	k := s.o.Contract
	switch {
	case s.prescan.failed && (v != nil || s.structured == nil):
		return nil // an error needs none
	case s.structured != nil && (v == nil || k != nil): // all of it has room
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
