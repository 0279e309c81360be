package modelapi

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/limit"
)

// maxBroken bounds what a model is shown of arguments that were no object, in bytes.
const maxBroken = 1 << 10

// Object returns the arguments of a call as a JSON object, which strict providers demand. Anything else is put into an object as a text
// under "_not_an_object", cut to 1 KiB: the result of the call tells the model what was wrong.
func Object(arguments string) json.RawMessage {
	trimmed := strings.TrimSpace(arguments)
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	if trimmed == "" || trimmed == "null" {
		return json.RawMessage("{}")
	}
	cut := limit.Clip(trimmed, maxBroken)
	object, err := json.Marshal(map[string]string{"_not_an_object": cut})
	if err != nil {
		return json.RawMessage("{}")
	}
	return object
}

// Arguments returns the arguments that a model wrote; models write nothing when there are none.
func Arguments(written string) string {
	if strings.TrimSpace(written) == "" {
		return "{}"
	}
	return written
}

// Schema returns the schema of a tool's arguments in the form that providers accept: of type "object", with properties, and without the
// members at its top that they refuse. The order of the members stays.
func Schema(t agent.ToolSpec) json.RawMessage {
	names, members := object(t.Schema)
	if names == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if string(members["type"]) == `"object"` && members["properties"] != nil && !slices.ContainsFunc(names, refused) {
		return t.Schema
	}
	members["type"] = json.RawMessage(`"object"`)
	if members["properties"] == nil {
		members["properties"] = json.RawMessage("{}")
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range slices.Compact(append([]string{"type", "properties"}, slices.DeleteFunc(names, func(s string) bool {
		return s == "type" || s == "properties" || refused(s)
	})...)) {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		quoted, _ := json.Marshal(name)
		b.Write(quoted)
		b.WriteByte(':')
		b.Write(members[name])
	}
	b.WriteByte('}')
	return b.Bytes()
}

// refused reports whether a name is that of a member that OpenAI and Anthropic take inside a schema, and not at its top.
func refused(name string) bool {
	return name == "anyOf" || name == "oneOf" || name == "allOf" || name == "not" || name == "enum"
}

// object reads the members of an object in their order; nil when it is none.
func object(raw json.RawMessage) ([]string, map[string]json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil, nil
	}
	names := []string{}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.Token()
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, nil
		}
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return nil, nil
		}
		if s, ok := name.(string); ok && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names, members
}
