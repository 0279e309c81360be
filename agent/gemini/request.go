package gemini

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/window/wire"
)

// maxID bounds an id, in bytes, as with the other providers.
const maxID = 64

// content is a message of the request.
type content struct {
	Role  string     `json:"role"`
	Parts []sentPart `json:"parts"`
}

// sentPart is a text, a call or a response.
type sentPart struct {
	Text      *string   `json:"text,omitempty"`
	Call      *call     `json:"functionCall,omitempty"`
	Response  *response `json:"functionResponse,omitempty"`
	Signature string    `json:"thoughtSignature,omitempty"`
}

type call struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type response struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

// declaration is a declared tool.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"parametersJsonSchema"`
}

// encodedMembers are the members that Encode writes.
var encodedMembers = []string{"systemInstruction", "tools"}

// Encode writes system prompt, tools and messages of a request, see agent.Encoder. The model stands in the address.
func (m *Model) Encode(r *agent.Request) (*wire.Request, error) {
	names := modelapi.Names{Letter: true}
	var list []modelapi.Member
	if strings.TrimSpace(r.System) != "" {
		list = append(list, modelapi.Member{Name: "systemInstruction", Value: map[string][]sentPart{"parts": {{Text: &r.System}}}})
	}
	if len(r.Tools) > 0 {
		declared := make([]declaration, len(r.Tools))
		for i, t := range r.Tools {
			declared[i] = declaration{Name: names.Out(t.Name), Description: t.Description, Schema: modelapi.Schema(t)}
		}
		list = append(list, modelapi.Member{Name: "tools", Value: []map[string][]declaration{{"functionDeclarations": declared}}})
	}
	list = append(list, modelapi.Member{Name: "contents", Value: m.contents(r.Messages, &names)})
	extra, _ := modelapi.Split(m.o.Extra, encodedMembers...)
	body, err := modelapi.Body(list, extra)
	if err != nil {
		return nil, err
	}
	encoded, err := wire.Parse(wire.Gemini, body)
	if err == nil {
		encoded.Model = m.o.Model
	}
	return encoded, err
}

// request returns the body to send: what Encode wrote, and the members that are known only when it fits.
func (m *Model) request(r *agent.Request) ([]byte, error) {
	encoded := r.Encoded()
	if encoded == nil {
		var err error
		if encoded, err = m.Encode(r); err != nil {
			return nil, err
		}
	}
	_, extra := modelapi.Split(m.o.Extra, encodedMembers...)
	delete(extra, "contents") // the agent's
	delete(extra, "generationConfig")
	var list []modelapi.Member
	if config := m.generationConfig(r); len(config) > 0 {
		list = append(list, modelapi.Member{Name: "generationConfig", Value: config})
	}
	return modelapi.Body(list, extra, encoded.Body)
}

// generationConfig returns the member of that name. The smaller of the two bounds of the output counts, and it is raised where the thinking
// budget would use all of it.
func (m *Model) generationConfig(r *agent.Request) map[string]any {
	config := map[string]any{}
	for name, value := range m.config {
		config[name] = value
	}
	maxOutput := r.MaxOutput
	if m.o.MaxOutput > 0 && (maxOutput == 0 || m.o.MaxOutput < maxOutput) {
		maxOutput = m.o.MaxOutput
	}
	if maxOutput > 0 {
		if m.o.Thinking > 0 && maxOutput <= m.o.Thinking {
			maxOutput += m.o.Thinking // thoughts are part of the output
		}
		config["maxOutputTokens"] = maxOutput
	}
	if m.o.Thinking != 0 {
		config["thinkingConfig"] = map[string]int{"thinkingBudget": max(m.o.Thinking, -1)}
	}
	return config
}

// contents makes one content of messages of one speaker that follow each other: all responses of a turn, before any text.
func (m *Model) contents(list []agent.Message, names *modelapi.Names) []content {
	out := []content{}
	calls := map[string]string{} // the tool's name by the call's id: a response has to have it
	for next := 0; next < len(list); {
		fromModel := list[next].Role == agent.RoleAssistant
		var parts, texts []sentPart
		for ; next < len(list) && (list[next].Role == agent.RoleAssistant) == fromModel; next++ {
			switch one := &list[next]; one.Role {
			case agent.RoleAssistant:
				for _, c := range one.Calls {
					calls[c.ID] = c.Name
				}
				parts = append(parts, m.assistant(one, names)...)
			case agent.RoleTool:
				parts = append(parts, resultPart(one, calls[one.CallID], names))
			default:
				if strings.TrimSpace(one.Text) != "" {
					texts = append(texts, sentPart{Text: &one.Text})
				}
			}
		}
		if parts = append(parts, texts...); len(parts) == 0 {
			empty := "(no text)" // a content without parts, or with an empty one, is refused
			parts = []sentPart{{Text: &empty}}
		}
		role := "user"
		if fromModel {
			role = "model"
		}
		out = append(out, content{Role: role, Parts: parts})
	}
	return out
}

