package client_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/client"
	"github.com/plimsoll/plimsoll/window/wire"
)

// recordedRequest is one of testdata/sessions.
type recordedRequest struct {
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"`
}

func session(t testing.TB, name string) (list []recordedRequest) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "sessions", name+".json"))
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	return list
}

func headerOf(r recordedRequest) http.Header {
	h := http.Header{}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return h
}

func dialectOf(name string) wire.Dialect {
	switch name {
	case "claude":
		return wire.Messages
	case "gemini":
		return wire.Gemini
	}
	return wire.Responses
}

// TestTyped: of recorded sessions at a terminal exactly what was typed there counts as a person's, where the client's form tells
// it from what else has the role of a user; and nothing where it does not.
func TestTyped(t *testing.T) {
	for name, proves := range map[string]bool{"claude": true, "codex": true, "gemini": false, "opencode": false} {
		t.Run(name, func(t *testing.T) {
			typed, others, turns := map[string]bool{}, 0, 0
			for n, rec := range session(t, name) {
				r, err := wire.Parse(dialectOf(name), rec.Body)
				if err != nil {
					t.Fatal(err)
				}
				s := client.SpeakerOf(headerOf(rec), r)
				if s.Client != name {
					t.Errorf("request %d: the client is %q", n, s.Client)
				}
				if !s.Side {
					turns++
				}
				for i := range r.Messages {
					got := s.Typed(r, i)
					for j := range r.Messages[i].Parts {
						p := &r.Messages[i].Parts[j]
						if p.Kind != wire.Text || r.Messages[i].Role != wire.RoleUser {
							if slices.Contains(got, j) {
								t.Errorf("request %d: part %d of message %d is no text of a user", n, j, i)
							}
							continue
						}
						words := strings.TrimSpace(r.Words(p))
						is, want := slices.Contains(got, j), strings.HasPrefix(words, "TYPED-")
						switch {
						case is && !want:
							t.Errorf("request %d: nobody typed %.80q", n, words)
						case is:
							typed[words] = true
						case want && s.Person && !slices.ContainsFunc(r.Messages[i].Parts, func(p wire.Part) bool { return strings.HasPrefix(r.Words(&p), "CRITICAL: ") }):
							t.Errorf("request %d: %.80q was typed", n, words)
						case !want:
							others++
						}
					}
				}
			}
			if want := map[bool]int{true: 3, false: 0}[proves]; len(typed) < want || !proves && len(typed) > 0 || others == 0 || turns == 0 {
				t.Errorf("%d typed, %d others, %d turns", len(typed), others, turns)
			}
			t.Logf("%d turns, %d texts that were typed, %d others with the role of a user", turns, len(typed), others)
		})
	}
}

