package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/limit"
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

// parseRequest parses a request. It refuses one that breaks a rule of the protocol, and counts those in which calls and results do not pair; it also
// refuses one that does not fit the window. Of both results one is nil.
func (s *Standin) parseRequest(body []byte) (*request, *refusal) {
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
	if r := a.checkFields(&f); r != nil {
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

// checkFields checks the members of a request other than its messages, and stores those that count: the tools that may be called, the
// bounds of the output, and whether to stream. The refusal is nil if all are valid.
func (a *request) checkFields(f *fields) *refusal {
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
	only, none, r := parseToolChoice(f.ToolChoice)
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

// parseToolChoice reads tool_choice: only is the one function that may be called, "" for any; none means that no tool may be called. "required" is
// read as "auto", because a question may name nothing that a tool is for. Any other value is refused.
func parseToolChoice(raw json.RawMessage) (only string, none bool, r *refusal) {
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

// messagesOf returns the messages of a parsed request as plain texts and calls.
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

// created is the time at which the stand-in claims that it and its answers were made: the same answer to
// the same request, to the byte.
const created = 1_767_225_600 // 2026-01-01T00:00:00Z

// reply is the planner's answer: words or calls.
type reply struct {
	text    string
	refusal string // why it will not answer
	calls   []call
}

// answer returns a reply as the server writes it, cut to the output tokens that the request allows. A call is left out if it does not fit
// whole.
func (a *request) answer(r reply) *modelserver.Answer {
	out := &modelserver.Answer{
		Model: Model, Fingerprint: Owner, Created: created, Stream: a.stream, IncludeUsage: a.usage, Refusal: r.refusal,
		NewID: func(prefix string) string { return prefix + a.digest },
	}
	spent := 1
	for i, c := range r.calls {
		out.Calls = append(out.Calls, modelserver.Call{ID: fmt.Sprintf("call_%s%02d", a.digest[:20], i), Name: c.name, Arguments: c.arguments})
		spent += 4 + tokens.O200K().Count([]byte(c.name+c.arguments))
	}
	text, n := cutToTokens(r.text, a.output-spent)
	if len(text) < len(r.text) || spent > a.output {
		out.Stop = "length"
	}
	if spent > a.output && len(out.Calls) > 0 { // no part of a call: nobody could make it
		out.Calls, spent = nil, a.output
	}
	out.Text, out.Usage = text, modelserver.Usage{Input: a.input, Output: spent + n}
	return out
}

// cutToTokens returns at most most tokens of a text, cut between characters, and the number of its tokens.
func cutToTokens(text string, most int) (string, int) {
	all := tokens.O200K().Append(nil, []byte(text))
	if len(all) <= max(most, 0) {
		return text, len(all)
	}
	size := 0
	for _, token := range all[:max(most, 0)] {
		size += len(tokens.O200K().Bytes(token))
	}
	return text[:limit.Boundary(text, min(size, len(text)))], max(most, 0)
}

// write writes an answer and reports whether all of it was sent. While Options.Cut lasts, it breaks a stream off in the middle by a panic
// with http.ErrAbortHandler.
func (s *Standin) write(w http.ResponseWriter, r *http.Request, a *modelserver.Answer) bool {
	out := &modelserver.Stream{W: w, Context: r.Context(), Delay: s.o.Delay, Timeout: writeTimeout}
	if a.Stream && takeOne(&s.cutLeft) {
		out.Each = func(event string) bool {
			if out.Events == 2 { // the head and a piece are out
				out.Raw(event[:len(event)/2])
				out.Flush()
				s.brokenOff.Add(1)
				panic(http.ErrAbortHandler) // ends the connection without an end of the answer
			}
			return false
		}
	}
	if out.Chat(a); out.Err != nil {
		s.brokenOff.Add(1)
		return false
	}
	return true
}

// refusal is an error in OpenAI's form.
type refusal struct {
	status                  int
	kind, code, param, text string
	after                   time.Duration
}

func badRequest(param, format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, kind: "invalid_request_error", param: param, text: fmt.Sprintf(format, args...)}
}

func noModel(id string) *refusal {
	return &refusal{
		status: http.StatusNotFound, kind: "invalid_request_error", code: "model_not_found",
		text: fmt.Sprintf("The model `%.100s` does not exist or you do not have access to it. There is %s, which is a stand-in and no language model.", id, Model),
	}
}

func overloaded(why string, after time.Duration) *refusal {
	return &refusal{status: http.StatusTooManyRequests, kind: "requests", code: "rate_limit_exceeded", text: "The stand-in is busy: " + why + ". Please try again.", after: after}
}

// tooLong returns OpenAI's own sentence about a window.
func tooLong(window, input int) *refusal {
	r := badRequest("messages", "This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", window, input)
	r.code = "context_length_exceeded"
	return r
}

// refuse answers with an error and counts it.
func (s *Standin) refuse(w http.ResponseWriter, r *refusal) {
	switch {
	case r.status == http.StatusTooManyRequests:
		s.busyCount.Add(1)
		if r.after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(r.after.Seconds()))))
		}
	default:
		s.refusedCount.Add(1)
	}
	out := &modelserver.Stream{W: w, Timeout: writeTimeout}
	out.Fail(wire.Chat, wire.Failure{Status: r.status, Kind: r.kind, Message: r.text, Param: r.param, Code: r.code})
}
