package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// prompted is a conversation of prompts, each answered in four requests: a call, another, and the answer. Request n is what a client
// sends before answer n.
type prompted struct {
	dialect wire.Dialect
	result  int // bytes of a result
}

const perPrompt = 3 // requests for each prompt

func (k prompted) prompt(n int) string {
	return fmt.Sprintf("Prompt number %d: what about the harbour?", n)
}

// body is request n; the cache mark of Messages is on its last message, which is a list for it and a string later.
func (k prompted) body(n int) []byte {
	var list []any
	user := func(text string, last bool) any {
		switch k.dialect {
		case wire.Gemini:
			return m{"role": "user", "parts": []any{m{"text": text}}}
		case wire.Converse:
			blocks := []any{m{"text": text}}
			if last {
				blocks = append(blocks, m{"cachePoint": m{"type": "default"}})
			}
			return m{"role": "user", "content": blocks}
		case wire.Responses:
			return m{"type": "message", "role": "user", "content": []any{m{"type": "input_text", "text": text}}}
		case wire.Messages:
			if last {
				// The members in the order in which Claude Code writes them.
				return m{"role": "user", "content": json.RawMessage(`[{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral"}}]`)}
			}
		}
		return m{"role": "user", "content": text}
	}
	say := func(text string) any {
		switch k.dialect {
		case wire.Gemini:
			return m{"role": "model", "parts": []any{m{"text": text}}}
		case wire.Converse:
			return m{"role": "assistant", "content": []any{m{"text": text}}}
		case wire.Responses:
			return m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": text}}}
		}
		return m{"role": "assistant", "content": text}
	}
	call := func(i int) {
		id, result := fmt.Sprintf("call_%d", i), strings.Repeat(fmt.Sprintf("line of result %d\n", i), k.result/18)
		switch k.dialect {
		case wire.Chat:
			list = append(list, m{"role": "assistant", "content": nil, "tool_calls": []any{m{"id": id, "type": "function", "function": m{"name": "shell", "arguments": `{"cmd":"ls"}`}}}},
				m{"role": "tool", "tool_call_id": id, "content": result})
		case wire.Responses:
			list = append(list, m{"type": "function_call", "call_id": id, "name": "shell", "arguments": `{"cmd":"ls"}`}, m{"type": "function_call_output", "call_id": id, "output": result})
		case wire.Messages:
			list = append(list, m{"role": "assistant", "content": []any{m{"type": "tool_use", "id": id, "name": "shell", "input": m{"cmd": "ls"}}}},
				m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": id, "content": result}}})
		case wire.Converse:
			list = append(list, m{"role": "assistant", "content": []any{m{"toolUse": m{"toolUseId": id, "name": "shell", "input": m{"cmd": "ls"}}}}},
				m{"role": "user", "content": []any{m{"toolResult": m{"toolUseId": id, "content": []any{m{"text": result}}}}}})
		case wire.Gemini:
			list = append(list, m{"role": "model", "parts": []any{m{"functionCall": m{"name": "shell", "args": m{"cmd": "ls"}}}}},
				m{"role": "user", "parts": []any{m{"functionResponse": m{"name": "shell", "response": m{"output": result}}}}})
		}
	}
	for i := range n + 1 {
		switch i % perPrompt {
		case 0:
			if i > 0 {
				list = append(list, say(fmt.Sprintf("Answer %d.", i/perPrompt-1)))
			}
			list = append(list, user(k.prompt(i/perPrompt), i == n))
		default:
			call(i)
		}
	}
	tool := m{"name": "shell", "input_schema": m{"type": "object"}}
	var body m
	switch k.dialect {
	case wire.Chat:
		body = m{"model": "gpt-4o", "messages": append([]any{m{"role": "system", "content": "You are an agent."}}, list...), "tools": []any{m{"type": "function", "function": m{"name": "shell"}}}}
	case wire.Responses:
		body = m{"model": "gpt-5.1", "instructions": "You are an agent.", "input": list, "tools": []any{m{"type": "function", "name": "shell"}}, "store": false}
	case wire.Messages:
		body = m{"model": "claude-sonnet-4-5", "system": "You are an agent.", "messages": list, "tools": []any{tool}, "max_tokens": 500}
	case wire.Converse:
		body = m{"messages": list, "system": []any{m{"text": "You are an agent."}}, "toolConfig": m{"tools": []any{m{"toolSpec": m{"name": "shell"}}}}, "inferenceConfig": m{"maxTokens": 500}}
	case wire.Gemini:
		body = m{"contents": list, "systemInstruction": m{"parts": []any{m{"text": "You are an agent."}}}, "tools": []any{m{"functionDeclarations": []any{m{"name": "shell"}}}}}
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return text
}

// remembering recalls something else at every call, so that only what was kept can come again.
type remembering struct {
	mu    sync.Mutex
	asked []Prompt
	kept  []Excerpt
	says  func(Prompt, int) string
}

func (r *remembering) Recall(_ context.Context, p Prompt) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, p)
	return r.says(p, len(r.asked))
}

