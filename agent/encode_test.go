package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/window/wire"
)

// countingEncoder counts how often a history is encoded, and writes the count into the body, as spaces behind its first brace.
type countingEncoder struct {
	agent.Encoder
	encoded atomic.Int64
}

func (c *countingEncoder) Encode(r *agent.Request) (*wire.Request, error) {
	n := c.encoded.Add(1)
	out, err := c.Encoder.Encode(r)
	if err != nil {
		return nil, err
	}
	return wire.Parse(out.Dialect, fmt.Appendf(nil, "{%*s%s", n, "", out.Body[1:]))
}

// encoders are the adapters, for models with a small window.
func encoders(t *testing.T, url string, window int) map[string]agent.Encoder {
	t.Helper()
	chat, err := openai.New(openai.Options{BaseURL: url + "/v1", Provider: "openai", Key: "key", Model: "gpt-5.1", Window: window, MaxOutput: 1000})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := anthropic.New(anthropic.Options{BaseURL: url, Provider: "anthropic", Key: "key", Model: "claude-sonnet-4-5", Thinking: 1024, Window: window, MaxOutput: 2000})
	if err != nil {
		t.Fatal(err)
	}
	google, err := gemini.New(gemini.Options{BaseURL: url, Provider: "gemini", Key: "key", Model: "gemini-2.5-pro", Window: window, MaxOutput: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]agent.Encoder{"openai": chat, "anthropic": messages, "gemini": google}
}

// What the window plane made fit is what goes out: a history is encoded once in each step, also when room is made in it and when a
// request is repeated.
func TestAHistoryIsEncodedOnceInAStep(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai", "anthropic", "gemini"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var faults atomic.Int64
			provider := scripted.New(scripted.Options{
				Key: "key", RecordBytes: 64 << 20, CheckSignatures: true,
				Fault: func(*scripted.Request) scripted.Fault {
					if faults.Add(1) == 3 {
						return scripted.Fault{Kind: scripted.ServerErr, Status: 503}
					}
					return scripted.Fault{}
				},
				Script: func(turn int, _ *scripted.Request) scripted.Reply {
					if turn == 7 {
						return scripted.Reply{Text: "It is done."}
					}
					return scripted.Reply{Thinking: fmt.Sprint("thought ", turn), Text: "I look. ", Calls: []scripted.Call{
						{Tool: "large", Args: map[string]int{"n": turn}}, {Tool: "echo", Args: map[string]int{"n": turn}},
					}}
				},
			})
			server := httptest.NewServer(provider)
			t.Cleanup(server.Close)
			model := &countingEncoder{Encoder: encoders(t, server.URL, 12_000)[name]}
			tools := wireTools()
			tools["large"] = func(_ context.Context, c agent.Call, _ func(string)) (agent.Output, error) {
				return agent.Output{Text: strings.Repeat("a line of "+c.Arguments+"\n", 400)}, nil
			}
			events := &log{}
			got := ask(t, start(t, agent.Options{Model: model, Tools: tools, System: "be brief"}), agent.Query{Events: events.add})
			if got.Outcome != agent.Completed || got.Steps != 8 {
				t.Fatalf("ended with %+v", got)
			}
			if n := model.encoded.Load(); n != int64(got.Steps) {
				t.Errorf("the history was encoded %d times in %d steps", n, got.Steps)
			}
			if len(events.of(agent.EventRoom)) == 0 || len(events.of(agent.EventRetry)) != 1 || provider.Refused() != 1 {
				t.Errorf("room was made %d times, %d requests were repeated, %d refused", len(events.of(agent.EventRoom)), len(events.of(agent.EventRetry)), provider.Refused())
			}
			shortened := 0
			for i, r := range provider.Requests() {
				step := i + 1
				if step > 3 {
					step-- // the third was sent twice
				}
				if lead := "{" + strings.Repeat(" ", step) + `"`; !bytes.HasPrefix(r.Body, []byte(lead)) {
					t.Errorf("request %d does not hold the body of step %d: %.60s", i+1, step, r.Body)
				}
				dialect := wire.Chat
				switch name {
				case "anthropic":
					dialect = wire.Messages
				case "gemini":
					dialect = wire.Gemini
				}
				sent, err := wire.Parse(dialect, r.Body)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(r.Body, []byte("Plimsoll")) {
					shortened++
				}
				if name == "anthropic" {
					last := sent.Messages[len(sent.Messages)-1]
					if n := len(sent.Marks); n != 3 || !last.Span.Contains(wire.Span{Start: sent.Marks[n-1].Start, End: sent.Marks[n-1].End}) {
						t.Errorf("request %d has %d marks for the cache, or none in its last message", i+1, len(sent.Marks))
					}
				}
			}
			if shortened == 0 {
				t.Error("no request was made smaller")
			}
		})
	}
}

