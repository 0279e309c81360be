package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// maxTools bounds the tools in one request, as OpenAI does.
const maxTools = 128

// request is a request that was understood.
type request struct {
	digest   string // of the body: ids are made of it, so that the same request has the same answer
	stream   bool
	usage    bool // a streamed answer ends with the usage
	single   bool // parallel_tool_calls is false
	output   int  // tokens that the answer may have
	input    int  // tokens of the request
	tools    []tool
	messages []message
}

// message is one of a conversation. A result has the call's id, and its text.
type message struct {
	role   wire.Role
	text   string
	calls  []call
	callID string
}

// call is a call of a tool; its arguments are JSON when they are made here.
type call struct{ id, name, arguments string }

// fields are the members of a request that are read beside its messages.
type fields struct {
	Model         *string `json:"model"`
	Stream        bool    `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools          []declared      `json:"tools"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	ParallelCalls  *bool           `json:"parallel_tool_calls"`
	MaxTokens      *float64        `json:"max_tokens"`
	MaxOutput      *float64        `json:"max_completion_tokens"`
	N              *float64        `json:"n"`
	ResponseFormat *struct {
		Type string `json:"type"`
	} `json:"response_format"`
}

type declared struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

var toolName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// read holds a request to the rules of the protocol and to the window.
func (s *Standin) read(body []byte) (*request, *refusal) {
	if err := wire.Validate(wire.Chat, body); err != nil {
		invalid, ok := errors.AsType[*wire.Invalid](err)
		if !ok {
			return nil, badRequest("", "We could not parse the JSON body of your request.")
		}
		switch invalid.Rule {
		case wire.RuleOrphanCall, wire.RuleOrphanResult, wire.RuleAdjacency, wire.RuleDuplicateCall, wire.RuleDuplicateResult:
			s.orphaned.Add(1)
		}
		return nil, badRequest("messages", "%s", invalid.ProviderText(wire.Chat))
	}
	view, err := wire.Parse(wire.Chat, body)
	if err != nil {
		return nil, badRequest("", "The request cannot be read: %v.", err)
	}
	var f fields
	if err := json.Unmarshal(body, &f); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, badRequest(wrong.Field, "Invalid type for '%.100s': got %s.", wrong.Field, wrong.Value)
		}
		return nil, badRequest("", "We could not parse the JSON body of your request.")
	}
	sum := sha256.Sum256(body)
	a := &request{digest: hex.EncodeToString(sum[:12]), stream: f.Stream, usage: f.StreamOptions != nil && f.StreamOptions.IncludeUsage, single: f.ParallelCalls != nil && !*f.ParallelCalls}
	if r := a.take(&f); r != nil {
		return nil, r
	}
	a.messages = messagesOf(view)
	a.input = s.count.Tally(view, tokens.FamilyO200K).Total.Best
	window := s.o.Window
	if window < 0 {
		window = math.MaxInt32
	}
	if a.input >= window {
		s.tooLong.Add(1)
		return nil, tooLong(window, a.input)
	}
	a.output = window - a.input
	for _, most := range []*float64{f.MaxTokens, f.MaxOutput} {
		if most != nil {
			a.output = int(min(float64(a.output), *most))
		}
	}
	return a, nil
}

// take reads what a request has beside its messages.
func (a *request) take(f *fields) *refusal {
	switch {
	case f.Model == nil || *f.Model == "":
		return badRequest("model", "you must provide a model parameter")
	case *f.Model != Model:
		return noModel(*f.Model)
	case f.N != nil && *f.N != 1:
		return badRequest("n", "Unsupported value: 'n' is %v here; only 1 is supported.", *f.N)
	case f.StreamOptions != nil && !f.Stream:
		return badRequest("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case f.ResponseFormat != nil && f.ResponseFormat.Type != "text":
		return badRequest("response_format", "Unsupported value: %.40q; this stand-in answers with text.", f.ResponseFormat.Type)
	case len(f.Tools) > maxTools:
		return badRequest("tools", "Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, len(f.Tools))
	}
	for param, most := range map[string]*float64{"max_tokens": f.MaxTokens, "max_completion_tokens": f.MaxOutput} {
		if most != nil && (*most < 1 || *most != math.Trunc(*most)) {
			return badRequest(param, "Invalid '%s': integer of at least 1 expected, but got %v instead.", param, *most)
		}
	}
	only, none, r := choice(f.ToolChoice)
	if r != nil {
		return r
	}
	names := map[string]bool{}
	for i, d := range f.Tools {
		name := d.Function.Name
		switch {
		case d.Type != "function":
			return badRequest(fmt.Sprintf("tools[%d].type", i), "Invalid value: %.40q. Supported values are: 'function'.", d.Type)
		case !toolName().MatchString(name):
			return badRequest(fmt.Sprintf("tools[%d].function.name", i), "Invalid 'tools[%d].function.name': %.80q. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$' with at most 64 characters.", i, name)
		case names[name]:
			return badRequest("tools", "Tool names must be unique; %q is there twice.", name)
		}
		names[name] = true
		t, err := newTool(name, d.Function.Description, d.Function.Parameters)
		if err != nil {
			return badRequest(fmt.Sprintf("tools[%d].function.parameters", i), "Invalid schema for function '%s': %v", name, err)
		}
		if !none && (only == "" || only == name) {
			a.tools = append(a.tools, t)
		}
	}
	if only != "" && !names[only] {
		return badRequest("tool_choice", "Tool choice '%.64s' not found in 'tools' parameter.", only)
	}
	return nil
}

// choice reads tool_choice. "required" is taken as "auto": the stand-in has no call to make
// where no word leads to one.
func choice(raw json.RawMessage) (only string, none bool, r *refusal) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", false, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "auto", "required":
			return "", false, nil
		case "none":
			return "", true, nil
		}
	}
	var one declared
	if json.Unmarshal(raw, &one) == nil && one.Type == "function" && one.Function.Name != "" {
		return one.Function.Name, false, nil
	}
	return "", false, badRequest("tool_choice", "Invalid value for 'tool_choice': %.80s. Supported are 'none', 'auto', 'required' and a function.", raw)
}

// messagesOf reads the messages out of the view of a request.
func messagesOf(view *wire.Request) []message {
	all := make([]message, 0, len(view.Messages))
	for i := range view.Messages {
		m := message{role: view.Messages[i].Role}
		for k := range view.Messages[i].Parts {
			p := &view.Messages[i].Parts[k]
			switch p.Kind {
			case wire.Text:
				if m.text != "" {
					m.text += "\n"
				}
				m.text += view.Words(p)
			case wire.Call:
				m.calls = append(m.calls, call{id: p.CallID, name: p.Name, arguments: view.Words(p)})
			case wire.Result:
				m.callID, m.text = p.CallID, view.Words(p)
			}
		}
		all = append(all, m)
	}
	return all
}
