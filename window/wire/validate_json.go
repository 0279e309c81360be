package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// An object is one level of JSON, decoded no further: the values are parts of the body.
// Names are exact, as they are for the providers (a Go struct would take any case); of two
// members of one name the last counts.
type object map[string]json.RawMessage

// has reports whether a member is present and not null.
func (o object) has(name string) bool {
	raw, ok := o[name]
	return ok && string(raw) != "null"
}

// text returns a string member; false when it is absent, null or not a string.
func (o object) text(name string) (string, bool) { return text(o[name]) }

// isText reports whether a member is a string, without decoding it.
func (o object) isText(name string) bool { return len(o[name]) > 0 && o[name][0] == '"' }

func text(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

// blank reports whether a string literal is empty or all white space.
func blank(raw json.RawMessage) bool {
	if raw[1] > ' ' && raw[1] < utf8.RuneSelf && raw[1] != '\\' && raw[1] != '"' {
		return false
	}
	s, _ := text(raw)
	return strings.TrimSpace(s) == ""
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func (c *checker) object(place string, raw json.RawMessage) (object, bool) {
	o, ok := splitObject(raw)
	if !ok {
		c.add(RuleShape, place, "", "not an object")
	}
	return o, ok
}

func (c *checker) array(place string, raw json.RawMessage) ([]json.RawMessage, bool) {
	list, ok := splitArray(raw)
	if !ok {
		c.add(RuleShape, place, "", "not an array")
	}
	return list, ok
}

// splitObject returns the members of an object of valid JSON; false for any other value.
func splitObject(raw []byte) (object, bool) {
	o := object{}
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil {
			return nil, false
		}
		name, _ := text(m.Name.Of(raw))
		o[name] = m.Value.Of(raw)
	}
	return o, true
}

// splitArray returns the elements of an array of valid JSON; false for any other value.
func splitArray(raw []byte) ([]json.RawMessage, bool) {
	list := []json.RawMessage{}
	for v, err := range rawjson.Elements(raw, 0) {
		if err != nil {
			return nil, false
		}
		list = append(list, v.Of(raw))
	}
	return list, true
}

func joinPath(parts ...any) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte('.')
		}
		switch p := p.(type) {
		case int:
			b.WriteString(strconv.Itoa(p))
		case string:
			b.WriteString(p)
		}
	}
	return b.String()
}
