package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// sessions is a server of 2025-11-25 with a session, which forgets it when told to.
type sessions struct {
	n       atomic.Int64
	forgot  atomic.Bool
	speaks  bool        // it says so in a message of its own, as the Python SDK 1.x does
	streams chan string // what the listening stream says
	more    func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head)
}

func (s *sessions) do(t *testing.T) func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
	return func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		if h.Method == "initialize" {
			if r.Header.Get(headerSession)+r.Header.Get(headerVersion) != "" {
				t.Errorf("initialize came with the headers of a session: %v", r.Header)
			}
			s.forgot.Store(false)
			w.Header().Set(headerSession, fmt.Sprintf("session-%d", s.n.Add(1)))
			respond(w, h.ID, `{"protocolVersion":"2025-11-25"}`)
			return
		}
		if want := fmt.Sprintf("session-%d", s.n.Load()); s.forgot.Load() || r.Header.Get(headerSession) != want {
			if !s.speaks {
				http.Error(w, "session not found", http.StatusNotFound)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"Session not found"}}`, cmp.Or(string(h.ID), "null"))
			return
		}
		if r.Header.Get(headerVersion) != "2025-11-25" {
			t.Errorf("%s %s without the version: %v", r.Method, h.Method, r.Header)
		}
		switch {
		case r.Method == http.MethodDelete:
		case r.Method == http.MethodGet && s.streams != nil && r.Header.Get(headerLastID) == "":
			events(w, ": open")
			for {
				select {
				case text := <-s.streams:
					if text == "" {
						return
					}
					events(w, text)
				case <-r.Context().Done():
					return
				}
			}
		case s.more != nil:
			s.more(w, r, h)
		case h.Kind != jsonrpc.Request:
			w.WriteHeader(http.StatusAccepted)
		default:
			respond(w, h.ID, "{}")
		}
	}
}

func begin(t *testing.T, p transport.Peer) {
	t.Helper()
	if r := ask(t, p, "0", "initialize"); r.err != nil || r.last() == "" {
		t.Fatalf("initialize: %q, %v", r.last(), r.err)
	}
	r := newReceiver()
	p.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), r)
	if r.wait(t).err != nil {
		t.Fatal(r.err)
	}
}

func TestSessionIsKeptAndBegunAnewAndEnded(t *testing.T) {
	server := &sessions{}
	s := site(t, server.do(t))
	p := remote(t, s, nil)
	begin(t, p)
	if r := ask(t, p, "1", "echo"); r.err != nil {
		t.Fatal(r.err)
	}
	server.forgot.Store(true)
	r := ask(t, p, "2", "tools/call")
	if e, ok := errors.AsType[*StatusError](r.err); !ok || e.Status != 404 || !strings.Contains(e.Error(), "send it again") {
		t.Errorf("a request into an ended session: %v", r.err)
	}
	if n := s.count(http.MethodPost, `"tools/call"`); n != 1 {
		t.Errorf("it was sent %d times, want once", n)
	}
	server.forgot.Store(true)
	if r := ask(t, p, "4", "tools/list"); r.err != nil || !strings.Contains(r.last(), `"result"`) {
		t.Errorf("a list in an ended session: %q, %v", r.last(), r.err)
	}
	if r := ask(t, p, "3", "echo"); r.err != nil || server.n.Load() != 3 {
		t.Errorf("behind it: %v, %d sessions", r.err, server.n.Load())
	}
	if n := s.count(http.MethodPost, "notifications/initialized"); n != 3 {
		t.Errorf("initialized was said %d times, want to each session", n)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if n := s.count(http.MethodDelete, ""); n != 1 {
		t.Errorf("%d DELETEs, want 1", n)
	}
	late := newReceiver()
	if p.Send(t.Context(), request(t, "9", "echo"), late); !errors.Is(late.wait(t).err, ErrClosed) {
		t.Errorf("behind Close: %v", late.err)
	}
}

// What a server refuses in its own words was not taken: a call is sent again too, once.
func TestCallIntoASessionThatARestartEnded(t *testing.T) {
	server := &sessions{speaks: true}
	s := site(t, server.do(t))
	p := remote(t, s, nil)
	begin(t, p)
	server.forgot.Store(true)
	if r := ask(t, p, "2", "tools/call"); r.err != nil || r.last() != `{"jsonrpc":"2.0","id":2,"result":{}}` || server.n.Load() != 2 {
		t.Errorf("%q, %v, %d sessions", r.last(), r.err, server.n.Load())
	}
	server.more = func(w http.ResponseWriter, _ *http.Request, h jsonrpc.Head) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"there is no such method"}}`, h.ID)
	}
	if r := ask(t, p, "3", "tools/call"); r.err != nil || !strings.Contains(r.last(), "no such method") || server.n.Load() != 3 {
		t.Errorf("%q, %v, %d sessions", r.last(), r.err, server.n.Load())
	}
	if n := s.count(http.MethodPost, `"tools/call"`); n != 4 {
		t.Errorf("two calls were sent %d times, want twice each", n)
	}
}

