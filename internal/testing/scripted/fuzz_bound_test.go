package scripted

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever comes back in the place of signed blocks, the answer is an HTTP one, the counts agree,
// and nothing that was not signed for this conversation is accepted.
func FuzzBound(f *testing.F) {
	b := &binding{rule: RuleOf("claude-fable-5-1"), states: []digest{{}}}
	good, block := b.seal("thinking", "t"), b.compaction("s")
	f.Add(`[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"`+good+`"},{"type":"text","text":"a"}]},{"role":"user","content":"y"}]`, `[]`, true)
	f.Add(`[{"role":"assistant","content":[{"type":"compaction","content":"s","signature":"`+block+`"}]},{"role":"user","content":"y"}]`, `[{"name":"a"}]`, false)
	f.Add(`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"UklGRi4uLi5XRUJQVlA4WAAAAAAAAAAAAAAAAAAA"}}]}]`, `{`, true)
	f.Add(`[{"role":"assistant","content":[{"type":"redacted_thinking","data":7},{"type":"thinking"}]}]`, `[[[[]]]]`, true)
	f.Add(`[{"type":"reasoning","encrypted_content":"`+good+`","summary":[]},{"type":"compaction","encrypted_content":"`+block+`"},{"role":"user","content":"x"}]`, `[{"type":"function","name":"a","defer_loading":1e999}]`, false)
	f.Add(strings.Repeat(`[`, 2000), `null`, true)
	f.Add("[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]", `[]`, true)
	f.Fuzz(func(t *testing.T, list, tools string, drop bool) {
		p := New(Options{Reasoning: RuleOf, Strict: drop, Lenient: true, Script: Replies(Reply{Thinking: "t", Redacted: 1, Text: "x"})})
		for _, path := range []string{"/v1/messages", "/v1/messages/count_tokens", "/v1/responses", "/v1/responses/compact"} {
			body := `{"model":"claude-fable-5-1","max_tokens":9,"tools":` + tools + `,"messages":` + list + `,"input":` + list + `}`
			r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
			r.Header.Set("Anthropic-Beta", BetaCompact)
			if drop {
				r.Header.Add("Anthropic-Beta", BetaBinding)
			}
			w := httptest.NewRecorder()
			p.ServeHTTP(w, r)
			if w.Code != 200 && w.Code != 400 || !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		for _, k := range p.Requests() {
			if k.Request == nil || k.Status != 200 {
				continue
			}
			if r := k.Request.Reasoning; r.Accepted+r.Dropped != r.Sent {
				t.Errorf("%s: %+v", k.Path, r)
			}
			if k.Request.Written < 0 || k.Request.Cached < 0 || k.Request.Cached > k.Request.Input {
				t.Errorf("%s: %d read and %d written of %d", k.Path, k.Request.Cached, k.Request.Written, k.Request.Input)
			}
		}
	})
}

// A token is read as it was written, and no other text is one.
func FuzzToken(f *testing.F) {
	f.Add(token{Kind: "thinking", Family: "5.1", Prefix: digestOf([]byte("x"))}.seal(), byte(3))
	f.Add("AAAA", byte(0))
	f.Add(strings.Repeat("A", 100), byte(1))
	f.Fuzz(func(t *testing.T, sealed string, place byte) {
		read, ok := unseal(sealed, "thinking", "redacted", "reasoning", "compaction")
		if !ok {
			return
		}
		changed := []byte(sealed)
		i := int(place) % len(changed)
		changed[i] ^= 1
		if other, ok := unseal(string(changed), read.Kind); ok && other.id != read.id {
			t.Errorf("%q and %q are both tokens", sealed, changed)
		}
	})
}
