package openai_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	const js = "application/json"
	adapters.Failures(t, wire, map[string]adapters.Failed{
		"key":           {Answer: adapters.Said(401, js, `{"error":{"message":"Incorrect API key provided: sk-test-secret-key.","code":"invalid_api_key"}}`), Want: agent.Key, Text: "[hidden]"},
		"forbidden":     {Answer: adapters.Said(403, js, `{"error":"no"}`), Want: agent.Key, Text: "no"},
		"gemini key":    {Answer: adapters.Said(400, js, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`), Want: agent.Key, Text: "API key"},
		"project":       {Answer: adapters.Said(403, js, `{"error":{"message":"Project has no access","code":"model_not_found"}}`), Want: agent.NoModel},
		"model":         {Answer: adapters.Said(404, js, `{"error":{"message":"model \"x\" not found, try pulling it first"}}`), Want: agent.NoModel, Text: "pulling"},
		"model 400":     {Answer: adapters.Said(400, js, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`), Want: agent.NoModel},
		"path":          {Answer: adapters.Said(404, js, `{"detail":"Not Found"}`), Want: agent.NotAnAPI, Text: "Not Found"},
		"path, plain":   {Answer: adapters.Said(404, "text/plain", "404 page not found\n"), Want: agent.NotAnAPI, Text: "404 page not found"},
		"method":        {Answer: adapters.Said(405, js, `{}`), Want: agent.NotAnAPI},
		"page":          {Answer: adapters.Said(404, "text/html", "<html><head><title>Nothing\nhere</title>"), Want: agent.NotAnAPI, Text: `a web page, "Nothing here"`},
		"page, 200":     {Answer: adapters.Said(200, "text/html", "<!doctype html><title>Log in</title>"), Want: agent.NotAnAPI, Text: "Log in"},
		"page, no kind": {Answer: adapters.Said(200, "", "\n <html>"), Want: agent.NotAnAPI, Text: "web page"},
		"plain, 200":    {Answer: adapters.Said(200, "text/plain", "hello"), Want: agent.NotAnAPI, Text: "text/plain"},
		"page, 502":     {Answer: adapters.Said(502, "text/html", "<title>Bad gateway</title>"), Want: agent.Busy, Text: "Bad gateway"},
		"redirect":      {Answer: adapters.Said(302, "", "").With("Location", "https://u:p@elsewhere.example/v1?token=t"), Want: agent.NotAnAPI, Text: "https://elsewhere.example/v1"},
		"rate": {
			Answer: adapters.Said(429, js, `{"error":{"message":"Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40000.","code":"rate_limit_exceeded"}}`).With("Retry-After", "7"),
			Want:   agent.Busy, After: 7 * time.Second,
		},
		"rate, ms":      {Answer: adapters.Said(429, js, `{}`).With("Retry-After-Ms", "1500.5"), Want: agent.Busy, After: 1500500 * time.Microsecond},
		"rate, absurd":  {Answer: adapters.Said(429, js, `{}`).With("Retry-After", "1e400"), Want: agent.Busy, After: 24 * time.Hour},
		"rate, broken":  {Answer: adapters.Said(429, js, `{`).With("Retry-After", "-NaN"), Want: agent.Busy},
		"quota":         {Answer: adapters.Said(429, js, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`), Want: agent.Refused, Text: "quota"},
		"conflict":      {Answer: adapters.Said(409, js, ""), Want: agent.Busy, Text: "no reason is given"},
		"timeout":       {Answer: adapters.Said(408, "", ""), Want: agent.Busy},
		"overloaded":    {Answer: adapters.Said(529, js, `{"error":{"message":"Overloaded"}}`), Want: agent.Busy, Text: "Overloaded"},
		"unprocessable": {Answer: adapters.Said(422, js, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"missing"}]}`), Want: agent.Refused, Text: "field required"},
		"payment":       {Answer: adapters.Said(402, js, `{"error":{"message":"Insufficient Balance"}}`), Want: agent.Refused},
		"too long": {
			Answer: adapters.Said(400, js, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`),
			Want:   agent.TooLong, Limit: 8192, Actual: 9000,
		},
		"too long, in a stream": {
			Answer: adapters.Stream("data: {\"error\":{\"code\":400,\"message\":\"The input (5000 tokens) is longer than the model's context length (4096 tokens).\"}}\n\ndata: [DONE]\n\n"),
			Want:   agent.TooLong, Limit: 4096, Actual: 5000,
		},
		"gateway, in a stream": {
			Answer: adapters.Stream("data: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n"),
			Want:   agent.Busy, Text: "Provider disconnected",
		},
		"error event":    {Answer: adapters.Stream("event: error\ndata: it went wrong\n\n"), Want: agent.Broken, Text: "went wrong"},
		"error, 200":     {Answer: adapters.Said(200, js, `{"error":{"type":"server_error","message":"busy"}}`), Want: agent.Busy, Text: "busy"},
		"long words":     {Answer: adapters.Said(400, "text/plain", strings.Repeat("ä\x1b[31m\x00 ", 400)), Want: agent.Refused, Text: "ä"},
		"binary":         {Answer: adapters.Said(500, "application/octet-stream", "\xff\xfe\x00\x01"), Want: agent.Busy},
		"not understood": {Answer: adapters.Said(418, js, `{"a":`+strings.Repeat("[", 20_000)), Want: agent.Refused},
		"echo":           {Answer: adapters.Said(400, js, `{"error":{"message":"`+strings.Repeat("x", 285)+` sk-test-secret-key header-secret"}}`), Want: agent.Refused},
	})
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
		_, err := wire.At(t, strings.Replace(c.url, "://", "://user:secret-word@", 1)).Generate(t.Context(), adapters.Question, adapters.Ignore)
		e := adapters.ErrorOf(t, err)
		if e.Failure != c.want || !e.Transient() {
			t.Errorf("%s: %+v", name, e)
		}
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
			_, err := wire.At(t, server.URL).Generate(t.Context(), adapters.Question, adapters.Ignore)
			e := adapters.ErrorOf(t, err)
			if e.Failure != c.want {
				t.Errorf("%+v", e)
			}
		})
	}
}

func TestEveryForm(t *testing.T) {
	t.Parallel()
	for _, form := range scripted.Forms() {
		p := scripted.New(scripted.Options{Window: 50, Form: form, Lenient: true})
		server := httptest.NewServer(p)
		r := adapters.Ask(strings.Repeat("too long ", 200))
		one, err := wire.At(t, server.URL).Generate(t.Context(), r, adapters.Ignore)
		if err == nil {
			// Some say nothing, and some say it in the answer.
			if one.Stop != agent.StopOverflow && one.Usage.Input > 50 {
				t.Errorf("%s: %+v", form, one)
			}
		} else if e := adapters.ErrorOf(t, err); e.Failure != agent.TooLong {
			t.Errorf("%s: %+v", form, e)
		}
		server.Close()
	}
}