// resultPart returns the part with the response to a call. "output" and "error" are the members that the API's reference names.
func resultPart(one *agent.Message, name string, names *modelapi.Names) sentPart {
	name = cmp.Or(name, one.Name)
	member := "output"
	if one.Failed {
		member = "error"
	}
	return sentPart{Response: &response{ID: modelapi.ID(one.CallID, maxID), Name: names.Out(name), Response: map[string]string{member: one.Text}}}
}

// assistant returns an answer as it came: texts, calls and signatures in their order.
func (m *Model) assistant(one *agent.Message, names *modelapi.Names) []sentPart {
	var out []sentPart
	done := make([]bool, len(one.Calls))
	signed := false // the first call, which stands for those made at once with it
	called := false
	add := func(i int, signature string) {
		if done[i] {
			return
		}
		done[i] = true
		if !called {
			called, signed = true, signature != ""
		}
		c := &one.Calls[i]
		out = append(out, sentPart{
			Call:      &call{ID: modelapi.ID(c.ID, maxID), Name: names.Out(c.Name), Args: modelapi.Object(c.Arguments)},
			Signature: signature,
		})
	}
	rest := one.Text
	if o := m.keptParts(one); o != nil {
		for _, p := range o.Parts {
			if p.Call > 0 {
				add(p.Call-1, p.Signature)
				continue
			}
			words := rest[:p.Text]
			rest = rest[p.Text:]
			if words != "" || p.Signature != "" { // a signature may come behind the last word, with an empty text
				out = append(out, sentPart{Text: &words, Signature: p.Signature})
			}
		}
	}
	if strings.TrimSpace(rest) != "" {
		out = append(out, sentPart{Text: &rest})
	}
	for i := range one.Calls {
		add(i, "")
	}
	if called && !signed && demandsSignatures(m.o.Model) {
		for i := range out {
			if out[i].Call != nil {
				out[i].Signature = unsigned
				break
			}
		}
	}
	return out
}

// opaque is kept of an answer with signatures: its parts in their order.
type opaque struct {
	Model string     `json:"model"`
	Parts []keptPart `json:"parts"`
}

// keptPart is one of two: a number of bytes of the message's text, which may be none, or a call by its number in the message, from 1.
type keptPart struct {
	Text      int    `json:"text,omitempty"`
	Call      int    `json:"call,omitempty"`
	Signature string `json:"signature,omitempty"`
}

// keptParts returns the order of texts, calls and signatures that this model left in the Opaque of its message. It is nil if another model
// or adapter wrote it, or if the text or the calls were changed since: the signatures belong to the original.
func (m *Model) keptParts(one *agent.Message) *opaque {
	if one.Role != agent.RoleAssistant || len(one.Opaque) == 0 {
		return nil
	}
	var o opaque
	if json.Unmarshal(one.Opaque, &o) != nil || o.Model != m.o.Model || len(o.Parts) == 0 {
		return nil // another adapter's, or another model's: it could not read them
	}
	text := 0
	for _, p := range o.Parts {
		if p.Text < 0 || p.Call < 0 || p.Call > len(one.Calls) {
			return nil
		}
		text += p.Text
	}
	if text != len(one.Text) {
		return nil // the text was changed since, and the signatures are of what it was
	}
	return &o
}

// unsigned goes with a call that has no signature, because another model made it: Google's own value for that.
// https://ai.google.dev/gemini-api/docs/thought-signatures
const unsigned = "skip_thought_signature_validator"

// demandsSignatures reports whether a model refuses calls without signatures: all do since Gemini 3.
func demandsSignatures(model string) bool {
	for _, old := range [...]string{"gemini-1", "gemini-2", "gemini-pro", "gemma", "learnlm"} {
		if strings.HasPrefix(model, old) {
			return false
		}
	}
	return strings.HasPrefix(model, "gemini")
}
