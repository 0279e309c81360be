package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

// scriptedModel is a model that plays a script. Unless loose is set, each request first goes to a provider that is as strict as
// the real ones; a request that it refuses fails the test.
type scriptedModel struct {
	t        testing.TB
	script   func(n int, r *agent.Request, text func(string)) (*agent.Reply, error)
	loose    bool
	info     agent.ModelInfo
	provider *scripted.Provider

	mu       sync.Mutex
	requests []agent.Request
	n        int
}

func newScriptedModel(t testing.TB, script func(n int, r *agent.Request, text func(string)) (*agent.Reply, error)) *scriptedModel {
	return &scriptedModel{
		t: t, script: script, provider: scripted.New(scripted.Options{RecordBytes: 1 << 20}),
		info: agent.ModelInfo{Provider: "openai", Name: "gpt-4o", URL: "http://model.test/v1", Window: 128_000},
	}
}

func (a *scriptedModel) Info() agent.ModelInfo { return a.info }

// seen gives the requests so far.
func (a *scriptedModel) seen() []agent.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}

func (a *scriptedModel) Generate(ctx context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	a.mu.Lock()
	n := a.n
	a.n++
	if !a.loose {
		a.requests = append(a.requests, *r)
	}
	a.mu.Unlock()
	if !a.loose {
		a.hold(r)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return a.script(n, r, text)
}

// hold holds a request to the rules of a strict provider.
func (a *scriptedModel) hold(r *agent.Request) {
	rec := httptest.NewRecorder()
	a.provider.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", bytes.NewReader(chat(r))))
	if rec.Code != http.StatusOK {
		a.t.Errorf("a strict provider refused the request: %d %s", rec.Code, rec.Body)
	}
}

// chat writes a request in the protocol of Chat Completions.
func chat(r *agent.Request) []byte {
	type object = map[string]any
	ms := []object{{"role": "system", "content": r.System}}
	for _, m := range r.Messages {
		o := object{"role": string(m.Role), "content": m.Text}
		if m.Role == agent.RoleTool {
			o["tool_call_id"] = m.CallID
		}
		var calls []object
		for _, c := range m.Calls {
			calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
		}
		if calls != nil {
			o["tool_calls"] = calls
		}
		ms = append(ms, o)
	}
	body := object{"model": "gpt-4o", "messages": ms}
	if len(r.Tools) > 0 {
		var tools []object
		for _, t := range r.Tools {
			tools = append(tools, object{"type": "function", "function": object{"name": t.Name, "parameters": t.Schema}})
		}
		body["tools"] = tools
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return text
}

// says is an answer, calls one with calls: name, arguments, name, arguments.
func says(text string) (*agent.Reply, error) {
	return &agent.Reply{
		Message: agent.Message{Role: agent.RoleAssistant, Text: text}, Stop: agent.StopEnd,
		Usage: agent.Usage{Input: 10, Output: 1},
	}, nil
}

func calls(pairs ...string) (*agent.Reply, error) {
	m := agent.Message{Role: agent.RoleAssistant}
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Calls = append(m.Calls, agent.Call{ID: fmt.Sprintf("c%d", i/2), Name: pairs[i], Arguments: pairs[i+1]})
	}
	return &agent.Reply{Message: m, Stop: agent.StopCalls, Usage: agent.Usage{Input: 10, Output: 1}}, nil
}

// replies plays answers in their order, and the last one again and again.
func replies(list ...func() (*agent.Reply, error)) func(int, *agent.Request, func(string)) (*agent.Reply, error) {
	return func(n int, _ *agent.Request, text func(string)) (*agent.Reply, error) {
		reply, err := list[min(n, len(list)-1)]()
		if err == nil && reply != nil && reply.Message.Text != "" {
			text(reply.Message.Text)
		}
		return reply, err
	}
}

func say(text string) func() (*agent.Reply, error) {
	return func() (*agent.Reply, error) { return says(text) }
}

func call(pairs ...string) func() (*agent.Reply, error) {
	return func() (*agent.Reply, error) { return calls(pairs...) }
}

func stop(text string, why agent.Stop) func() (*agent.Reply, error) {
	return func() (*agent.Reply, error) {
		r, _ := says(text)
		r.Stop = why
		return r, nil
	}
}

func fails(f agent.Failure, change ...func(*agent.ModelError)) func() (*agent.Reply, error) {
	return func() (*agent.Reply, error) {
		e := &agent.ModelError{Model: agent.ModelInfo{Name: "gpt-4o", URL: "http://model.test/v1"}, Failure: f}
		for _, c := range change {
			c(e)
		}
		return nil, e
	}
}

// toolFuncs is tools made of functions.
type toolFuncs map[string]func(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error)

func (b toolFuncs) List(context.Context) ([]agent.ToolSpec, error) {
	var specs []agent.ToolSpec
	for _, name := range slices.Sorted(maps.Keys(b)) {
		specs = append(specs, agent.ToolSpec{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return specs, nil
}

func (b toolFuncs) Check(c agent.Call) error {
	if b[c.Name] == nil {
		return fmt.Errorf("there is no tool %q", c.Name)
	}
	if strings.Contains(c.Arguments, "forbidden") {
		return errors.New("the schema does not allow that")
	}
	return nil
}

func (b toolFuncs) Call(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
	return b[c.Name](ctx, c, chunk)
}

// echo answers with its arguments.
func echo(_ context.Context, c agent.Call, _ func(string)) (agent.Output, error) {
	return agent.Output{Text: c.Arguments}, nil
}

// fakeStore keeps conversations as a disk would: what was appended stays, whatever happens to the process that wrote it.
type fakeStore struct {
	mu       sync.Mutex
	sessions map[string][]agent.Message
	fail     func(op string, ms []agent.Message) error
}

func newFakeStore() *fakeStore { return &fakeStore{sessions: map[string][]agent.Message{}} }

func (s *fakeStore) Open(_ context.Context, session string, existing bool) (agent.Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sessions[session]; !ok && existing {
		return nil, agent.ErrNoSession
	}
	return &fakeConversation{s, session}, nil
}

func (s *fakeStore) get(session string) []agent.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions[session])
}

type fakeConversation struct {
	s    *fakeStore
	name string
}

func (b *fakeConversation) Messages() []agent.Message { return b.s.get(b.name) }

func (b *fakeConversation) Append(ms ...agent.Message) error { return b.do("append", ms) }

func (b *fakeConversation) Replace(ms []agent.Message) error { return b.do("replace", ms) }

func (b *fakeConversation) do(op string, ms []agent.Message) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.s.fail != nil {
		if err := b.s.fail(op, ms); err != nil {
			return err
		}
	}
	if op == "replace" {
		b.s.sessions[b.name] = nil
	}
	b.s.sessions[b.name] = append(b.s.sessions[b.name], ms...)
	return nil
}

func (b *fakeConversation) Close() error { return nil }

// log collects events.
type log struct {
	mu     sync.Mutex
	events []agent.Event
}

func (l *log) add(e agent.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *log) of(kind agent.EventKind) []agent.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []agent.Event
	for _, e := range l.events {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

func (l *log) text(kind agent.EventKind) string {
	var b strings.Builder
	for _, e := range l.of(kind) {
		b.WriteString(e.Text)
	}
	return b.String()
}

func start(t testing.TB, o agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func ask(t testing.TB, a *agent.Agent, q agent.Query) agent.Result {
	t.Helper()
	if q.Text == "" {
		q.Text = "what is there?"
	}
	got, err := a.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// roles writes a conversation as one line: u a tt a.
func roles(ms []agent.Message) string {
	var b strings.Builder
	for _, m := range ms {
		b.WriteByte(m.Role[0])
	}
	return b.String()
}

// paired fails when a call has no result right behind it, or a result no call.
func paired(t testing.TB, ms []agent.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range ms {
		if m.Role == agent.RoleTool {
			if !open[m.CallID] {
				t.Errorf("message %d of %s is the result of no open call: %q", i, roles(ms), m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("before message %d of %s calls have no result: %v", i, roles(ms), slices.Collect(maps.Keys(open)))
		}
		open = map[string]bool{}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		t.Errorf("at the end of %s calls have no result: %v", roles(ms), slices.Collect(maps.Keys(open)))
	}
}
