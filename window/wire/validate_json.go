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

// decodeText returns a string member; false when it is absent, null or not a string.
func (o object) text(name string) (string, bool) { return decodeText(o[name]) }

// isText reports whether a member is a string, without decoding it.
func (o object) isText(name string) bool { return len(o[name]) > 0 && o[name][0] == '"' }

// decodeText returns the text of a JSON string; false for any other value.
func decodeText(raw json.RawMessage) (string, bool) {
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
	s, _ := decodeText(raw)
	return strings.TrimSpace(s) == ""
}

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// object returns the members of an object; any other value is a finding at place, and false.
func (c *checker) object(place string, raw json.RawMessage) (object, bool) {
	o, ok := splitObject(raw)
	if !ok {
		c.add(RuleShape, place, "", "not an object")
	}
	return o, ok
}

// array returns the elements of an array; any other value is a finding at place, and false.
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
		name, _ := decodeText(m.Name.Of(raw))
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

// joinPath joins names and indices to a place, with dots between them.
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

// ProviderText returns the refusal in the words of the dialect's own provider, to be sent to clients: OpenAI for Chat and Responses,
// Anthropic, Google, Amazon. Rules without known words get a sentence in the provider's manner.
func (i *Invalid) ProviderText(d Dialect) string {
	return d.Rules().words(i)
}

// brackets returns a place as OpenAI and Google write it: messages.3.content.1 becomes messages[3].content[1].
func brackets(place string) string {
	var b strings.Builder
	for k, name := range strings.Split(place, ".") {
		switch {
		case name != "" && name[0] >= '0' && name[0] <= '9':
			b.WriteString("[" + name + "]")
		case k > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// message returns the message of a place: messages.3.content.1 becomes messages.3.
func message(place string) string {
	parts := strings.SplitN(place, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// What a call is made with and what came back, beyond whose is which.
const (
	RuleArguments   = "arguments"    // Chat, Responses: the arguments of a function are no JSON
	RuleSilentError = "silent_error" // Messages: a result says that it failed, and nothing else
)

// arguments reports arguments that are not JSON: an answer that ended at its output limit leaves half of it. An empty text is fine: OpenAI
// itself sends it for a function without parameters.
func (c *checker) arguments(place, id string, raw json.RawMessage) {
	s, ok := decodeText(raw)
	if ok && s != "" && !json.Valid([]byte(s)) {
		c.add(RuleArguments, place, id, "not JSON")
	}
}

// silentError reports a failed result without content: "content cannot be empty if `is_error` is true".
func (c *checker) silentError(place, id string, b object) {
	if string(b["is_error"]) != "true" {
		return
	}
	list, _ := splitArray(b["content"])
	if !b.has("content") || string(b["content"]) == `""` || b["content"][0] == '[' && len(list) == 0 {
		c.add(RuleSilentError, place, id, "")
	}
}