// A request that is changed on its way to the adapter is not sent as it was before.
func TestAChangedRequestIsEncodedAnew(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai", "anthropic", "gemini"} {
		provider := scripted.New(scripted.Options{Key: "key", RecordBytes: 1 << 20, Script: scripted.Replies(scripted.Reply{Text: "ok"})})
		server := httptest.NewServer(provider)
		t.Cleanup(server.Close)
		model := &changing{encoders(t, server.URL, 0)[name]}
		if got := ask(t, start(t, agent.Options{Model: model}), agent.Query{Text: "as it was asked"}); got.Outcome != agent.Completed {
			t.Fatalf("%s: ended with %+v", name, got)
		}
		if body := string(provider.Requests()[0].Body); !strings.Contains(body, "as it was changed") || strings.Contains(body, "as it was asked") {
			t.Errorf("%s: sent was %s", name, body)
		}
	}
}

type changing struct{ agent.Encoder }

func (c *changing) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	other := *r
	other.Messages = []agent.Message{{Role: agent.RoleUser, Text: "as it was changed"}}
	return c.Encoder.Generate(ctx, &other, text)
}

// Whatever the history, the body that is sent is valid, and holds what the conversation holds from then on.
func TestTheBodyAndTheHistorySayTheSame(t *testing.T) {
	t.Parallel()
	changed := 0
	seeds := night.Else(uint64(60), 24)
	for seed := range seeds {
		for name, model := range encoders(t, "http://127.0.0.1:1", []int{0, 3000, 8000, 24_000}[seed%4]) {
			ms := agent.RandomHistory(seed)
			for i := range ms {
				if len(ms[i].Opaque) > 0 { // as the adapter of Anthropic keeps thoughts
					ms[i].Opaque = fmt.Appendf(nil, `{"model":"claude-sonnet-4-5","blocks":[{"raw":{"type":"thinking","thinking":"%d","signature":"c2ln"}}]}`, i)
					if name == "gemini" { // and that of Google signatures
						ms[i].Opaque = fmt.Appendf(nil, `{"model":"gemini-2.5-pro","parts":[{"text":%d,"signature":"c2ln"}]}`, len(ms[i].Text))
					}
				}
			}
			out, body, err := agent.Fit(t.Context(), model, "You help.", ms, agent.FitSpecs)
			if _, large := errors.AsType[*agent.TooLargeError](err); large {
				continue
			}
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if !reflect.DeepEqual(out, ms) {
				changed++
			}
			again, err := model.Encode(&agent.Request{System: "You help.", Messages: out, Tools: agent.FitSpecs})
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if got, want := saidIn(body), saidIn(again); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %s: the body says\n%q\nthe history\n%q", seed, name, got, want)
			}
			valid := body.Body
			if name == "anthropic" { // Encode leaves out what is known only when it fits
				valid = append(valid[:len(valid)-1:len(valid)-1], `,"max_tokens":10}`...)
			}
			if err := wire.Validate(body.Dialect, valid); err != nil {
				t.Fatalf("seed %d, %s would be refused: %v\n%s", seed, name, err, body.Body)
			}
		}
	}
	if changed < int(seeds)/2 {
		t.Errorf("only %d histories were changed", changed)
	}
}

// saidIn lists what a request says, whatever the form.
func saidIn(r *wire.Request) (list []string) {
	for i := range r.Messages {
		for k := range r.Messages[i].Parts {
			p := &r.Messages[i].Parts[k]
			text := r.Words(p)
			if !p.Raw.IsZero() && p.Kind != wire.Result { // the response of Gemini is raw too, and its texts may be escaped in two ways
				text = string(r.Raw(p.Raw))
			}
			list = append(list, fmt.Sprint(r.Messages[i].Role, p.Kind, p.CallID, p.Name, p.Failed, text))
		}
	}
	return list
}

// An adapter of a user's own that is no Encoder gets the messages, and nothing encoded.
func TestAModelThatIsNoEncoder(t *testing.T) {
	t.Parallel()
	model := newScriptedModel(t, func(_ int, r *agent.Request, _ func(string)) (*agent.Reply, error) {
		if r.Encoded() != nil || len(r.Messages) != 1 {
			t.Errorf("it got %+v", r)
		}
		return says("ok")
	})
	if got := ask(t, start(t, agent.Options{Model: model}), agent.Query{}); got.Outcome != agent.Completed {
		t.Errorf("ended with %+v", got)
	}
}

// An adapter whose body is not the history ends the query with words about that, and sends nothing.
func TestAnEncoderThatLosesMessages(t *testing.T) {
	t.Parallel()
	provider := scripted.New(scripted.Options{})
	server := httptest.NewServer(provider)
	t.Cleanup(server.Close)
	got := ask(t, start(t, agent.Options{Model: &losing{encoders(t, server.URL, 0)["openai"]}}), agent.Query{})
	if got.Outcome != agent.Failed || !strings.Contains(got.Detail, "0 of 1 messages") || len(provider.Requests()) != 0 {
		t.Errorf("ended with %+v", got)
	}
}

type losing struct{ agent.Encoder }

func (l *losing) Encode(r *agent.Request) (*wire.Request, error) {
	return wire.Parse(wire.Chat, json.RawMessage(`{"model":"m","messages":[]}`))
}
