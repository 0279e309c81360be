package openai_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

var question = &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: "a"}}}

func TestRefusals(t *testing.T) {
	t.Parallel()
	const js = "application/json"
	for name, c := range map[string]struct {
		status        int
		kind, body    string
		header        [2]string
		want          agent.Failure
		text          string
		limit, actual int
		after         time.Duration
	}{
		"key":           {status: 401, kind: js, body: `{"error":{"message":"Incorrect API key provided: sk-test-secret-key.","code":"invalid_api_key"}}`, want: agent.Key, text: "[hidden]"},
		"forbidden":     {status: 403, kind: js, body: `{"error":"no"}`, want: agent.Key, text: "no"},
		"gemini key":    {status: 400, kind: js, body: `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, want: agent.Key, text: "API key"},
		"project":       {status: 403, kind: js, body: `{"error":{"message":"Project has no access","code":"model_not_found"}}`, want: agent.NoModel},
		"model":         {status: 404, kind: js, body: `{"error":{"message":"model \"x\" not found, try pulling it first"}}`, want: agent.NoModel, text: "pulling"},
		"model 400":     {status: 400, kind: js, body: `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, want: agent.NoModel},
		"path":          {status: 404, kind: js, body: `{"detail":"Not Found"}`, want: agent.NotAnAPI, text: "Not Found"},
		"path, plain":   {status: 404, kind: "text/plain", body: "404 page not found\n", want: agent.NotAnAPI, text: "404 page not found"},
		"method":        {status: 405, kind: js, body: `{}`, want: agent.NotAnAPI},
		"page":          {status: 404, kind: "text/html", body: "<html><head><title>Nothing\nhere</title>", want: agent.NotAnAPI, text: `a web page, "Nothing here"`},
		"page, 200":     {status: 200, kind: "text/html", body: "<!doctype html><title>Log in</title>", want: agent.NotAnAPI, text: "Log in"},
		"page, no kind": {status: 200, kind: "", body: "\n <html>", want: agent.NotAnAPI, text: "web page"},
		"plain, 200":    {status: 200, kind: "text/plain", body: "hello", want: agent.NotAnAPI, text: "text/plain"},
		"page, 502":     {status: 502, kind: "text/html", body: "<title>Bad gateway</title>", want: agent.Busy, text: "Bad gateway"},
		"redirect":      {status: 302, header: [2]string{"Location", "https://u:p@elsewhere.example/v1?token=t"}, want: agent.NotAnAPI, text: "https://elsewhere.example/v1"},
		"rate":          {status: 429, kind: js, body: `{"error":{"message":"Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000.","code":"rate_limit_exceeded"}}`, header: [2]string{"Retry-After", "7"}, want: agent.Busy, after: 7 * time.Second},
		"rate, ms":      {status: 429, kind: js, body: `{}`, header: [2]string{"Retry-After-Ms", "1500.5"}, want: agent.Busy, after: 1500500 * time.Microsecond},
		"rate, absurd":  {status: 429, kind: js, body: `{}`, header: [2]string{"Retry-After", "1e400"}, want: agent.Busy, after: 24 * time.Hour},
		"rate, broken":  {status: 429, kind: js, body: `{`, header: [2]string{"Retry-After", "-NaN"}, want: agent.Busy},
		"quota":         {status: 429, kind: js, body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, want: agent.Refused, text: "quota"},
		"conflict":      {status: 409, kind: js, want: agent.Busy, text: "no reason is given"},
		"timeout":       {status: 408, want: agent.Busy},
		"overloaded":    {status: 529, kind: js, body: `{"error":{"message":"Overloaded"}}`, want: agent.Busy, text: "Overloaded"},
		"unprocessable": {status: 422, kind: js, body: `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"missing"}]}`, want: agent.Refused, text: "field required"},
		"payment":       {status: 402, kind: js, body: `{"error":{"message":"Insufficient Balance"}}`, want: agent.Refused},
		"too long": {
			status: 400, kind: js, want: agent.TooLong, limit: 8192, actual: 9000,
			body: `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`,
		},
		"too long, in a stream": {
			status: 200, kind: "text/event-stream", want: agent.TooLong, limit: 4096, actual: 5000,
			body: "data: {\"error\":{\"code\":400,\"message\":\"The input (5000 tokens) is longer than the model's context length (4096 tokens).\"}}\n\ndata: [DONE]\n\n",
		},
		"gateway, in a stream": {status: 200, kind: "text/event-stream", want: agent.Busy, text: "Provider disconnected", body: "data: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n"},
		"error event":          {status: 200, kind: "text/event-stream", want: agent.Broken, text: "went wrong", body: "event: error\ndata: it went wrong\n\n"},
		"error, 200":           {status: 200, kind: js, want: agent.Busy, text: "busy", body: `{"error":{"type":"server_error","message":"busy"}}`},
		"long words":           {status: 400, kind: "text/plain", body: strings.Repeat("ä\x1b[31m\x00 ", 400), want: agent.Refused, text: "ä"},
		"binary":               {status: 500, kind: "application/octet-stream", body: "\xff\xfe\x00\x01", want: agent.Busy},
		"not understood":       {status: 418, kind: js, body: `{"a":` + strings.Repeat("[", 20_000), want: agent.Refused},
		"echo":                 {status: 400, kind: js, body: `{"error":{"message":"` + strings.Repeat("x", 285) + ` sk-test-secret-key header-secret"}}`, want: agent.Refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = []string{c.kind}
				if c.header[0] != "" {
					w.Header().Set(c.header[0], c.header[1])
				}
				w.WriteHeader(c.status)
				w.Write([]byte(c.body))
			}))
			defer server.Close()
			m := model(t, server.URL, func(o *openai.Options) { o.Header = map[string]string{"X-Other": "header-secret"} })
			_, err := m.Generate(t.Context(), question, nothing)
			e := failure(t, err)
			if e.Failure != c.want || e.Limit != c.limit || e.Actual != c.actual || e.After != c.after || !strings.Contains(e.Text, c.text) {
				t.Errorf("%+v", e)
			}
			check(t, e)
			if e.Model.Name != "gpt-5.1" || e.Model.URL != server.URL+"/v1" || e.Tries != 1 {
				t.Errorf("it is of %+v", e.Model)
			}
		})
	}
}