func (r *remembering) Keep(e Excerpt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, e)
}

// bodies is a provider that answers everything and remembers what came.
func bodies(t testing.TB) (string, func() []byte) {
	t.Helper()
	var mu sync.Mutex
	var last []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		mu.Lock()
		last = body
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []byte { mu.Lock(); defer mu.Unlock(); return last }
}

func postBody(t testing.TB, root, path string, body []byte, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, root+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer sk-of-a-test")
	for name := range header {
		r.Header.Set(name, header.Get(name))
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res
}

func parsed(t testing.TB, d wire.Dialect, body []byte) *wire.Request {
	t.Helper()
	r, err := wire.Parse(d, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// messagesOf is the message array as a provider's cache is keyed by it: cache marks left out.
func messagesOf(r *wire.Request) (b []byte) {
	for i := range r.Messages {
		r.Fingerprint(i, func(p []byte) { b = append(b, p...) })
		b = append(b, '\n')
	}
	return b
}

func openStore(t testing.TB, dir string) *checkpoint.Store {
	t.Helper()
	s, err := checkpoint.Open(checkpoint.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRecall: over 200 turns in four dialects, with a restart every 50 and compactions, what is recalled for a prompt stands behind
// the client's own blocks of it, once, in no system prompt, tool or result; each request begins with the one before; and switched
// off the provider gets the client's own bytes.
func TestRecall(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		for _, window := range []int{0, 12_000} {
			t.Run(fmt.Sprintf("%s window %d", d, window), func(t *testing.T) {
				t.Parallel()
				provider, last := bodies(t)
				dir := t.TempDir()
				memory := &remembering{says: func(p Prompt, n int) string {
					if strings.Contains(p.Text, "number 4:") {
						return "" // it knows nothing
					}
					return fmt.Sprintf("<plimsoll-memory-context>\nRECALLED %d\n</plimsoll-memory-context>", n)
				}}
				o := func() Options {
					o := Options{Store: openStore(t, dir), Recaller: memory}
					if window > 0 {
						o.Resolver = models.NewResolver(models.Options{Overrides: models.Overrides{Max: window}})
						o.Reserve = 1000
					}
					return o
				}
				_, root, _ := start(t, provider, o())
				k, path := prompted{dialect: d, result: 600}, talkIn(d).path()
				var before []byte
				compacted, turns := 0, 200
				if window > 0 {
					turns = 120
				}
				for n := range turns {
					if n%50 == 49 {
						_, root, _ = start(t, provider, o())
					}
					body := k.body(n)
					res := postBody(t, root, path, body, nil)
					got := last()
					if n%40 == 0 { // a client that tries again gets the same
						postBody(t, root, path, body, nil)
						if !bytes.Equal(last(), got) {
							t.Fatalf("request %d: the second try has other bytes", n)
						}
					}
					r := parsed(t, d, got)
					if err := wire.ValidateEdit(d, body, got); err != nil {
						t.Fatalf("request %d: %v", n, err)
					}
					after := messagesOf(r)
					did := strings.Contains(res.Header.Get(ActionsHeader), "compacted")
					if did {
						compacted++
					} else if !bytes.HasPrefix(after, before) {
						t.Fatalf("request %d does not begin with the one before:\n%.300s\n%.300s", n, before, after)
					}
					before = after
					prompts := n/perPrompt + 1
					want := prompts
					if prompts > 4 {
						want--
					}
					if c := bytes.Count(got, []byte("RECALLED")); window == 0 && c != want || window > 0 && (c == 0 || c > want) {
						t.Fatalf("request %d: added %d times for %d prompts", n, c, prompts)
					}
					if len(memory.asked) != prompts {
						t.Fatalf("request %d: asked %d times for %d prompts", n, len(memory.asked), prompts)
					}
					for i := range r.Messages {
						for j := range r.Messages[i].Parts {
							p := &r.Messages[i].Parts[j]
							if !bytes.Contains(r.Raw(p.Span), []byte("RECALLED")) {
								continue
							}
							if r.Messages[i].Role != wire.RoleUser || p.Kind != wire.Text || slices.ContainsFunc(r.Messages[i].Parts, func(p wire.Part) bool { return p.Kind == wire.Result }) || j != len(r.Messages[i].Parts)-1 && !r.Dialect.Rules().Alternates {
								t.Fatalf("request %d: it stands in part %d of message %d, %s", n, j, i, r.Raw(r.Messages[i].Span))
							}
						}
					}
				}
				if first := memory.asked[0]; !first.First || memory.asked[1].First || first.Text != k.prompt(0) || len(memory.asked[9].Recalled) == 0 || first.Conversation != memory.asked[30].Conversation {
					t.Errorf("%+v", first)
				}
				if window > 0 && (compacted < 2 || compacted > 60) {
					t.Errorf("%d compactions", compacted)
				}
				// Off: the client's bytes.
				_, root, _ = start(t, provider, Options{Store: openStore(t, dir)})
				for _, n := range []int{0, 9, 50} {
					body := k.body(n)
					postBody(t, root, path, body, nil)
					if !bytes.Equal(last(), body) {
						t.Errorf("switched off, request %d is another", n)
					}
				}
			})
		}
	}
}

// TestRecallStandsAside: nothing is added for the client's own requests, where it compacts or keeps the conversation elsewhere, where
// the proxy only looks on, or where nothing can be kept.
func TestRecallStandsAside(t *testing.T) {
	t.Parallel()
	provider, last := bodies(t)
	memory := &remembering{says: func(Prompt, int) string { return "RECALLED" }}
	claude := func(system string, tools string) []byte {
		return []byte(`{"model":"claude-sonnet-4-5","max_tokens":9,"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; ` + system + `"}],"messages":[{"role":"user","content":"go on"}]` + tools + `}`)
	}
	const tool = `,"tools":[{"name":"Bash","input_schema":{"type":"object"}}]`
	header := http.Header{"User-Agent": {"claude-cli/2.1.197 (external, cli)"}}
	for name, c := range map[string]struct {
		o    Options
		body []byte
		path string
		want bool
	}{
		"a conversation":           {Options{}, claude("cc_entrypoint=cli;", tool), "/anthropic/v1/messages", true},
		"a sub-agent":              {Options{}, claude("cc_entrypoint=cli; cc_is_subagent=true;", tool), "/anthropic/v1/messages", false},
		"a title":                  {Options{}, claude("cc_entrypoint=cli;", ""), "/anthropic/v1/messages", false},
		"observe":                  {Options{Mode: Observe}, claude("cc_entrypoint=cli;", tool), "/anthropic/v1/messages", false},
		"off":                      {Options{Mode: Off}, claude("cc_entrypoint=cli;", tool), "/anthropic/v1/messages", false},
		"a conversation elsewhere": {Options{}, []byte(`{"model":"gpt-5.1","previous_response_id":"resp_1","input":"go on"}`), "/openai/v1/responses", false},
	} {
		c.o.Store, c.o.Recaller = openStore(t, t.TempDir()), memory
		_, root, _ := start(t, provider, c.o)
		postBody(t, root, c.path, c.body, header)
		if got := bytes.Contains(last(), []byte("RECALLED")); got != c.want {
			t.Errorf("%s: added %v", name, got)
		}
		if !c.want && !bytes.Equal(last(), c.body) {
			t.Errorf("%s: other bytes", name)
		}
	}
	_, root, _ := start(t, provider, Options{Recaller: memory})
	body := claude("cc_entrypoint=cli;", tool)
	if postBody(t, root, "/anthropic/v1/messages", body, header); !bytes.Equal(last(), body) {
		t.Error("without a store something was added")
	}
}

// TestKeep: what compactions take out is given once, as the client sent it; with KeepTurns each message is, also after a restart of
// the client, and nothing that was added is.
func TestKeep(t *testing.T) {
	t.Parallel()
	for _, d := range everyDialect {
		for _, turns := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", d, turns), func(t *testing.T) {
				provider, _ := bodies(t)
				memory := &remembering{says: func(Prompt, int) string { return "RECALLED" }}
				_, root, _ := start(t, provider, Options{
					Store: openStore(t, t.TempDir()), Keeper: memory, KeepTurns: turns, Recaller: memory, Reserve: 1000,
					Resolver: models.NewResolver(models.Options{Overrides: models.Overrides{Max: 12_000}}),
				})
				k, path := prompted{dialect: d, result: 2000}, talkIn(d).path()
				const n = 60
				for i := range n {
					postBody(t, root, path, k.body(i), nil)
				}
				postBody(t, root, path, k.body(n-1), nil)
				whole := parsed(t, d, k.body(n-1))
				seen := map[int]int{}
				for _, e := range memory.kept {
					if want := map[bool]string{false: ExcerptCut, true: ExcerptTurn}[turns]; e.Why != want || e.Scope == "" || e.Conversation == "" || e.SeenAt.IsZero() {
						t.Errorf("%+v", e)
					}
					r := parsed(t, d, e.Body)
					for i, place := range e.Places {
						seen[place]++
						if bytes.Contains(e.Body, []byte("RECALLED")) || r.Messages[i].Role != whole.Messages[place].Role {
							t.Fatalf("message %d of an excerpt is not message %d of the client", i, place)
						}
						for j := range r.Messages[i].Parts {
							if p := &r.Messages[i].Parts[j]; p.Kind == wire.Result && (e.Call(r, i, j).Tool != "shell" || !strings.Contains(e.Call(r, i, j).Command, "ls")) {
								t.Errorf("the call of %q is not known: %+v", p.CallID, e.Calls)
							}
						}
					}
				}
				for place, times := range seen {
					if times != 1 {
						t.Errorf("message %d was given %d times", place, times)
					}
				}
				if turns && len(seen) != len(whole.Messages) || !turns && (len(seen) < len(whole.Messages)/5 || len(seen) == len(whole.Messages)) {
					t.Errorf("%d of %d messages were given", len(seen), len(whole.Messages))
				}
			})
		}
	}
}

// TestRecallKeepsTheRules: what would break a rule of the provider is not added, and what came goes on.
func TestRecallKeepsTheRules(t *testing.T) {
	t.Parallel()
	provider, last := bodies(t)
	for text, want := range map[string]bool{" \n\t": false, "RECALLED": true} {
		_, root, _ := start(t, provider, Options{Store: openStore(t, t.TempDir()), Recaller: &remembering{says: func(Prompt, int) string { return text }}})
		k := prompted{dialect: wire.Messages, result: 200}
		for _, n := range []int{0, perPrompt, 2 * perPrompt} {
			body := k.body(n)
			postBody(t, root, "/anthropic/v1/messages", body, nil)
			if got := !bytes.Equal(last(), body); got != want {
				t.Errorf("request %d with %q: changed %v", n, text, got)
			}
		}
	}
}

func TestKnownPrefixes(t *testing.T) {
	t.Parallel()
	k := newKnownPrefixes()
	chain := make([]tokens.Digest, 3*maxPrefixes)
	for i := range chain {
		chain[i] = tokens.Digest{byte(i), byte(i >> 8), byte(i >> 16)}
	}
	var a, b checkpoint.Scope
	b[0] = 1
	if n := k.learn(a, chain[:5]); n != 0 {
		t.Errorf("%d are known", n)
	}
	if n := k.learn(a, chain[:7]); n != 5 {
		t.Errorf("%d of 7 are known", n)
	}
	if n := k.learn(b, chain[:7]); n != 0 {
		t.Errorf("another credential knows %d", n)
	}
	k.learn(a, chain)
	if n := k.learn(a, chain); n != len(chain) {
		t.Errorf("%d of %d are known", n, len(chain))
	}
}

// BenchmarkRecall is what a request of about 300 KB with 60 prompts takes: without a Recaller, with one that adds to each prompt, and
// with one that is asked at the last.
func BenchmarkRecall(b *testing.B) {
	provider, _ := bodies(b)
	k, path := prompted{dialect: wire.Messages, result: 2400}, talkIn(wire.Messages).path()
	body := k.body(60*perPrompt - 1)
	b.Logf("%d bytes", len(body))
	for _, name := range []string{"off", "keep", "on"} {
		b.Run(name, func(b *testing.B) {
			o := Options{Store: openStore(b, filepath.Join(b.TempDir(), "store")), Upstreams: []Upstream{{Name: "anthropic", URL: provider}}}
			memory := &remembering{says: func(Prompt, int) string { return strings.Repeat("recalled ", 400) }}
			switch name {
			case "on":
				o.Recaller = memory
			case "keep":
				o.Keeper, o.KeepTurns = memory, true
			}
			p, err := New(o)
			if err != nil {
				b.Fatal(err)
			}
			s, err := p.Listen(ListenOptions{})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Shutdown(context.Background()) }()
			for i := range 60 {
				postBody(b, s.URL(), path, k.body(i*perPrompt), nil)
			}
			for b.Loop() {
				if res := postBody(b, s.URL(), path, body, nil); res.StatusCode != http.StatusOK {
					b.Fatal(res.Status)
				}
			}
		})
	}
}

// TestALongPromptIsLookedAtAtBothEnds: a question behind what was pasted is asked for.
func TestALongPromptIsLookedAtAtBothEnds(t *testing.T) {
	t.Parallel()
	pasted, question := strings.Repeat("a line of a log that was pasted\n", 2000), "Which database do we use?"
	for _, prompt := range []string{pasted + question, question + "\n" + pasted, question} {
		if got := bothEnds(prompt); !strings.Contains(got, question) || len(got) > promptBytes {
			t.Errorf("of %d bytes %d are looked at, without the question", len(prompt), len(got))
		}
	}
}
