package gemini_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/gemini"
)

var question = &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}

// canned answers every request with the same body.
type canned struct {
	status int
	kind   string
	header http.Header
	body   func(*http.Request) io.ReadCloser
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	h := http.Header{"Content-Type": {c.kind}}
	maps.Copy(h, c.header)
	return &http.Response{StatusCode: c.status, Header: h, Body: c.body(r), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

func said(status int, kind, text string) canned {
	return canned{status, kind, nil, func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }}
}

func streamed(text string) canned { return said(200, "text/event-stream", text) }

// keeping keeps the body that was sent.
type keeping struct {
	canned
	sent *[]byte
}

func (k keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	*k.sent, _ = io.ReadAll(r.Body)
	return k.canned.RoundTrip(r)
}

func cannedModel(t testing.TB, c http.RoundTripper, name string) *gemini.Model {
	m, err := gemini.New(gemini.Options{BaseURL: "http://model.test", Key: "AIza-secret-key", Model: name, HTTPClient: &http.Client{Transport: c}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func event(v string, args ...any) string { return "data: " + fmt.Sprintf(v, args...) + "\r\n\r\n" }

var (
	oneWord = event(`{"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":45,"cachedContentTokenCount":30}}`)
	counted = `"usageMetadata":{"promptTokenCount":45,"cachedContentTokenCount":30,"candidatesTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":52}`
)

func stop(reason string) string {
	return event(`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":%q}],%s}`, reason, counted)
}

func TestStreams(t *testing.T) {
	t.Parallel()
	calls := `{"functionCall":{"id":"a","name":"f","args":{"x": 1}}},{"functionCall":{"id":"b","name":"g"}},{"functionCall":{"id":"c","name":"h","args":null}}`
	called := []agent.Call{{ID: "a", Name: "f", Arguments: `{"x": 1}`}, {ID: "b", Name: "g", Arguments: "{}"}, {ID: "c", Name: "h", Arguments: "{}"}}
	for name, c := range map[string]struct {
		body   string
		want   agent.Message
		stop   agent.Stop
		reason string
	}{
		"text":             {oneWord + ": a comment\r\n\r\n" + oneWord + stop("STOP"), agent.Message{Text: "xx"}, agent.StopEnd, ""},
		"reasons in each":  {stop("STOP") + oneWord + stop("STOP"), agent.Message{Text: "x"}, agent.StopEnd, ""},
		"calls":            {event(`{"candidates":[{"content":{"parts":[%s]}}]}`, calls) + stop("STOP"), agent.Message{Calls: called}, agent.StopCalls, ""},
		"thoughts":         {event(`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"y"},{"executableCode":{"code":"1"}},{"unknown":1}]}}]}`) + stop("STOP"), agent.Message{Text: "y"}, agent.StopEnd, ""},
		"length":           {oneWord + stop("MAX_TOKENS"), agent.Message{Text: "x"}, agent.StopLength, ""},
		"safety":           {oneWord + stop("SAFETY"), agent.Message{Text: "x"}, agent.StopRefused, "SAFETY"},
		"recitation":       {stop("RECITATION"), agent.Message{}, agent.StopRefused, "RECITATION"},
		"blocked question": {event(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},%s}`, counted), agent.Message{}, agent.StopRefused, "PROHIBITED_CONTENT"},
		"a new reason":     {oneWord + stop("WHATEVER_COMES"), agent.Message{Text: "x"}, agent.StopEnd, ""},
		"whole":            {`{"candidates":[{"content":{"parts":[{"text":"y"},` + calls + `]},"finishReason":"STOP"}],` + counted + `}`, agent.Message{Text: "y", Calls: called}, agent.StopCalls, ""},
		"an array":         {`[{"candidates":[{"content":{"parts":[{"text":"y"}]}}]},{"candidates":[{"finishReason":"STOP"}],` + counted + `}]`, agent.Message{Text: "y"}, agent.StopEnd, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			one, err := cannedModel(t, streamed(c.body), "m").Generate(t.Context(), question, func(s string) { text.WriteString(s) })
			if err != nil {
				t.Fatal(err)
			}
			c.want.Role = agent.RoleAssistant
			want := &agent.Reply{Message: c.want, Stop: c.stop, Reason: c.reason, Usage: agent.Usage{Input: 45, Cached: 30, Output: 7}}
			if diff := cmp.Diff(want, one); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text.String() != c.want.Text {
				t.Errorf("streamed %q", text.String())
			}
		})
	}
}

func TestLongAnswers(t *testing.T) {
	t.Parallel()
	word := event(`{"candidates":[{"content":{"parts":[{"text":%q}]}}]}`, strings.Repeat("y", 64<<10))
	long := func(words int) canned {
		return canned{200, "text/event-stream", nil, func(*http.Request) io.ReadCloser {
			var parts []io.Reader
			for range words {
				parts = append(parts, strings.NewReader(word))
			}
			return io.NopCloser(io.MultiReader(append(parts, strings.NewReader(stop("STOP")))...))
		}}
	}
	if one, err := cannedModel(t, long(256), "m").Generate(t.Context(), question, nothing); err != nil || len(one.Message.Text) != 16<<20 {
		t.Fatalf("%v", err)
	}
	_, err := cannedModel(t, long(257), "m").Generate(t.Context(), question, nothing)
	if e := failure(t, err); e.Failure != agent.Oversized || !strings.Contains(e.Text, "longer than") {
		t.Errorf("%+v", e)
	}
	many := event(`{"candidates":[{"content":{"parts":[%s{}]}}]}`, strings.Repeat(`{"functionCall":{"name":"f"}},`, 4097))
	_, err = cannedModel(t, streamed(many), "m").Generate(t.Context(), question, nothing)
	if e := failure(t, err); e.Failure != agent.Oversized {
		t.Errorf("%+v", e)
	}
}

// FuzzStream: whatever comes, an answer or an error that can be shown comes of it, and the
// answer can be sent back.
func FuzzStream(f *testing.F) {
	f.Add([]byte(oneWord + stop("STOP")))
	f.Add([]byte(event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x":[1e999]}},"thoughtSignature":"\ud800"}]},"finishReason":"STOP"}]}`)))
	f.Add([]byte(event(`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"YQ=="},{"text":"\u0000\ufffd"},{"text":"","thoughtSignature":"YQ=="}]},"finishReason":"STOP"}]}`)))
	f.Add([]byte(`[{"candidates":[{"content":{"parts":[{"functionCall":7}]}}]},{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}]`))
	f.Add([]byte(event(`{"error":{"code":503,"message":"\ud800","status":"UNAVAILABLE","details":[{"retryDelay":"1e9s"}]}}`)))
	f.Add([]byte("data: " + strings.Repeat("[", 300) + "\n\n"))
	f.Add([]byte("data: {\"candidates\":" + strings.Repeat("[{\"content\":", 300)))
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		one, err := cannedModel(t, streamed(string(body)), "gemini-3-pro").Generate(t.Context(), question, func(s string) { text.WriteString(s) })
		if err != nil {
			e := failure(t, err)
			if len(e.Text) > 300 || !utf8.ValidString(e.Text) || e.Failure == "" || e.After < 0 {
				t.Errorf("%+v", e)
			}
			return
		}
		if text.String() != one.Message.Text || one.Stop == "" {
			t.Errorf("streamed %q, answered %+v", text.String(), one)
		}
		r := &agent.Request{Messages: []agent.Message{question.Messages[0], one.Message}}
		for _, c := range one.Message.Calls {
			if c.ID == "" || c.Arguments == "" {
				t.Errorf("call %+v", c)
			}
			r.Messages = append(r.Messages, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "b"})
		}
		if _, err := cannedModel(t, streamed(oneWord+stop("STOP")), "gemini-3-pro").Generate(t.Context(), r, nothing); err != nil {
			t.Errorf("the answer can't be sent back: %v", err)
		}
	})
}
