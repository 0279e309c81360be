package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/journal"
)

// draining is a provider that reads what it is sent and answers at once, without a network.
type draining struct{}

func (draining) RoundTrip(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"id":"1","object":"chat.completion","choices":[]}`)),
	}, err
}

// benchTalk is a Chat history of about size bytes: prose, code and JSON as an agent's tools return them. Two seeds share no message.
func benchTalk(size, seed int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"model":"gpt-4o","max_tokens":1000,"messages":[{"role":"system","content":"You are an agent that works on a repository."}`)
	lines := []string{
		"The report says that %d requests were lost while the connection was being closed by the other side.\n",
		"\t\treturn fmt.Errorf(\"flush batch %d: %%w\", err)\n",
		"{\"time\": \"2026-03-04T05:06:07Z\", \"level\": \"info\", \"msg\": \"request done\", \"duration_ms\": %d, \"path\": \"/v1/items\"}\n",
	}
	for i := 0; out.Len() < size; i++ {
		var b strings.Builder
		for n := 0; b.Len() < 2500; n++ {
			fmt.Fprintf(&b, lines[i%3], seed*7919+i*31+n)
		}
		text, _ := json.Marshal(b.String())
		fmt.Fprintf(&out, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d_%d","type":"function","function":{"name":"read","arguments":"{\"path\":\"src/%d.go\"}"}}]}`, seed, i, i)
		fmt.Fprintf(&out, `,{"role":"tool","tool_call_id":"call_%d_%d","content":%s}`, seed, i, text)
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

// What the proxy itself does with 300 KB, without the network: known but for the last message, and never seen.
func BenchmarkHandler(b *testing.B) {
	dir := b.TempDir()
	j := journal.New(journal.Options{})
	store, err := checkpoint.Open(checkpoint.Options{Dir: dir, Journal: j})
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(Options{Upstreams: []Upstream{{Name: "openai", URL: "http://127.0.0.1:9/v1"}}, Journal: j, Store: store, Transport: draining{}, Hosts: []string{"localhost"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	base := benchTalk(300_000, 1)
	open := base[:len(base)-2]
	next := 0
	ask := func(b *testing.B, body func() []byte) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			text := body()
			b.StartTimer()
			r := httptest.NewRequest(http.MethodPost, "http://localhost/openai/chat/completions", bytes.NewReader(text))
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			if w.Code != http.StatusOK {
				b.Fatal(w.Code, w.Body)
			}
		}
	}
	b.Run("known", func(b *testing.B) {
		ask(b, func() []byte {
			next++
			return fmt.Appendf(append([]byte(nil), open...), `,{"role":"user","content":"and now step %d of the plan, please"}]}`, next)
		})
	})
	b.Run("new", func(b *testing.B) {
		ask(b, func() []byte { next++; return benchTalk(300_000, next+1000) })
	})
}
