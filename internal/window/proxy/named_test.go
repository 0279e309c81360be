package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Gateways that name one number for every request, or that of another request, are believed in the limit only.
func TestRefusalWithMoreTokensThanBytesIsRecoveredFrom(t *testing.T) {
	t.Parallel()
	const openai = `{"error":{"message":"This model's maximum context length is 9000 tokens. However, your messages resulted in 250000000 tokens.",` +
		`"code":"context_length_exceeded"}}`
	for d, says := range map[wire.Dialect]string{
		wire.Messages:  `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000000 tokens > 9000 maximum"}}`,
		wire.Converse:  `{"message":"prompt is too long: 250000000 tokens > 9000 maximum"}`,
		wire.Chat:      openai,
		wire.Responses: openai,
		wire.Gemini:    `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (250000000) exceeds the maximum number of tokens allowed (9000)."}}`,
	} {
		for _, stream := range []bool{true, false} {
			provider := scripted.New(scripted.Options{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ContentLength > 36000 {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusBadRequest)
					_, _ = io.WriteString(w, says)
					return
				}
				provider.ServeHTTP(w, r)
			}))
			t.Cleanup(upstream.Close)
			_, root, _ := start(t, upstream.URL, Options{Store: memoryStore(t)})
			k := talkIn(d)
			k.stream = stream
			if res, text := k.ask(t, root, 40); res.StatusCode != http.StatusOK {
				t.Errorf("%v, streamed %v: %s %.200s", d, stream, res.Status, text)
			}
		}
	}
}

// A call that only the provider has, because it keeps the conversation, and that the client went past: the refusal names it.
func TestCallThatTheProviderKeepsIsAnswered(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		open := []string{"call_1", "call_2"}
		upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			w.Header().Set("Content-Type", "application/json")
			for _, id := range open {
				if !bytes.Contains(body, []byte(`{"type":"function_call_output","call_id":"`+id+`"`)) {
					w.WriteHeader(http.StatusBadRequest)
					_, _ = fmt.Fprintf(w, `{"error":{"message":"No tool output found for function call %s.","type":"invalid_request_error","param":"input","code":null}}`, id)
					return
				}
			}
			_, _ = io.WriteString(w, `{"id":"r2","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"fine"}]}]}`)
		}))
		t.Cleanup(upstream.Close)
		_, root, _ := start(t, upstream.URL, Options{Store: memoryStore(t)})
		for _, input := range []string{`"never mind"`, `[{"role":"user","content":"never mind"}]`, `[{"type":"function_call_output","call_id":"call_2","output":"x"},{"role":"user","content":"go on"}]`} {
			res, text := post(t, root+"/openai/v1/responses", fmt.Sprintf(`{"model":"gpt-5.1","previous_response_id":"r1","stream":%v,"input":%s}`, stream, input))
			if res.StatusCode != http.StatusOK || !strings.Contains(res.Header.Get(ActionsHeader), "repaired:1") || !strings.Contains(text, "fine") {
				t.Errorf("streamed %v, %s: %s, done %q: %.200s", stream, input, res.Status, res.Header.Get(ActionsHeader), text)
			}
		}
	}
}
