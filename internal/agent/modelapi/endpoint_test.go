package modelapi_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/testing/streams"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
)

func begin(t testing.TB, o modelapi.Options) *modelapi.Exchange {
	t.Helper()
	if o.URL == "" {
		o.URL = "http://model.test/v1"
	}
	o.Info.Name = "m"
	e, err := modelapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	x := e.Begin(t.Context())
	t.Cleanup(x.Close)
	return x
}

func post(t testing.TB, x *modelapi.Exchange, url string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(x.Context(), http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return x.Do(req)
}

func response(kind string, body io.Reader) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body)}
}

// events reads a stream in pieces of one byte.
func events(t testing.TB, body string) ([]modelapi.Event, bool, error) {
	t.Helper()
	x := begin(t, modelapi.Options{})
	a, err := x.Answer(response("text/event-stream", iotest.OneByteReader(strings.NewReader(body))))
	if err != nil {
		return nil, false, err
	}
	if a.Whole {
		_, err := a.Bytes()
		return nil, x.Ended(), err
	}
	var list []modelapi.Event
	for e, err := range a.Events() {
		if err != nil {
			return list, x.Ended(), err
		}
		list = append(list, modelapi.Event{Type: e.Type, Data: append([]byte{}, e.Data...)})
	}
	return list, x.Ended(), nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		body  string
		want  []string
		ended bool
	}{
		"plain":           {"data: a\n\ndata: b\n\n", []string{"|a", "|b"}, false},
		"done":            {"data: a\n\ndata: [DONE]\n\ndata: never\n\n", []string{"|a"}, true},
		"done at the end": {"data: a\n\ndata:[DONE]", []string{"|a"}, true},
		"names":           {"event: error\nid: 3\nretry: 5\ndata: a\n\nevent: lost\n\ndata: b\n\n", []string{"error|a", "|b"}, false},
		"lines":           {"data: a\ndata:  b\ndata\n\n", []string{"|a\n b"}, false},
		"windows":         {"data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}, false},
		"comments":        {": " + long + "\ndata: a\n:\n: x\n\n" + ":" + long, []string{"|a"}, false},
		"long":            {"data: " + long + "\n\n", []string{"|" + long}, false},
		"no end":          {"\n\ndata: a", []string{"|a"}, false},
		"empty":           {"data:\n\ndata: \n\ndata: a\n\n", []string{"|a"}, false},
	} {
		list, ended, err := events(t, c.body)
		if err != nil || ended != c.ended {
			t.Errorf("%s: ended %v, %v", name, ended, err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.Type+"|"+string(e.Data))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("data: a\n\nevent: x\r\ndata: [DONE]\n\n")
	f.Add(": c\ndata: " + strings.Repeat("x", 200))
	f.Add("\xef\xbb\xbf{\"a\":1}")
	f.Add("<html>")
	f.Fuzz(func(t *testing.T, body string) {
		list, _, err := events(t, body)
		if e, ok := errors.AsType[*agent.ModelError](err); err != nil && (!ok || len(e.Text) > 300 || !utf8.ValidString(e.Text)) {
			t.Errorf("%v", err)
		}
		for _, e := range list {
			if len(e.Data) == 0 || len(e.Data) > len(body) || len(e.Type) > 64 {
				t.Errorf("event %+v", e)
			}
		}
	})
}

// FuzzRefusal: whatever a provider says, it can be shown and holds no secret.
func FuzzRefusal(f *testing.F) {
	f.Add(400, "application/json", `{"error":{"message":"x sk-secret-secret","code":7}}`, "3")
	f.Add(503, "text/html", "<title>\xff</title>", "Fri, 31 Dec 2100 23:59:59 GMT")
	f.Add(302, "", strings.Repeat("[", 300), "-1")
	f.Add(409, "application/json", "{\"message\":\"\u0000 \"}", "")
	f.Add(429, "text/plain", "sk-secret-secresk-secret-secrett", "1e300")
	f.Fuzz(func(t *testing.T, status int, kind, body, after string) {
		if status < 300 || status > 999 {
			return
		}
		x := begin(t, modelapi.Options{Secrets: []string{"sk-secret-secret"}, Client: &http.Client{Transport: says(func(*http.Request) (*http.Response, error) {
			h := http.Header{"Content-Type": {kind}, "Retry-After": {after}, "Location": {body}}
			return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
		})}})
		_, err := post(t, x, "http://model.test/v1/x")
		e, ok := errors.AsType[*agent.ModelError](err)
		if !ok {
			t.Fatalf("%v", err)
		}
		if e.Text == "" || len(e.Text) > 300 || !utf8.ValidString(e.Text) || strings.Contains(e.Text, "sk-secret-secret") || strings.Contains(e.Text, "\n") {
			t.Errorf("the text %q", e.Text)
		}
		if e.After < 0 || e.After > 24*time.Hour || e.Failure == "" {
			t.Errorf("%+v", e)
		}
	})
}

type says func(*http.Request) (*http.Response, error)

func (s says) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// TestConnections: an answer that was read to its end leaves its connection for the next one.
func TestConnections(t *testing.T) {
	t.Parallel()
	var made atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: a\n\ndata: [DONE]\n\n")
		http.NewResponseController(w).Flush()
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	e, err := modelapi.New(modelapi.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		x := e.Begin(t.Context())
		res, err := post(t, x, server.URL)
		if err != nil {
			t.Fatal(err)
		}
		a, err := x.Answer(res)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range a.Events() {
			if err != nil {
				t.Fatal(err)
			}
		}
		x.Close()
	}
	// A machine under load may miss the end within drainTime once; never five times.
	if n := made.Load(); n > 4 {
		t.Errorf("%d connections for 5 requests", n)
	}
}

// TestNoAnswer: a server that takes the request and says nothing is given up.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		x := begin(t, modelapi.Options{Patience: 7 * time.Minute, Client: &http.Client{Transport: says(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}})
		_, err := post(t, x, "http://model.test")
		e, ok := errors.AsType[*agent.ModelError](err)
		if !ok || e.Failure != agent.Unreachable || time.Since(begun) != 7*time.Minute || !strings.Contains(e.Text, "7m0s") {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

// TestEndless: what has no end is given up at MaxStream, whatever it is made of.
func TestEndless(t *testing.T) {
	t.Parallel()
	x := begin(t, modelapi.Options{Client: &http.Client{Transport: says(func(*http.Request) (*http.Response, error) {
		return response("text/event-stream", streams.Repeat(": "+strings.Repeat(".", 1<<20)+"\n", math.MaxInt64)), nil
	})}})
	res, err := post(t, x, "http://model.test")
	if err != nil {
		t.Fatal(err)
	}
	a, err := x.Answer(res)
	if err != nil {
		t.Fatal(err)
	}
	for _, err = range a.Events() {
	}
	if e, ok := errors.AsType[*agent.ModelError](err); !ok || e.Failure != agent.Oversized || !strings.Contains(e.Text, modelapi.MaxStream.Human()) {
		t.Errorf("%v", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	var n modelapi.Names
	seen := map[string]string{}
	for _, name := range []string{"plain-Name_1", "a.b", "a/b", "a b", "", "ä", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66), "\xff\xfe"} {
		sent := n.Out(name)
		if sent == "" || len(sent) > 64 || strings.Trim(sent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q is sent as %q", name, sent)
		}
		if other, ok := seen[sent]; ok {
			t.Errorf("%q and %q are both %q", name, other, sent)
		}
		seen[sent] = name
		if n.Back(sent) != name || n.Out(name) != sent {
			t.Errorf("%q is sent as %q, which is %q", name, sent, n.Back(sent))
		}
	}
	if n.Out("plain-Name_1") != "plain-Name_1" || n.Back("other") != "other" {
		t.Error("a good name was changed")
	}
	if a, b := modelapi.NewID(), modelapi.NewID(); a == b || modelapi.ID(a, 64) != a {
		t.Errorf("ids %q and %q", a, b)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                       `{"type":"object","properties":{}}`,
		"null":                   `{"type":"object","properties":{}}`,
		"[1]":                    `{"type":"object","properties":{}}`,
		`{"type":"object"}`:      `{"type":"object","properties":{}}`,
		`{"a":1,"type":"array"}`: `{"type":"object","properties":{},"a":1}`,
		`{"z":{"b":1},"properties":{"y":{},"x":{"anyOf":[]}},"oneOf":[{}],"a":2}`: `{"type":"object","properties":{"y":{},"x":{"anyOf":[]}},"z":{"b":1},"a":2}`,
		`{"properties":{"y":{}}, "type":"object"}`:                                `{"properties":{"y":{}}, "type":"object"}`,
	} {
		if got := string(modelapi.Schema(agent.ToolSpec{Schema: json.RawMessage(given)})); got != want {
			t.Errorf("%s became %s, not %s", given, got, want)
		}
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(`{"a":1}`)
	f.Add(" null ")
	f.Add("{\"a\":\xff}")
	f.Add(strings.Repeat("é", 600))
	f.Fuzz(func(t *testing.T, written string) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(modelapi.Object(written), &object); err != nil || object == nil {
			t.Errorf("%q became %s: %v", written, modelapi.Object(written), err)
		}
		if got := modelapi.Schema(agent.ToolSpec{Schema: json.RawMessage(written)}); json.Unmarshal(got, &object) != nil || object["properties"] == nil {
			t.Errorf("the schema %q became %s", written, got)
		}
	})
}
