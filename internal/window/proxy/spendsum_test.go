package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

// usageSums adds up the usage of answers.
type usageSums struct{ in, out, read, answers atomic.Int64 }

func (s *usageSums) Observe(r journal.Record) {
	if e, ok := r.Event.(journal.WindowResponse); ok && e.Status == http.StatusOK {
		s.in.Add(max(e.TokensIn, e.GuessIn))
		s.out.Add(max(e.TokensOut, e.GuessOut))
		s.read.Add(e.CacheRead)
		s.answers.Add(1)
	}
}

// Over ten thousand requests of every dialect, streamed and not, what is told and what is settled agree with the provider's own count to the
// token.
func TestSumsAgreeWithTheProvider(t *testing.T) {
	t.Parallel()
	requests := night.Else(10_000, 1600)
	if testing.Short() {
		requests = 400
	}
	p := scripted.New(scripted.Options{RecordBytes: 1, Script: func(turn int, r *scripted.Request) scripted.Reply {
		return scripted.Reply{Text: strings.Repeat("word ", 1+r.N%40)}
	}, Conversation: func(r *scripted.Request) string { return fmt.Sprint(r.N) }})
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	m := spend.New(spend.Options{Limits: spend.Limits{Tokens: 1 << 40}})
	var sums usageSums
	j := journal.New(journal.Options{Observers: []journal.Observer{&sums}})
	proxy, err := New(Options{Spend: m, Journal: j, Upstreams: []Upstream{
		{Name: "openai", URL: server.URL + "/v1"}, {Name: "anthropic", URL: server.URL}, {Name: "gemini", URL: server.URL},
	}})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	const tools = `[{"type":"function","function":{"name":"sh","parameters":{"type":"object","properties":{"command":{"type":"string"}}}}}]`
	kinds := []struct{ path, body string }{
		{"/openai/v1/chat/completions", `{"model":"gpt-5.1","messages":[{"role":"user","content":%q}],"tools":` + tools + `}`},
		{"/openai/v1/chat/completions", `{"model":"gpt-5.1","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":%q}],"tools":` + tools + `}`},
		{"/openai/v1/responses", `{"model":"gpt-5.1","input":[{"role":"user","content":%q}],"tools":[{"type":"function","name":"sh","parameters":{"type":"object"}}]}`},
		{"/openai/v1/responses", `{"model":"gpt-5.1","stream":true,"input":[{"role":"user","content":%q}],"tools":[{"type":"function","name":"sh","parameters":{"type":"object"}}]}`},
		{"/anthropic/v1/messages", `{"model":"claude-sonnet-5","max_tokens":900,"messages":[{"role":"user","content":%q}],"tools":[{"name":"sh","input_schema":{"type":"object"}}]}`},
		{"/anthropic/v1/messages", `{"model":"claude-sonnet-5","max_tokens":900,"stream":true,"messages":[{"role":"user","content":%q}],"tools":[{"name":"sh","input_schema":{"type":"object"}}]}`},
		{"/gemini/v1beta/models/gemini-3-pro:generateContent", `{"contents":[{"role":"user","parts":[{"text":%q}]}],"tools":[{"functionDeclarations":[{"name":"sh"}]}]}`},
		{"/gemini/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", `{"contents":[{"role":"user","parts":[{"text":%q}]}],"tools":[{"functionDeclarations":[{"name":"sh"}]}]}`},
	}
	var all sync.WaitGroup
	next := atomic.Int64{}
	for range 8 {
		all.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= requests {
					return
				}
				k := kinds[n%len(kinds)]
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+k.path, strings.NewReader(fmt.Sprintf(k.body, strings.Repeat("say something ", 1+n%17))))
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Content-Type", "application/json")
				res, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("%s: %d %s, %v", k.path, res.StatusCode, text, err)
					return
				}
			}
		})
	}
	all.Wait()
	wait.Until(t, "every answer is told", func() bool { return sums.answers.Load() == int64(requests) })
	want := p.Stats()
	if sums.in.Load() != int64(want.Input) || sums.out.Load() != int64(want.Output) || sums.read.Load() != int64(want.CacheRead) {
		t.Errorf("told %d in, %d out, %d from the cache; the provider has %d, %d and %d", sums.in.Load(), sums.out.Load(), sums.read.Load(), want.Input, want.Output, want.CacheRead)
	}
	if used := m.Settled().Tokens; used != int64(want.Input+want.Output) {
		t.Errorf("settled %d, the provider has %d", used, want.Input+want.Output)
	}
}
