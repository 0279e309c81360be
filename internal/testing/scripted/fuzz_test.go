package scripted

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Whatever a client sends, it gets an HTTP answer.
func FuzzProvider(f *testing.F) {
	for _, d := range dialects {
		path, body := ask(d, true, task, `{"type":"function_call_output"}`)
		f.Add(path, body, byte(0))
		f.Add(path, strings.ReplaceAll(body, `"object"`, `["x"]`), byte(1))
	}
	f.Add("/v1/messages/count_tokens", `{"messages":[[[[{}]]]]}`, byte(2))
	f.Add("/v1/models/x", "", byte(3))
	f.Fuzz(func(t *testing.T, path, body string, choice byte) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " \r\n\x00%#") {
			return
		}
		r, err := newRequest(path, body)
		if err != nil {
			return
		}
		form := Forms()[int(choice)%len(Forms())]
		p := New(Options{Window: 500, Form: form, Lenient: choice%2 == 0, CheckSignatures: true, Script: Replies(Reply{Thinking: "t", Text: "x", Calls: []Call{{Shell: "ls"}, {Read: "f"}}})})
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if len(p.Requests()) != 1 {
			t.Errorf("%d requests are recorded, want 1", len(p.Requests()))
		}
		if w.Code < 200 || w.Code > 599 {
			t.Errorf("status %d", w.Code)
		}
	})
}
