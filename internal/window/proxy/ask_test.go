package proxy

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
)

// Where the provider takes old results out by itself and nothing is known of the conversation, as after a restart, it is asked what is
// left before anything is cut; once it has reported that, it is asked no more.
func TestProviderThatClearsIsAsked(t *testing.T) {
	t.Parallel()
	const window, left = 100_000, 30_000
	var counted, served []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, "/count_tokens") {
			counted = append(counted, string(body))
			n := 4 * window
			if !rawjson.Get(body, "context_management", "edits").IsZero() {
				n = left
			}
			fmt.Fprintf(w, `{"input_tokens":%d,"context_management":{"original_input_tokens":%d}}`, n, 4*window)
			return
		}
		served = append(served, string(body))
		fmt.Fprintf(w, `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":%d,"output_tokens":1}}`, left)
	}))
	defer upstream.Close()
	_, root, j := start(t, upstream.URL, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	ask := func(management, first string, turns int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"model":"claude-opus-4-8","max_tokens":900,%s"messages":[{"role":"user","content":%q}`, management, first)
		for i := range turns {
			fmt.Fprintf(&b, `,{"role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"f","input":{}}]}`, i)
			fmt.Fprintf(&b, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, i, strings.Repeat(fmt.Sprintf("alpha %d beta ", i), 150))
		}
		b.WriteString(`]}`)
		res, err := http.Post(root+"/anthropic/v1/messages", "application/json", strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusOK {
			t.Fatalf("%s %s", res.Status, text)
		}
		return b.String()
	}
	const clear = `"context_management":{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":30000}}]},`
	for turns := 250; turns < 253; turns++ {
		if want := ask(clear, "t", turns); served[len(served)-1] != want {
			t.Errorf("with %d turns it was cut to %d bytes of %d, and the provider counts %d tokens", turns, len(served[len(served)-1]), len(want), left)
		}
	}
	if len(counted) != 1 {
		t.Errorf("the provider was asked %d times, want once", len(counted))
	}
	if how := events[journal.WindowRequest](j)[0].Counted; how != "provider" {
		t.Errorf("the first request is counted by %q", how)
	}
	if want := ask("", "another one", 251); served[len(served)-1] == want {
		t.Error("a provider that clears nothing was sent more than its window")
	}
}