// check holds what is true of every error.
func check(t *testing.T, e *agent.ModelError) {
	t.Helper()
	all := e.Text + fmt.Sprint(e.Err) + e.Error()
	if strings.Contains(all, "secret") || len(e.Text) > 300 || e.Text == "" || !utf8.ValidString(e.Text) || strings.ContainsFunc(e.Text, func(r rune) bool { return r < ' ' }) {
		t.Errorf("the text %q, the error %q", e.Text, all)
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of the refused handshake
	secure.StartTLS()
	defer secure.Close()
	for name, c := range map[string]struct {
		url  string
		want agent.Failure
	}{
		"closed port":    {server.URL, agent.Unreachable},
		"no such host":   {"http://nowhere.invalid", agent.Unreachable},
		"no certificate": {secure.URL, agent.Unreachable},
	} {
		_, err := model(t, strings.Replace(c.url, "://", "://user:secret-word@", 1), nil).Generate(t.Context(), question, nothing)
		e := failure(t, err)
		if e.Failure != c.want || !e.Transient() {
			t.Errorf("%s: %+v", name, e)
		}
		check(t, e)
	}
}

// TestRawServers speak no HTTP, or none to its end.
func TestRawServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says string
		want agent.Failure
	}{
		"another protocol":   {"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", agent.NotAnAPI},
		"nothing":            {"", agent.Broken},
		"half a head":        {"HTTP/1.1 200 OK\r\nContent-", agent.Broken},
		"half a stream":      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n", agent.Broken},
		"no end of a stream": {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n", agent.Broken},
		"half an event":      {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: {\"choices\":[{\"ind", agent.Broken},
		"no event":           {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n", agent.Broken},
		"no body":            {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", agent.Broken},
		"no content":         {"HTTP/1.1 204 No Content\r\n\r\n", agent.Broken},
		"half an error":      {"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 500\r\n\r\n{\"error\":", agent.Busy},
		"coded":              {"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nConnection: close\r\n\r\nxxx", agent.NotAnAPI},
		"just done":          {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: [DONE]\n\n", agent.Broken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				conn, _, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				conn.Write([]byte(c.says))
				conn.Close()
			}))
			defer server.Close()
			_, err := model(t, server.URL, nil).Generate(t.Context(), question, nothing)
			e := failure(t, err)
			if e.Failure != c.want {
				t.Errorf("%+v", e)
			}
			check(t, e)
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("words of an answer ", 20)
	for name, c := range map[string]struct {
		fault scripted.Fault
		want  agent.Failure // "": an answer
	}{
		"cut":          {scripted.Fault{Kind: scripted.Cut, Events: 4}, agent.Broken},
		"page":         {scripted.Fault{Kind: scripted.HTML}, agent.Busy},
		"page, 404":    {scripted.Fault{Kind: scripted.HTML, Status: 404}, agent.NotAnAPI},
		"rate":         {scripted.Fault{Kind: scripted.RateLimit}, agent.Busy},
		"server":       {scripted.Fault{Kind: scripted.ServerErr}, agent.Busy},
		"garbage":      {scripted.Fault{Kind: scripted.Garbage}, agent.Broken},
		"compressed":   {scripted.Fault{Kind: scripted.Gzip}, ""},
		"drops":        {scripted.Fault{Kind: scripted.Drip, Bytes: 7}, ""},
		"huge comment": {scripted.Fault{Kind: scripted.HugeEvent, Bytes: 9 << 20}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(scripted.New(scripted.Options{Side: func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: answer} }, Fault: scripted.FaultAt(0, c.fault)}))
			defer server.Close()
			m := model(t, server.URL, nil)
			one, err := m.Generate(t.Context(), question, nothing)
			if c.want == "" {
				if err != nil || one.Message.Text != answer {
					t.Fatalf("%v, %+v", err, one)
				}
				return
			}
			e := failure(t, err)
			if e.Failure != c.want {
				t.Errorf("%+v", e)
			}
			if one, err = m.Generate(t.Context(), question, nothing); err != nil || one.Message.Text != answer {
				t.Errorf("the next one: %v, %+v", err, one)
			}
		})
	}
}

func TestEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range scripted.Forms() {
		p := scripted.New(scripted.Options{Window: 50, Form: form, Lenient: true})
		server := httptest.NewServer(p)
		r := &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: strings.Repeat("too long ", 200)}}}
		one, err := model(t, server.URL, nil).Generate(t.Context(), r, nothing)
		if err == nil {
			// Some say nothing, and some say it in the answer.
			if one.Stop != agent.StopOverflow && one.Usage.Input > 50 {
				t.Errorf("%s: %+v", form, one)
			}
		} else if e := failure(t, err); e.Failure != agent.TooLong {
			t.Errorf("%s: %+v", form, e)
		}
		server.Close()
	}
}
