package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

func TestASessionFromBeginToEnd(t *testing.T) {
	p := newPlace(t, Options{Principal: func(r *http.Request) (string, error) { return r.Header.Get("Who"), nil }}, false, nil)
	id := p.begin("2025-06-18", "Who", "a")
	if len(id) < 20 {
		t.Fatalf("session id %q can be guessed", id)
	}
	own := []string{"Mcp-Session-Id", id, "Who", "a", "Mcp-Protocol-Version", "2025-06-18"}
	if status, _, answer := p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, own...); status != 202 || answer != "" {
		t.Errorf("initialized: %d %q", status, answer)
	}
	status, header, answer := p.post(toolCall(1, "echo"), own...)
	if status != 200 || header.Get("Content-Type") != "application/json" || answer != `{"jsonrpc":"2.0","id":1,"result":{"big":9007199254740993,"of":"a"}}` {
		t.Errorf("echo: %d %v %s", status, header, answer)
	}
	for what, test := range map[string]struct {
		body    string
		headers []string
		status  int
	}{
		"no id":                {toolCall(2, "echo"), []string{"Who", "a"}, 400},
		"unknown id":           {toolCall(2, "echo"), []string{"Who", "a", "Mcp-Session-Id", "nonsense"}, 404},
		"of another principal": {toolCall(2, "echo"), []string{"Who", "b", "Mcp-Session-Id", id}, 404},
		"unknown version":      {toolCall(2, "echo"), append([]string{"Mcp-Protocol-Version", "2020-01-01"}, own[:4]...), 400},
		"initialized again":    {fmt.Sprintf(initialize, "2025-06-18"), own, 400},
	} {
		if status, _, answer := p.post(test.body, test.headers...); status != test.status || !strings.Contains(answer, `"error"`) {
			t.Errorf("%s: %d %s", what, status, answer)
		}
	}
	response := p.do(t.Context(), http.MethodDelete, "", own...)
	response.Body.Close()
	if response.StatusCode != 204 {
		t.Errorf("DELETE: %d", response.StatusCode)
	}
	if status, _, _ := p.post(toolCall(3, "echo"), own...); status != 404 {
		t.Errorf("after DELETE: %d", status)
	}
	<-p.server(0).closed
	if len(p.servers) != 1 {
		t.Errorf("%d servers were opened", len(p.servers))
	}
}

func TestAFailedInitializeLeavesNoSession(t *testing.T) {
	p := newPlace(t, Options{}, false, func(s *server) {
		s.onSend = func(_ context.Context, m transport.Message, to transport.Receiver) bool {
			to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, m.Head.ID))
			to.Done(nil)
			return true
		}
	})
	status, header, answer := p.post(fmt.Sprintf(initialize, "2025-06-18"))
	if status != 200 || header.Get("Mcp-Session-Id") != "" || !strings.Contains(answer, "-32602") {
		t.Errorf("%d %v %s", status, header, answer)
	}
	<-p.server(0).closed
	if n := p.h.Stats().Sessions; n != 0 {
		t.Errorf("%d sessions", n)
	}
}

func TestANotificationBeforeTheAnswerMakesAStream(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	for _, version := range []string{"2025-06-18", "2025-11-25"} {
		id := p.begin(version)
		e := p.events(p.do(t.Context(), http.MethodPost, toolCall(7, "notes:2"), "Mcp-Session-Id", id))
		if version >= "2025-11-25" { // before, clients could not read an event without data
			if v := e.want(""); v.data != "" || v.id == "" || v.retry == "" {
				t.Errorf("first event %+v", v)
			}
		}
		e.want(`"progress":0`)
		e.want(`"progress":1`)
		if v := e.want(`"id":7`); v.id == "" || v.name != "message" {
			t.Errorf("last event %+v", v)
		}
		e.end()
	}
}

func TestAcceptChoosesTheForm(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	id := p.begin("2025-06-18")
	n := 1 // an id is free again a little after its answer
	for accept, want := range map[string]string{
		"application/json":  "application/json",
		"text/event-stream": "text/event-stream",
		"*/*":               "application/json",
		"text/event-stream;q=0.9,application/json": "application/json",
	} {
		n++
		_, header, answer := p.post(toolCall(n, "notes:0"), "Mcp-Session-Id", id, "Accept", accept)
		if got := header.Get("Content-Type"); got != want || !strings.Contains(answer, `"notes":0`) {
			t.Errorf("%s: %s %s", accept, got, answer)
		}
	}
	// A client that takes no events gets the answer alone.
	status, header, answer := p.post(toolCall(1, "notes:3"), "Mcp-Session-Id", id, "Accept", "application/json")
	if status != 200 || header.Get("Content-Type") != "application/json" || !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":1,`) {
		t.Errorf("%d %v %s", status, header, answer)
	}
	if status, _, _ := p.post(toolCall(n+1, "echo"), "Mcp-Session-Id", id, "Accept", "text/html"); status != 406 {
		t.Errorf("text/html: %d", status)
	}
}