func TestAnswersThatRefuse(t *testing.T) {
	server := &sessions{more: func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		status := map[string]int{"400": 400, "401": 401, "405": 405, "500": 500, "502": 502, "202": 202}[h.Method]
		switch {
		case h.Kind != jsonrpc.Request:
			w.WriteHeader(http.StatusAccepted)
		case h.Method == "no id":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no"}}`))
		default:
			http.Error(w, "<html>"+strings.Repeat("x", 1<<20), status)
		}
	}}
	s := site(t, server.do(t))
	p := remote(t, s, nil)
	begin(t, p)
	for _, status := range []string{"400", "401", "405", "500", "502", "202"} {
		r := ask(t, p, "1", status)
		if e, ok := errors.AsType[*StatusError](r.err); !ok || fmt.Sprint(e.Status) != status || len(e.Error()) > 400 || !strings.Contains(e.Error(), s.URL) {
			t.Errorf("%s: %v", status, r.err)
		}
	}
	if r := ask(t, p, "7", "no id"); r.err != nil || r.last() != `{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}` {
		t.Errorf("an error without an id: %q, %v", r.last(), r.err)
	}
}

func TestStreamIsResumedWhereItBroke(t *testing.T) {
	server := &sessions{more: func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		switch {
		case h.Kind == jsonrpc.Notification:
			w.WriteHeader(http.StatusAccepted)
		case r.Method == http.MethodPost:
			events(w, "id: a1\nretry: 1\ndata:", "id: a2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/one\"}")
		case r.Header.Get(headerLastID) == "a2":
			events(w, "id: a3\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/two\"}")
		case r.Header.Get(headerLastID) == "a3":
			events(w, "id: a4\ndata: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}")
		default:
			t.Errorf("resumed behind %q", r.Header.Get(headerLastID))
		}
	}}
	s := site(t, server.do(t))
	p := remote(t, s, nil)
	begin(t, p)
	r := ask(t, p, "5", "long")
	if got := strings.Join(r.all(), " "); r.err != nil || len(r.all()) != 3 || !strings.Contains(got, "one") || !strings.Contains(got, "two") {
		t.Errorf("%q, %v", r.all(), r.err)
	}
	if n := s.count(http.MethodPost, `"long"`); n != 1 {
		t.Errorf("the request was sent %d times", n)
	}
}

func TestStandingStreamComesBack(t *testing.T) {
	server := &sessions{streams: make(chan string)}
	s := site(t, server.do(t))
	p := remote(t, s, nil)
	l, stop := listen(t, p) // before there is a session
	begin(t, p)
	server.streams <- "retry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/first\"}"
	server.streams <- "" // the server closes it
	server.streams <- "data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"roots/list\"}"
	l.news.until(t, "two messages came", func() bool { return len(l.all()) == 2 })
	if got := strings.Join(l.all(), " "); !strings.Contains(got, "first") || !strings.Contains(got, "roots/list") {
		t.Errorf("the listener got %q", got)
	}
	if stop(); l.wait(t).err != nil {
		t.Errorf("Done(%v)", l.err)
	}
}

