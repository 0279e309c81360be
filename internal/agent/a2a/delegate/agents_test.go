package delegate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
)

// Two agents of ours: one asks the other, which remembers a session, and no other's.
func TestOneAgentAsksAnother(t *testing.T) {
	t.Parallel()
	sub := thinker(t, func(r *agent.Request) (string, []agent.Call) {
		var heard []string
		for _, m := range r.Messages {
			if m.Role == agent.RoleUser {
				heard = append(heard, m.Text)
			}
		}
		return "I heard " + strings.Join(heard, " and "), nil
	}, nil)
	o := served(t, a2a.AgentExecutor(sub).Execute, nil)
	box := boxOf(t, agentAt(t, o.http.URL), gateway.Settings{})
	supervisor := thinker(t, func(r *agent.Request) (string, []agent.Call) {
		if m := last(r); m.Role == agent.RoleTool {
			return "It says: " + m.Text, nil
		}
		arguments, _ := json.Marshal(map[string]string{"message": last(r).Text})
		return "", []agent.Call{{ID: "c" + fmt.Sprint(len(r.Messages)), Name: "helper__look_up", Arguments: string(arguments)}}
	}, box)
	ask := func(session, text string) string {
		run, err := supervisor.Start(t.Context(), agent.Query{Text: text, Session: session})
		if err != nil {
			t.Fatal(err)
		}
		r := run.Wait()
		if r.Outcome != agent.Completed {
			t.Errorf("%+v", r)
		}
		return r.Answer
	}
	for _, c := range [][3]string{
		{"s1", "one", "It says: I heard one"},
		{"s1", "two", "It says: I heard one and two"},
		{"s2", "three", "It says: I heard three"},
		{"", "four", "It says: I heard four"},
		{"", "five", "It says: I heard five"},
		{"s1", "six", "It says: I heard one and two and six"},
	} {
		if got := ask(c[0], c[1]); got != c[2] {
			t.Errorf("session %q, %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// Agents that ask each other for ever stop at some time.
func TestACycleOfAgentsEnds(t *testing.T) {
	t.Parallel()
	var questions atomic.Int64
	asksOther := func(r *agent.Request) (string, []agent.Call) {
		if m := last(r); m.Role == agent.RoleTool {
			return m.Text, nil
		}
		questions.Add(1)
		return "", []agent.Call{{ID: "c1", Name: "helper__look_up", Arguments: `{"message":"you say"}`}}
	}
	// The first is known before the second is: its handler is filled in later.
	var first atomic.Pointer[http.Handler]
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*first.Load()).ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	second := agentAt(t, front.URL)
	boxSecond := lazyBox(func() agent.Tools { return boxOf(t, second, gateway.Settings{}) })
	b := served(t, a2a.AgentExecutor(thinker(t, asksOther, boxSecond)).Execute, nil)
	boxFirst := boxOf(t, agentAt(t, b.http.URL), gateway.Settings{})
	s, err := a2a.New(a2a.Options{
		Name: "first", Executor: a2a.AgentExecutor(thinker(t, asksOther, boxFirst)),
		Card: a2a.Card{Skills: []sdk.AgentSkill{{ID: "look_up"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	h := http.Handler(s)
	first.Store(&h)
	out := call(t, t.Context(), boxFirst, `{"message":"go"}`, nil)
	if !strings.Contains(out.Text, fmt.Sprintf("has come through %d agents", MaxHops)) || questions.Load() != MaxHops {
		t.Errorf("%d questions, %+v", questions.Load(), out)
	}
}

// lazyTools makes its tools when they are needed first.
type lazyTools struct{ of func() agent.Tools }

func lazyBox(make func() agent.Tools) lazyTools {
	var made agent.Tools
	return lazyTools{func() agent.Tools {
		if made == nil {
			made = make()
		}
		return made
	}}
}

func (l lazyTools) List(ctx context.Context) ([]agent.ToolSpec, error) { return l.of().List(ctx) }
func (l lazyTools) Check(c agent.Call) error                           { return l.of().Check(c) }
func (l lazyTools) Call(ctx context.Context, c agent.Call, chunk func(string)) (agent.Output, error) {
	return l.of().Call(ctx, c, chunk)
}

// A card may lead elsewhere: only to what is public or allowed, and without the credentials.
func TestACardLeadsNowhereThatIsNotAllowed(t *testing.T) {
	t.Parallel()
	var token atomic.Value
	o := served(t, func(_ context.Context, x *a2a.Exchange) error { return answers(x, "yes") }, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			token.Store(r.Header.Get("Authorization"))
			h.ServeHTTP(w, r)
		})
	})
	card := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/moved/.well-known/agent-card.json" {
			http.Redirect(w, r, o.http.URL, http.StatusFound)
			return
		}
		fmt.Fprintf(w, `{"name":"x","supportedInterfaces":[{"url":%q,"protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"capabilities":{"streaming":true},"skills":[{"id":"look up"}]}`, o.http.URL+"/")
	}))
	t.Cleanup(card.Close)
	header := http.Header{"Authorization": {"Bearer secret"}}
	with := func(o *Options) { o.Header = header }
	out := call(t, t.Context(), boxOf(t, agentAt(t, card.URL, with), gateway.Settings{}), `{"message":"go"}`, nil)
	if !out.Failed || !strings.Contains(out.Text, "push_allow") || token.Load() != nil {
		t.Errorf("%+v, token %v", out, token.Load())
	}
	allowed := agentAt(t, card.URL, with, func(o *Options) { o.Allow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} })
	if out := call(t, t.Context(), boxOf(t, allowed, gateway.Settings{}), `{"message":"go"}`, nil); out.Text != "yes" || token.Load() != "" {
		t.Errorf("%+v, token %v", out, token.Load())
	}
	for url, want := range map[string]string{card.URL + "/moved": "redirects are not followed", "http://127.0.0.1:1": "refused"} {
		if _, err := agentAt(t, url, with).currentCard(t.Context(), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
	if _, err := agentAt(t, card.URL).currentCard(t.Context(), true); err == nil || !strings.Contains(err.Error(), "token names the variable") {
		t.Errorf("%v", err)
	}
	if _, err := agentAt(t, o.http.URL+"/no").currentCard(t.Context(), true); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
}

func FuzzCard(f *testing.F) {
	f.Add([]byte(`{"name":"x","supportedInterfaces":[{"url":"http://h/","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"skills":[{"id":"a b","description":"\u0000"},{"id":""},{"id":"a_b"}]}`))
	f.Add([]byte(`{"url":"http://h","protocolVersion":"0.3.0","skills":[]}`))
	f.Add([]byte(`{"supportedInterfaces":[null]}`))
	a, err := New(Options{Name: "helper", URL: "http://127.0.0.1:1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := a.parse(t.Context(), body)
		if err != nil {
			return
		}
		if len(c.skills) > maxSkills {
			t.Errorf("%d skills", len(c.skills))
		}
		if _, err := c.newServer(&peer{a: a}); err != nil {
			t.Errorf("a card that was read makes no tools: %v", err)
		}
	})
}

// FuzzTake gives events of any shape to a task.
func FuzzTake(f *testing.F) {
	f.Add([]byte(`{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a","parts":[{"text":"x"},{"data":{"a":1}},{"raw":"/w=="},{"url":"http://h"}]}]}}`))
	f.Add([]byte(`{"artifactUpdate":{"taskId":"t","contextId":"c","append":true,"artifact":{"artifactId":"a","parts":[{"text":"y"}]}}}`))
	f.Add([]byte(`{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_INPUT_REQUIRED","message":{"role":"ROLE_AGENT","messageId":"m","parts":[{"text":"?"}]}}}}`))
	f.Add([]byte(`{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[null]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var e sdk.StreamResponse
		if json.Unmarshal(body, &e) != nil || e.Event == nil {
			return
		}
		x := newExchange(t)
		for range 3 {
			x.handleEvent(e.Event)
		}
		if r := x.result(); r == nil || r.Text == "" && r.Stream == nil && !x.answered && len(x.artifacts) == 0 {
			t.Errorf("%s gives no result", body)
		}
	})
}