// A request of the server reaches the client on the answer to the only open request, and
// the client's response reaches the server.
func TestTheServerAsksTheClient(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	for _, standing := range []bool{false, true} {
		id := p.begin("2025-11-25")
		wait.Until(t, "the server is listened to", func() bool {
			s := p.server(len(p.servers) - 1)
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.listener != nil
		})
		if standing {
			s := p.events(p.do(t.Context(), http.MethodGet, "", "Mcp-Session-Id", id))
			defer s.body.Close()
		}
		e := p.events(p.do(t.Context(), http.MethodPost, toolCall(3, "ask"), "Mcp-Session-Id", id))
		e.want("")
		e.want(`elicitation/create`)
		if status, _, _ := p.post(`{"jsonrpc":"2.0","id":1001,"result":{"action":"accept"}}`, "Mcp-Session-Id", id); status != 202 {
			t.Errorf("response: %d", status)
		}
		e.want(`"action":"accept"`)
		e.end()
	}
}

func TestRoutes(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	id := p.begin("2025-11-25")
	s := p.server(0)
	listener := func() transport.Receiver {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.listener
	}
	wait.Until(t, "the server is listened to", func() bool { return listener() != nil })
	// Nobody listens yet: it is kept.
	listener().Receive(frame(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`))
	get := p.events(p.do(t.Context(), http.MethodGet, "", "Mcp-Session-Id", id))
	first := get.want("")
	get.want("tools/list_changed")
	// Two requests are open: what belongs to none for sure goes to the listening stream.
	one := p.events(p.do(t.Context(), http.MethodPost, toolCall(1, "wait:one"), "Mcp-Session-Id", id))
	one.want("")
	one.want("begun")
	listener().Receive(frame(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"of one"}}`))
	one.want("of one")
	listener().Receive(frame(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}`))
	get.want("resources/updated")
	two := p.events(p.do(t.Context(), http.MethodPost, toolCall(2, "wait:two"), "Mcp-Session-Id", id))
	two.want("")
	two.want("begun")
	listener().Receive(frame(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"of both"}}`))
	last := get.want("of both")
	// A second listening stream takes the place of the first, and resumes where told.
	again := p.events(p.do(t.Context(), http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", first.id))
	get.end()
	again.want("")
	again.want("tools/list_changed")
	again.want("resources/updated")
	if v := again.want("of both"); v.id != last.id {
		t.Errorf("resumed as %q, was %q", v.id, last.id)
	}
	again.body.Close()
	for _, name := range []string{"one", "two"} {
		wait.Until(t, "a call that waits", func() bool { return s.release(name) })
	}
	one.want("waited")
	two.want("waited")
	one.end()
	two.end()
}

// A client that loses its connection gets the rest of the answer; the call goes on.
func TestAnAnswerIsResumed(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	id := p.begin("2025-11-25")
	ctx, leave := context.WithCancel(t.Context())
	e := p.events(p.do(ctx, http.MethodPost, toolCall(1, "wait:x"), "Mcp-Session-Id", id))
	prime := e.want("")
	begun := e.want("begun")
	leave()
	e.body.Close()
	wait.Until(t, "the client is gone", func() bool { return p.h.Stats().Serving == 0 })
	wait.Until(t, "a call that waits", func() bool { return p.server(0).release("x") })
	for _, from := range []ev{prime, begun} {
		e = p.events(p.do(t.Context(), http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", from.id))
		if v := e.want(""); v.data != "" || v.id != from.id {
			t.Errorf("first event after %q: %+v", from.id, v)
		}
		if from == prime {
			e.want("begun")
		}
		e.want(`"waited":true`)
		e.end()
	}
	for _, last := range []string{"99-1", "nonsense", "1", "-", "18446744073709551616-1"} {
		response := p.do(t.Context(), http.MethodGet, "", "Mcp-Session-Id", id, "Last-Event-ID", last)
		response.Body.Close()
		if response.StatusCode != 400 {
			t.Errorf("Last-Event-ID %s: %d", last, response.StatusCode)
		}
	}
}

func TestACancelledRequestEnds(t *testing.T) {
	p := newPlace(t, Options{}, false, nil)
	id := p.begin("2025-06-18")
	e := p.events(p.do(t.Context(), http.MethodPost, toolCall(1, "wait:x"), "Mcp-Session-Id", id))
	e.want("begun")
	if status, _, _ := p.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id", id); status != 202 {
		t.Errorf("cancelled: %d", status)
	}
	e.end()
}

func TestSessionsAreBounded(t *testing.T) {
	p := newPlace(t, Options{MaxSessions: 2, MaxOpen: 1}, false, nil)
	first, second := p.begin("2025-06-18"), p.begin("2025-06-18")
	e := p.events(p.do(t.Context(), http.MethodPost, toolCall(1, "wait:x"), "Mcp-Session-Id", first))
	e.want("begun")
	if status, header, _ := p.post(toolCall(2, "echo"), "Mcp-Session-Id", first); status != 429 || header.Get("Retry-After") == "" {
		t.Errorf("a request too many: %d", status)
	}
	// The client has the answer a little before the handler has returned.
	wait.Until(t, "the second serves nobody", func() bool { return p.h.Stats().Serving == 1 })
	third := p.begin("2025-06-18") // in place of the second, which serves nobody
	if status, _, _ := p.post(toolCall(1, "echo"), "Mcp-Session-Id", second); status != 404 {
		t.Errorf("the least recently used: %d", status)
	}
	f := p.events(p.do(t.Context(), http.MethodGet, "", "Mcp-Session-Id", third))
	if status, _, _ := p.post(fmt.Sprintf(initialize, "2025-06-18")); status != 503 {
		t.Errorf("with all in use: %d", status)
	}
	if got := p.h.Stats(); got.Evicted != 1 || got.Sessions != 2 {
		t.Errorf("%+v", got)
	}
	f.body.Close()
	e.body.Close()
}

func TestIdleSessionsEnd(t *testing.T) {
	p := newPlace(t, Options{Idle: 50 * time.Millisecond}, false, nil)
	id := p.begin("2025-06-18")
	<-p.server(0).closed
	if status, _, _ := p.post(toolCall(1, "echo"), "Mcp-Session-Id", id); status != 404 {
		t.Errorf("%d", status)
	}
}

func TestFailuresOfTheServer(t *testing.T) {
	p := newPlace(t, Options{}, false, func(s *server) {
		s.onSend = func(_ context.Context, m transport.Message, _ transport.Receiver) bool {
			if strings.Contains(string(m.Raw), "send panics") {
				panic("as asked")
			}
			return false
		}
	})
	id := p.begin("2025-06-18")
	if status, _, answer := p.post(toolCall(1, "fail"), "Mcp-Session-Id", id); status != 200 || answer != `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the server is gone: status 3"}}` {
		t.Errorf("%d %s", status, answer)
	}
	if status, _, answer := p.post(toolCall(2, "send panics"), "Mcp-Session-Id", id); status != 200 || !strings.Contains(answer, "-32603") {
		t.Errorf("%d %s", status, answer)
	}
	if status, _, answer := p.post(`{"jsonrpc":"2.0","method":"send panics"}`, "Mcp-Session-Id", id); status != 500 || !strings.Contains(answer, "-32603") {
		t.Errorf("%d %s", status, answer)
	}
	if got := p.h.Stats().Panics; got != 2 {
		t.Errorf("%d panics", got)
	}
	// Broken off soon, the client hears of it; broken off in the middle, it must not take it for whole.
	if status, _, answer := p.post(toolCall(3, "cut:1000"), "Mcp-Session-Id", id); status != 200 || !strings.Contains(answer, `"id":3,"error"`) {
		t.Errorf("cut soon: %d %s", status, answer)
	}
	response := p.do(t.Context(), http.MethodPost, toolCall(5, "cut:100000"), "Mcp-Session-Id", id)
	_, err := io.ReadAll(response.Body)
	response.Body.Close()
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut answer: %v", err)
	}
	if status, _, _ := p.post(toolCall(4, "echo"), "Mcp-Session-Id", id); status != 200 {
		t.Errorf("afterwards: %d", status)
	}
}
