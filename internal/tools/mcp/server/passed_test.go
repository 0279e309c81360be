package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// remote behaves like a streamable HTTP server behind an upstream.
func remote(s *server) {
	answer := func(to transport.Receiver, status int, contentType string, more ...string) {
		h := http.Header{"Content-Type": {contentType}, "Content-Length": {"77"}, "X-Of-Server": {"yes"}, "Connection": {"x-hop"}, "X-Hop": {"1"}}
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		to.Open(transport.Answer{Status: status, Header: h})
	}
	s.onSend = func(_ context.Context, m transport.Message, to transport.Receiver) bool {
		id := m.Head.ID
		text := string(m.Raw)
		switch {
		case m.Header.Get("Authorization") == "":
			to.Open(transport.Answer{
				Status: 401, Body: []byte("who are you"),
				Header: http.Header{"Content-Type": {"text/plain"}, "Www-Authenticate": {`Bearer error="x", resource_metadata="https://up.example/.well-known/oauth-protected-resource/mcp", scope="a"`}},
			})
		case m.Head.Kind != jsonrpc.Request:
			to.Open(transport.Answer{Status: 202, Header: http.Header{}})
		case m.Head.Method == "initialize":
			answer(to, 200, "application/json", "Mcp-Session-Id", "of-the-server")
			to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, id))
		case strings.Contains(text, "unknown session"):
			to.Open(transport.Answer{Status: 404, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte("session not found")})
		case strings.Contains(text, "json error"):
			answer(to, 400, "application/json")
			to.Receive(&transport.Frame{Head: jsonrpc.ErrorResponse(id, -32020, "as asked", nil)})
		case strings.Contains(text, "unreachable"):
			to.Done(errors.New("cannot reach the server: connection refused"))
			return true
		case strings.Contains(text, "composed"): // by the gateway, the server was not asked
			to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id))
		case strings.Contains(text, "cut"):
			answer(to, 200, "text/event-stream")
			to.Receive(&transport.Frame{Event: sse.Event{Retry: "1"}})
			if strings.Contains(text, "resumably") {
				to.Receive(&transport.Frame{Event: sse.Event{ID: "e0"}})
			}
			to.Done(io.ErrUnexpectedEOF)
			return true
		default:
			answer(to, 200, "text/event-stream; charset=utf-8")
			to.Receive(&transport.Frame{Event: sse.Event{ID: "e0", Retry: "500"}})
			to.Receive(&transport.Frame{Head: []byte("{\"jsonrpc\":\"2.0\",\n\"method\":\"notifications/x\"}"), Event: sse.Event{ID: "e1", Name: "message"}})
			to.Receive(&transport.Frame{Head: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id), Event: sse.Event{ID: "e2"}})
		}
		to.Done(nil)
		return true
	}
	s.onListen = func(_ context.Context, header http.Header, to transport.Receiver) bool {
		if header.Get("Last-Event-ID") == "" {
			to.Open(transport.Answer{Status: 405, Header: http.Header{"Allow": {"POST"}}})
		} else {
			answer(to, 200, "text/event-stream")
			to.Receive(&transport.Frame{Head: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"after":%q}}`, header.Get("Last-Event-ID"))})
		}
		to.Done(nil)
		return true
	}
	s.onEnd = func(_ http.Header, to transport.Receiver) {
		to.Open(transport.Answer{Status: 200, Header: http.Header{"X-Of-Server": {"bye"}}})
	}
}

func TestAPassedSession(t *testing.T) {
	p := newPlace(t, Options{Resource: func(*http.Request) string { return "http://here/.well-known/x" }}, true, remote)
	who := []string{"Authorization", "Bearer a"}
	status, header, answer := p.post(fmt.Sprintf(initialize, "2025-11-25"))
	if got := header.Get("WWW-Authenticate"); status != 401 || answer != "who are you" ||
		got != `Bearer error="x", resource_metadata="http://here/.well-known/x", scope="a"` {
		t.Errorf("without a token: %d %q %s", status, got, answer)
	}
	if id := p.begin("2025-11-25", who...); id != "of-the-server" {
		t.Fatalf("session id %q", id)
	}
	own := append(who[:2:2], "Mcp-Session-Id", "of-the-server")
	if status, header, _ := p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, own...); status != 202 {
		t.Errorf("notification: %d %v", status, header)
	}
	response := p.do(t.Context(), http.MethodPost, toolCall(1, "x"), own...)
	if response.Header.Get("X-Of-Server") != "yes" || response.Header.Get("X-Hop") != "" {
		t.Errorf("headers %v", response.Header)
	}
	response.Header.Set("Content-Type", "text/event-stream")
	e := p.events(response)
	if v := e.want(""); v != (ev{id: "e0", retry: "500"}) {
		t.Errorf("%+v", v)
	}
	if v := e.want("notifications/x"); v.id != "e1" || !strings.Contains(v.data, ",\n") {
		t.Errorf("%+v", v)
	}
	if v := e.want(`"id":1`); v.id != "e2" || v.name != "" {
		t.Errorf("%+v", v)
	}
	e.end()
	for tool, want := range map[string]string{
		"json error":  "400 application/json",
		"unreachable": "502 application/json",
		"composed":    "200 application/json",
	} {
		status, header, answer := p.post(toolCall(1, tool), own...)
		if got := fmt.Sprint(status, " ", header.Get("Content-Type")); got != want || !strings.Contains(answer, `"id":1`) {
			t.Errorf("%s: %s %s", tool, got, answer)
		}
	}
	e = p.events(p.do(t.Context(), http.MethodPost, toolCall(1, "cut"), own...))
	e.want("")
	e.want(`"id":1,"error"`)
	e.end()
	e = p.events(p.do(t.Context(), http.MethodPost, toolCall(1, "cut resumably"), own...))
	e.want("")
	e.want("")
	e.end()
	response = p.do(t.Context(), http.MethodGet, "", own...)
	response.Body.Close()
	if response.StatusCode != 405 || response.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", response.StatusCode, response.Header)
	}
	e = p.events(p.do(t.Context(), http.MethodGet, "", append(own, "Last-Event-ID", "e1")...))
	e.want(`"after":"e1"`)
	e.end()
	opened := len(p.opened)
	response = p.do(t.Context(), http.MethodDelete, "", own...)
	response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("X-Of-Server") != "bye" || len(p.opened) != opened {
		t.Errorf("DELETE: %d %v", response.StatusCode, response.Header)
	}
	if n := p.h.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

// A session that is not known here, after a restart, is the server's to know.
func TestAPassedSessionOfBefore(t *testing.T) {
	p := newPlace(t, Options{}, true, remote)
	own := []string{"Authorization", "a", "Mcp-Session-Id", "older"}
	if status, _, answer := p.post(toolCall(1, "unknown session"), own...); status != 404 || answer != "session not found" {
		t.Errorf("%d %s", status, answer)
	}
	<-p.server(0).closed
	if n := p.h.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions", n)
	}
	for range 2 {
		if status, _, _ := p.post(toolCall(1, "composed"), own...); status != 200 {
			t.Errorf("%d", status)
		}
		if status, _, _ := p.post(toolCall(1, "json error"), own...); status != 400 {
			t.Errorf("%d", status)
		}
		p.post(toolCall(1, "x"), own...)
	}
	if n := p.h.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions", n)
	}
	// A server may have no sessions at all.
	p.post(toolCall(1, "x"), "Authorization", "a")
	p.post(toolCall(1, "x"), "Authorization", "a")
	if n := p.h.Stats().Sessions; n != 2 {
		t.Errorf("%d sessions", n)
	}
}

func TestPassedModernRequests(t *testing.T) {
	p := newPlace(t, Options{}, true, remote)
	own := append(modernHeaders("x"), "Authorization", "a")
	for range 2 {
		p.events(p.do(t.Context(), http.MethodPost, modernCall(1, "x"), own...)).body.Close()
	}
	if len(p.opened) != 1 || !p.opened[0].Modern {
		t.Errorf("opened %+v", p.opened)
	}
	if status, _, _ := p.post(modernCall(1, "other"), own...); status != 400 {
		t.Errorf("a name that contradicts the message: %d", status)
	}
	if status, _, _ := p.post(modernCall(1, "json error"), "Mcp-Protocol-Version", "2026-07-28", "Authorization", "a"); status != 400 {
		t.Errorf("what is missing is the server's to say: %d", status)
	}
}

func TestMetadata(t *testing.T) {
	found := map[string]string{}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch body := found[r.URL.Path]; body {
		case "":
			w.WriteHeader(404)
		case "away":
			http.Redirect(w, r, "http://127.0.0.2:1/", http.StatusFound)
		default:
			_, _ = io.WriteString(w, body)
		}
	}))
	defer up.Close()
	u, err := url.Parse(up.URL + "/api/mcp")
	if err != nil {
		t.Fatal(err)
	}
	h := New(Options{Resource: func(*http.Request) string { return "http://here/meta" }})
	defer h.Close()
	handler := h.Metadata(u, up.Client(), func(*http.Request) string { return "http://here/mcp/x" })
	get := func() (int, string) {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		return w.Code, w.Body.String()
	}
	if status, _ := get(); status != 404 {
		t.Errorf("none: %d", status)
	}
	found["/.well-known/oauth-protected-resource"] = `{"resource":"` + up.URL + `/api/mcp","big":9007199254740993,"authorization_servers":["https://as"]}`
	if status, body := get(); status != 200 || body != `{"resource":"http://here/mcp/x","big":9007199254740993,"authorization_servers":["https://as"]}` {
		t.Errorf("at the root: %d %s", status, body)
	}
	of := func(name string) string { return `{"name":"` + name + `","resource":"` + up.URL + `/api"}` }
	ours := func(name string) string { return `{"name":"` + name + `","resource":"http://here/mcp/x"}` }
	found["/.well-known/oauth-protected-resource/api/mcp"] = of("path")
	if _, body := get(); body != ours("path") {
		t.Errorf("at its path: %s", body)
	}
	found["/elsewhere"] = of("elsewhere")
	h.rewriteChallenge(httptest.NewRequest(http.MethodPost, "/", nil), `Bearer resource_metadata=`+up.URL+`/elsewhere`)
	if _, body := get(); body != ours("elsewhere") {
		t.Errorf("where the 401 said: %s", body)
	}
	h.rewriteChallenge(httptest.NewRequest(http.MethodPost, "/", nil), `Bearer resource_metadata="http://127.0.0.2:1/elsewhere"`)
	if _, body := get(); body != ours("path") {
		t.Errorf("another host is not asked: %s", body)
	}
	// Of some other resource, or of none: a client has to see that.
	for _, other := range []string{`{"a":1}`, `{"resource":"https://evil.example/api/mcp"}`, `{"resource":"` + up.URL + `/apis"}`, `{"resource":1}`} {
		found["/.well-known/oauth-protected-resource/api/mcp"] = other
		if _, body := get(); body != other {
			t.Errorf("%s became %s", other, body)
		}
	}
	for _, bad := range []string{"away", "[]", "no json", `{"x":"` + strings.Repeat("x", maxMetadata) + `"}`} {
		found = map[string]string{"/.well-known/oauth-protected-resource/api/mcp": bad}
		if status, body := get(); status/100 != 5 { // that the other place has none is no answer for this one
			t.Errorf("%.20s: %d %s", bad, status, body)
		}
	}
}
