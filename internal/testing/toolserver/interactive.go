package toolserver

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// errInput reports that the client was told what is still needed.
var errInput = errors.New("input required")

// question is one thing the client is asked for.
type question struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// input asks the client and returns its answers in order. With a session it sends requests
// and waits; without one it ends the exchange with input_required, and gives the answers
// when the request comes again.
func (x *exchange) input(questions ...question) ([]json.RawMessage, error) {
	capability := strings.Split(questions[0].Method, "/")[0]
	if err := x.capable(capability); err != nil {
		return nil, err
	}
	if !x.modern {
		return x.inputBySession(questions)
	}
	if x.round < len(x.states) {
		x.round++
		return x.states[x.round-1], nil
	}
	answers := make([]json.RawMessage, len(questions))
	missing := make(map[string]question)
	for i, q := range questions {
		key := fmt.Sprintf("%s-%d-%d", capability, x.round, i)
		if answers[i] = x.inputs[key]; answers[i] == nil {
			missing[key] = q
		}
	}
	if len(missing) == 0 {
		x.states = append(x.states, answers)
		x.round++
		x.inputs = nil
		return answers, nil
	}
	state, err := json.Marshal(x.states)
	if err != nil {
		return nil, err
	}
	x.respond(value(map[string]any{"resultType": "input_required", "inputRequests": missing, "requestState": x.s.seal(state)}))
	return nil, errInput
}

