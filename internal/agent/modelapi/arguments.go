package modelapi

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
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
	names, members := orderedMembers(t.Schema)
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

// orderedMembers returns the names of an object's members in their order, each once, and their values; nil if raw is no object.
func orderedMembers(raw json.RawMessage) ([]string, map[string]json.RawMessage) {
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

// MaxName bounds the name of a tool, in bytes: OpenAI's and Anthropic's limit.
const MaxName = 64

// Names maps names of tools to those that every provider takes, [a-zA-Z0-9_-]{1,64}, and
// back. The zero value is ready.
type Names struct {
	// Letter puts an underscore before a name that begins with a digit or a dash, as Google asks for ("Function name must start with a
	// letter or an underscore").
	Letter bool

	back map[string]string
}

// Out returns the name to send for a tool, and remembers it for Back if it is another. It depends on the name alone, so that the same
// request stays the same and providers' caches stay valid.
func (n *Names) Out(name string) string {
	led := name
	if n.Letter && name != "" && (name[0] == '-' || name[0] >= '0' && name[0] <= '9') {
		led = "_" + name
	}
	sent := fitName(led, MaxName, "tool")
	if sent != name {
		if n.back == nil {
			n.back = map[string]string{}
		}
		n.back[sent] = name
	}
	return sent
}

// Learn notes the names of a request's tools, and of the calls in its history, so that Back can return them.
func (n *Names) Learn(r *agent.Request) {
	for _, t := range r.Tools {
		n.Out(t.Name)
	}
	for i := range r.Messages {
		for _, c := range r.Messages[i].Calls {
			n.Out(c.Name)
		}
	}
}

// Back returns the name of the tool that the model means.
func (n *Names) Back(sent string) string {
	if name, ok := n.back[sent]; ok {
		return name
	}
	return sent
}

// ID returns an id of a call as providers take it: [a-zA-Z0-9_-], at most size bytes.
func ID(id string, size int) string { return fitName(id, size, "call") }

// NewID makes an id for a call that came without one.
func NewID() string {
	var b [12]byte
	rand.Read(b[:])
	return "call_" + hex.EncodeToString(b[:])
}

// fitName returns s itself if it is not empty, not longer than size, and has only letters, digits, "_" and "-". Otherwise it replaces other
// characters, cuts the name, and adds a hash so that different names stay different. empty is the beginning for a name without any.
func fitName(s string, size int, empty string) string {
	plain := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	fits := s != "" && len(s) <= size
	for i := 0; i < len(s) && fits; i++ {
		fits = plain(s[i])
	}
	if fits {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "_" + hex.EncodeToString(sum[:4])
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < size-len(tail); i++ {
		c := s[i]
		if !plain(c) {
			c = '_'
		}
		b.WriteByte(c)
	}
	if b.Len() == 0 {
		b.WriteString(empty)
	}
	return b.String() + tail
}