// TestNobodyTypes: what scripts, sub-agents and unknown clients send proves nothing.
func TestNobodyTypes(t *testing.T) {
	const messages = `{"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=2; %"}],"messages":[{"role":"user","content":"TYPED-ONE"}],"tools":[{"name":"Bash"}]}`
	claude := func(field string) string { return strings.Replace(messages, "%", field, 1) }
	const responses = `{"input":[{"role":"user","content":[{"type":"input_text","text":"TYPED-ONE"}]}]}`
	turn := func(source, kind, by, agent string) string {
		return `{"agent_name":"` + agent + `","request_kind":"` + kind + `","thread_source":"` + source + `","turn_trigger":"` + by + `"}`
	}
	for name, c := range map[string]struct {
		d      wire.Dialect
		body   string
		header map[string]string
		want   bool
	}{
		"claude at a terminal":       {wire.Messages, claude("cc_entrypoint=cli;"), map[string]string{"User-Agent": "claude-cli/2.1.197 (external, cli)"}, true},
		"claude -p":                  {wire.Messages, claude("cc_entrypoint=sdk-cli;"), map[string]string{"User-Agent": "claude-cli/2.1.197 (external, sdk-cli)"}, false},
		"claude, only the header":    {wire.Messages, claude("cc_entrypoint=sdk-cli;"), map[string]string{"User-Agent": "claude-cli/2.1.197 (external, cli)"}, false},
		"claude, only the body":      {wire.Messages, claude("cc_entrypoint=cli;"), map[string]string{"User-Agent": "claude-cli/2.1.197 (external, sdk-ts)"}, false},
		"a sub-agent of claude":      {wire.Messages, claude("cc_entrypoint=cli; cc_is_subagent=true;"), map[string]string{"User-Agent": "claude-cli/2.1.197 (external, cli)"}, false},
		"claude without a system":    {wire.Messages, `{"messages":[{"role":"user","content":"TYPED-ONE"}],"tools":[{"name":"Bash"}]}`, map[string]string{"User-Agent": "claude-cli/2.1.197 (external, cli)"}, false},
		"claude without tools":       {wire.Messages, strings.Replace(claude("cc_entrypoint=cli;"), `,"tools":[{"name":"Bash"}]`, "", 1), map[string]string{"User-Agent": "claude-cli/2.1.197 (external, cli)"}, false},
		"codex at a terminal":        {wire.Responses, responses, map[string]string{"User-Agent": "codex-tui/0.169.0", "Originator": "codex-tui", "X-Codex-Turn-Metadata": turn("user", "turn", "user", "/root")}, true},
		"codex exec":                 {wire.Responses, responses, map[string]string{"User-Agent": "codex_exec/0.169.0", "Originator": "codex_exec", "X-Codex-Turn-Metadata": turn("user", "turn", "exec", "/root")}, false},
		"codex, a title":             {wire.Responses, responses, map[string]string{"User-Agent": "codex-tui/0.169.0", "Originator": "codex-tui", "X-Codex-Turn-Metadata": turn("thread_title", "turn", "", "/root")}, false},
		"codex, a compaction":        {wire.Responses, responses, map[string]string{"User-Agent": "codex-tui/0.169.0", "Originator": "codex-tui", "X-Codex-Turn-Metadata": turn("user", "compaction", "user", "/root")}, false},
		"a sub-agent of codex":       {wire.Responses, responses, map[string]string{"User-Agent": "codex-tui/0.169.0", "Originator": "codex-tui", "X-Codex-Turn-Metadata": turn("user", "turn", "user", "/root/helper")}, false},
		"codex without its metadata": {wire.Responses, responses, map[string]string{"User-Agent": "codex-tui/0.169.0", "Originator": "codex-tui"}, false},
		"codex, broken metadata":     {wire.Responses, responses, map[string]string{"User-Agent": "codex-tui/0.169.0", "Originator": "codex-tui", "X-Codex-Turn-Metadata": `{"thread_source":"user"`}, false},
		"curl":                       {wire.Messages, claude("cc_entrypoint=cli;"), map[string]string{"User-Agent": "curl/8"}, false},
	} {
		r, err := wire.Parse(c.d, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		for k, v := range c.header {
			h.Set(k, v)
		}
		s := client.SpeakerOf(h, r)
		if got := len(s.Typed(r, 0)) == 1; got != c.want || s.Person != c.want {
			t.Errorf("%s: typed %v, %+v", name, got, s)
		}
	}
}

func FuzzTyped(f *testing.F) {
	for _, name := range []string{"claude", "codex", "gemini"} {
		for _, rec := range session(f, name) {
			f.Add(name, []byte(rec.Body), rec.Headers["X-Codex-Turn-Metadata"])
		}
	}
	f.Fuzz(func(t *testing.T, name string, body []byte, turn string) {
		r, err := wire.Parse(dialectOf(name), body)
		if err != nil {
			return
		}
		agent := map[string]string{"claude": "claude-cli/2.1.197 (external, cli)", "codex": "codex-tui/0.169.0", "gemini": "GeminiCLI/0"}[name]
		s := client.SpeakerOf(http.Header{"User-Agent": {agent}, "Originator": {"codex-tui"}, "X-Codex-Turn-Metadata": {turn}}, r)
		for i := range r.Messages {
			for _, j := range s.Typed(r, i) {
				if p := r.Messages[i].Parts[j]; r.Messages[i].Role != wire.RoleUser || p.Kind != wire.Text || !s.Person {
					t.Fatalf("part %d of message %d", j, i)
				}
			}
		}
	})
}