func (x *exchange) inputBySession(questions []question) ([]json.RawMessage, error) {
	answers := make([]json.RawMessage, len(questions))
	failures := make(chan error, len(questions))
	for i, q := range questions {
		go func() {
			var err error
			answers[i], err = x.c.request(x.ctx, x.to, q.Method, q.Params)
			failures <- err
		}()
	}
	for range questions {
		if err := <-failures; err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// capable returns an error unless the client declared a capability.
func (x *exchange) capable(name string) error {
	caps := x.meta.Capabilities
	if !x.modern {
		x.c.mu.Lock()
		caps = x.c.capabilities
		x.c.mu.Unlock()
	}
	var declared map[string]json.RawMessage
	_ = json.Unmarshal(caps, &declared)
	if _, ok := declared[name]; ok {
		return nil
	}
	if x.modern {
		data := fmt.Appendf(nil, `{"requiredCapabilities":{%q:{}}}`, name)
		return &Error{
			Code: jsonrpc.CodeCapability, Message: "Server requires the " + name + " capability for this request",
			Data: data, status: http.StatusBadRequest,
		}
	}
	return &Error{Code: jsonrpc.CodeInvalidRequest, Message: "the client did not declare " + name}
}

// openState takes from a repeated request the sealed answers of earlier rounds, and the answers of this round.
func (x *exchange) openState() error {
	var p struct {
		RequestState   *string                    `json:"requestState"`
		InputResponses map[string]json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(x.params, &p); err != nil {
		return badParams("Invalid params: %v", err)
	}
	x.inputs = p.InputResponses
	if p.RequestState == nil {
		return nil
	}
	state, ok := x.s.unseal(*p.RequestState)
	if !ok || json.Unmarshal(state, &x.states) != nil {
		return badParams("Invalid requestState: it is not the one this server gave")
	}
	return nil
}

func (s *Server) seal(state []byte) string {
	m := hmac.New(sha256.New, s.key)
	m.Write(state)
	return base64.RawURLEncoding.EncodeToString(append(m.Sum(nil), state...))
}

// unseal returns the content of a state that this server sealed; false if it did not.
func (s *Server) unseal(sealed string) ([]byte, bool) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(b) < sha256.Size {
		return nil, false
	}
	m := hmac.New(sha256.New, s.key)
	m.Write(b[sha256.Size:])
	return b[sha256.Size:], hmac.Equal(m.Sum(nil), b[:sha256.Size])
}

func (x *exchange) ask(arguments json.RawMessage) (body, error) {
	a := struct {
		Message, Mode, URL string
		Rounds, Several    int
	}{Message: "What is your name?", URL: "https://example.com/confirm", Rounds: 1, Several: 1}
	if err := json.Unmarshal(arguments, &a); err != nil {
		return nil, badParams("Invalid arguments: %v", err)
	}
	var said []string
	for round := range a.Rounds {
		var questions []question
		for n := range a.Several {
			params := map[string]any{"message": fmt.Sprintf("%s (%d.%d)", a.Message, round+1, n+1)}
			if a.Mode == "url" {
				params["mode"], params["url"] = "url", a.URL
				if !x.modern {
					params["elicitationId"] = fmt.Sprintf("e-%d-%d", round, n)
				}
			} else {
				params["mode"] = "form"
				params["requestedSchema"] = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
			}
			b, _ := json.Marshal(params)
			questions = append(questions, question{"elicitation/create", b})
		}
		answers, err := x.input(questions...)
		if err != nil {
			return nil, err
		}
		for _, b := range answers {
			said = append(said, compact(b))
		}
	}
	return x.text("answers: " + strings.Join(said, " ")), nil
}

func (x *exchange) sample(arguments json.RawMessage) (body, error) {
	a := struct{ Prompt string }{"Say hello."}
	_ = json.Unmarshal(arguments, &a)
	params, _ := json.Marshal(map[string]any{
		"messages":  []any{map[string]any{"role": "user", "content": map[string]string{"type": "text", "text": a.Prompt}}},
		"maxTokens": 100,
	})
	answers, err := x.input(question{"sampling/createMessage", params})
	if err != nil {
		return nil, err
	}
	return x.text("sampled: " + compact(answers[0])), nil
}

func (x *exchange) roots(json.RawMessage) (body, error) {
	answers, err := x.input(question{"roots/list", json.RawMessage("{}")})
	if err != nil {
		return nil, err
	}
	return x.text("roots: " + compact(answers[0])), nil
}

func (x *exchange) log(arguments json.RawMessage) (body, error) {
	a := struct {
		Level, Text string
		Count       int
	}{"info", "logged", 1}
	_ = json.Unmarshal(arguments, &a)
	least := x.meta.Level
	if !x.modern {
		x.c.mu.Lock()
		least = x.c.level
		x.c.mu.Unlock()
		if least == "" {
			least = "debug" // a server may send what it likes until it is told
		}
	}
	if least != "" && slices.Index(levels, a.Level) >= slices.Index(levels, least) {
		for n := range a.Count {
			params, _ := json.Marshal(map[string]any{"level": a.Level, "logger": "toolserver", "data": fmt.Sprintf("%s %d", a.Text, n+1)})
			if err := x.to.message(jsonrpc.NewRequest("", "notifications/message", params)); err != nil {
				return nil, err
			}
		}
	}
	return x.text("logged"), nil
}

func (x *exchange) slow(arguments json.RawMessage) (body, error) {
	a := struct{ MS, Steps int }{100, 4}
	_ = json.Unmarshal(arguments, &a)
	a.Steps = max(a.Steps, 1)
	for n := range a.Steps {
		select {
		case <-time.After(time.Duration(a.MS) * time.Millisecond / time.Duration(a.Steps)):
		case <-x.ctx.Done():
			return nil, x.ctx.Err()
		}
		if t := x.meta.ProgressToken; t != nil {
			params := fmt.Appendf(nil, `{"progressToken":%s,"progress":%d,"total":%d,"message":"step %s"}`, t, n+1, a.Steps, strconv.Itoa(n+1))
			if err := x.to.message(jsonrpc.NewRequest("", "notifications/progress", params)); err != nil {
				return nil, err
			}
		}
	}
	return x.text("done after " + strconv.Itoa(a.Steps) + " steps"), nil
}

func compact(b []byte) string {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return string(b)
	}
	return out.String()
}
