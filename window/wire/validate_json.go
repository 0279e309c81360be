package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// An object is one level of JSON, decoded no further: the values are parts of the body.
// Names are exact, as they are for the providers (a Go struct would take any case); of two
// members of one name the last counts.
type object map[string]json.RawMessage

// has tells whether a member is there and not null.
func (o object) has(name string) bool {
	raw, ok := o[name]
	return ok && string(raw) != "null"
}

// text returns a string member; false when it is absent, null or no string.
func (o object) text(name string) (string, bool) { return text(o[name]) }

// isText is text without the cost of decoding.
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

// blank tells whether a string literal is empty or all white space.
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

// splitObject cuts an object of valid JSON into its members.
func splitObject(raw []byte) (object, bool) {
	i := blanks(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil, false
	}
	o := object{}
	for i = blanks(raw, i+1); raw[i] != '}'; {
		end := valueEnd(raw, i)
		name, _ := text(raw[i:end])
		i = blanks(raw, blanks(raw, end)+1) // behind the colon
		end = valueEnd(raw, i)
		o[name] = raw[i:end]
		if i = blanks(raw, end); raw[i] == ',' {
			i = blanks(raw, i+1)
		}
	}
	return o, true
}

// splitArray cuts an array of valid JSON into its elements.
func splitArray(raw []byte) ([]json.RawMessage, bool) {
	i := blanks(raw, 0)
	if i == len(raw) || raw[i] != '[' {
		return nil, false
	}
	list := []json.RawMessage{}
	for i = blanks(raw, i+1); raw[i] != ']'; {
		end := valueEnd(raw, i)
		list = append(list, raw[i:end])
		if i = blanks(raw, end); raw[i] == ',' {
			i = blanks(raw, i+1)
		}
	}
	return list, true
}

func blanks(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\r' || raw[i] == '\t') {
		i++
	}
	return i
}

// valueEnd returns the index behind the value that starts at i, in valid JSON.
func valueEnd(raw []byte, i int) int {
	depth := 0
	for {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
			if depth == 0 { // a number or a name
				for i < len(raw) && strings.IndexByte(" \t\r\n,:}]", raw[i]) < 0 {
					i++
				}
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// stringEnd returns the index behind the string literal that starts at i.
func stringEnd(raw []byte, i int) int {
	for {
		i += 1 + bytes.IndexByte(raw[i+1:], '"')
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

func at(parts ...any) string {
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