func TestModernMessagesCarryTheirHeaders(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		if h.Method == "tools/list" {
			respond(w, h.ID, `{"tools":[{"name":"sql","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},
				"o":{"properties":{"n":{"type":"integer","x-mcp-header":"Deep"},"bad":{"x-mcp-header":"a b"}}}}}}]}`)
			return
		}
		respond(w, h.ID, `{}`)
	})
	p := remote(t, s, nil)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	for _, raw := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + meta + `,"name":"sql","arguments":{"region":"süd","o":{"n":42,"bad":"x"}}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{` + meta + `,"uri":"file:///a"}}`,
	} {
		if r := passed(t, p, raw, nil); r.err != nil || r.last() == "" {
			t.Fatalf("%s: %q, %v", raw, r.last(), r.err)
		}
	}
	for i, want := range []http.Header{
		{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}},
		{"Mcp-Method": {"tools/call"}, "Mcp-Name": {"sql"}, "Mcp-Param-Region": {"=?base64?c8O8ZA==?="}, "Mcp-Param-Deep": {"42"}},
		{"Mcp-Method": {"resources/read"}, "Mcp-Name": {"file:///a"}, "Mcp-Session-Id": {""}},
	} {
		for name := range want {
			if got := s.asked[i].Header.Get(name); got != want.Get(name) {
				t.Errorf("request %d has %s: %q, want %q", i+1, name, got, want.Get(name))
			}
		}
	}
}

func TestHeaderValues(t *testing.T) {
	for text, want := range map[string]string{
		"us-west1": "us-west1", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "": "",
	} {
		if got := headerValue(text); got != want {
			t.Errorf("%q becomes %q, want %q as in the specification", text, got, want)
		}
	}
}

func TestPausesOfReconnections(t *testing.T) {
	if got := reconnectPause(40*time.Millisecond, 3); got != 40*time.Millisecond {
		t.Errorf("%v, want what the server asked for", got)
	}
	if a, b, c := reconnectPause(0, 0), reconnectPause(0, 1), reconnectPause(0, 1000); a != time.Second || b != 1500*time.Millisecond || c != maxPause {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}

// silent is a transport that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestHTTPServerThatNeverAnswersIsGivenItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := HTTP(HTTPOptions{Name: "far", URL: "http://far.example/mcp", Client: &http.Client{Transport: silent{}}, Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		begun, r := time.Now(), newReceiver()
		go p.Send(context.Background(), request(t, "1", "never"), r)
		<-r.done
		if _, ok := errors.AsType[*TimeoutError](r.err); !ok || time.Since(begun) != time.Minute {
			t.Errorf("Done(%v) after %v", r.err, time.Since(begun))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzLearn holds that no list of tools breaks the reader of headers.
func FuzzLearn(f *testing.F) {
	f.Add([]byte(`{"result":{"tools":[{"name":"a","inputSchema":{"properties":{"x":{"x-mcp-header":"X","properties":{}}}}}]}}`), []byte(`{"name":"a","arguments":{"x":"\u00e9"}}`))
	f.Fuzz(func(t *testing.T, list, params []byte) {
		r := &Remote{}
		r.learnMirrors(list)
		raw := append(append([]byte(`{"id":1,"method":"tools/call","params":`), params...), '}')
		h, err := jsonrpc.Scan(raw)
		if err != nil {
			return
		}
		header := http.Header{}
		r.setMirrorHeaders(header, &transport.Message{Raw: raw, Head: h})
		for name, values := range header {
			if !isToken(name) || strings.ContainsAny(values[0], "\r\n\x00") {
				t.Fatalf("%q: %q", name, values)
			}
		}
	})
}
