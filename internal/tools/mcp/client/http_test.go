package client

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// web is a server over HTTP, which keeps what it was asked.
type web struct {
	*httptest.Server
	mu    sync.Mutex
	asked []*http.Request
	texts []string
	posts atomic.Int64
	news  news
}

// site starts a server whose answers do makes; h is of the POST's message, zero else.
func site(t *testing.T, do func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head)) *web {
	t.Helper()
	s := &web{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.asked, s.texts = append(s.asked, r), append(s.texts, string(body))
		s.mu.Unlock()
		s.news.tell()
		if r.Method == http.MethodPost {
			s.posts.Add(1)
		}
		h, _ := jsonrpc.Scan(body)
		do(w, r, h)
	}))
	s.EnableHTTP2 = true
	return s
}

// count is how many requests had this method and text in them.
func (s *web) count(method, text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range s.asked {
		if r.Method == method && strings.Contains(s.texts[i], text) {
			n++
		}
	}
	return n
}

func remote(t *testing.T, s *web, change func(*HTTPOptions)) *Remote {
	t.Helper()
	if s.URL == "" {
		s.Start()
	}
	o := HTTPOptions{Name: "far", URL: s.URL + "/mcp", Client: s.Client()}
	if change != nil {
		change(&o)
	}
	r, err := HTTP(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		s.Close()
		noGoroutineLeft(t)
	})
	return r
}

func respond(w http.ResponseWriter, id jsonrpc.ID, result string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func events(w http.ResponseWriter, lines ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, line := range lines {
		_, _ = io.WriteString(w, line+"\n\n")
		w.(http.Flusher).Flush()
	}
}

// passed sends a message with the headers of a client.
func passed(t *testing.T, p transport.Peer, raw string, header http.Header) *receiver {
	t.Helper()
	m := message(t, raw)
	m.Header = header
	r := newReceiver()
	p.Send(t.Context(), m, r)
	return r.wait(t)
}

func TestHeadersAndStatusPass(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.Header.Get("Authorization") == "":
			w.Header().Set("WWW-Authenticate", `Bearer scope="x"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
		case h.Method == "refuse":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(jsonrpc.ErrorResponse(h.ID, jsonrpc.CodeHeader, "as asked", nil))
		case h.Method == "oauth":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":"insufficient_scope"}`)
		case h.Kind == jsonrpc.Notification:
			w.WriteHeader(http.StatusAccepted)
		case h.Method == "polled":
			events(w, "id: e0\nretry: 9\ndata:", "id: e1\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}")
		default:
			w.Header().Set("Mcp-Session-Id", "theirs")
			respond(w, h.ID, "{}")
		}
	})
	p := remote(t, s, func(o *HTTPOptions) { o.Header = http.Header{"X-Configured": {"yes"}} })
	header := http.Header{
		"Authorization": {"Bearer t"}, "Mcp-Session-Id": {"sess"}, "X-Anything": {"1"}, "Connection": {"close, X-Mine"},
		"X-Mine": {"hop"}, "Accept-Encoding": {"br"}, "Content-Length": {"9999"}, "Host": {"elsewhere"},
	}
	r := passed(t, p, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, header)
	if r.err != nil || r.opened.Status != 200 || r.opened.Header.Get("Mcp-Session-Id") != "theirs" || r.last() != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Fatalf("%q, %+v, %v", r.last(), r.opened, r.err)
	}
	got := s.asked[0].Header
	for name, want := range map[string]string{
		"Authorization": "Bearer t", "Mcp-Session-Id": "sess", "X-Anything": "1", "X-Configured": "yes",
		"X-Mine": "", "Connection": "", "Accept-Encoding": "identity", "Content-Length": "41",
	} {
		if have := got.Get(name); have != want && name != "Content-Length" {
			t.Errorf("the server got %s: %q, want %q", name, have, want)
		}
	}
	if header.Get("X-Mine") != "hop" {
		t.Error("the client's headers were changed")
	}
	if r := passed(t, p, `{"jsonrpc":"2.0","id":1,"method":"echo"}`, http.Header{}); r.opened.Status != 401 || string(r.opened.Body) != "who are you\n" || r.opened.Header.Get("WWW-Authenticate") == "" || r.err != nil {
		t.Errorf("401: %+v, %v", r.opened, r.err)
	}
	if r := passed(t, p, `{"jsonrpc":"2.0","id":1,"method":"refuse"}`, header); r.opened.Status != 400 || !strings.Contains(r.last(), "as asked") {
		t.Errorf("400: %+v, %q", r.opened, r.last())
	}
	if r := passed(t, p, `{"jsonrpc":"2.0","id":1,"method":"oauth"}`, header); r.opened.Status != 403 || string(r.opened.Body) != `{"error":"insufficient_scope"}` || len(r.all()) != 0 {
		t.Errorf("403: %+v, %q", r.opened, r.all())
	}
	if r := passed(t, p, `{"jsonrpc":"2.0","method":"note"}`, header); r.opened.Status != 202 || r.err != nil || len(r.all()) != 0 {
		t.Errorf("202: %+v, %v", r.opened, r.err)
	}
	r = passed(t, p, `{"jsonrpc":"2.0","id":1,"method":"polled"}`, header)
	if frames := r.all(); len(frames) != 2 || frames[0] != "" || !errors.Is(r.err, io.ErrUnexpectedEOF) {
		t.Errorf("a stream that ends without the response: %q, %v", r.all(), r.err)
	}
	end := newReceiver()
	if p.End(t.Context(), header, end); end.wait(t).opened.Status != 204 {
		t.Errorf("DELETE: %+v, %v", end.opened, end.err)
	}
}

func TestAnswersThatBreakOff(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		begin := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"`, h.ID)
		if strings.Contains(h.Method, "long") {
			begin += long
		}
		if strings.Contains(h.Method, "events") {
			w.Header().Set("Content-Type", "text/event-stream")
			begin = "id: e1\ndata: " + begin
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		_, _ = io.WriteString(w, begin)
		w.(http.Flusher).Flush()
		if strings.Contains(h.Method, "quiet") {
			return // chunks end as if all were well
		}
		panic(http.ErrAbortHandler)
	})
	p := remote(t, s, nil)
	for _, method := range []string{"json", "long json", "quiet json", "events", "long events", "quiet long events"} {
		for _, header := range []http.Header{nil, {"Accept": {"application/json"}}} {
			r := passed(t, p, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, method), header)
			cut, ok := errors.AsType[*CutError](r.err)
			if !ok || cut.URL != s.URL+"/mcp" {
				t.Errorf("%s: Done(%v), want a CutError", method, r.err)
			}
			if r.broken == nil || errors.Is(r.broken, io.EOF) || strings.Contains(method, "long") && r.bytes < 200<<10 {
				t.Errorf("%s: %d bytes came, then %v", method, r.bytes, r.broken)
			}
		}
	}
	if n := s.posts.Load(); n != 12 {
		t.Errorf("12 requests were %d POSTs", n)
	}
	if n := s.count(http.MethodGet, ""); n != 0 {
		t.Errorf("an answer that broke off was asked for again %d times", n)
	}
}

func TestLargeAnswersPass(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		if h.Method == "events" {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":\"", h.ID)
			write256(w)
			_, _ = io.WriteString(w, "\"}\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"`, h.ID)
		write256(w)
		_, _ = io.WriteString(w, `"}`)
	})
	p := remote(t, s, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, method := range []string{"json", "events"} {
		if r := ask(t, p, "1", method); r.err != nil || r.bytes < 256<<20 || r.broken != nil {
			t.Errorf("%s: %d bytes, %v, %v", method, r.bytes, r.err, r.broken)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 { // the server's 2 MiB included
		t.Errorf("%d bytes were allocated for 512 MiB", n)
	}
}

func TestGzipAndSlowDrip(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		if h.Method == "drip" {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, c := range []byte(": hi\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n") {
				_, _ = w.Write([]byte{c})
				w.(http.Flusher).Flush()
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = fmt.Fprintf(z, `{"jsonrpc":"2.0","id":%s,"result":{"z":1}}`, h.ID)
		_ = z.Close()
	})
	p := remote(t, s, nil)
	if r := ask(t, p, "1", "zipped"); r.err != nil || !strings.Contains(r.last(), `"z":1`) {
		t.Errorf("gzip: %q, %v", r.last(), r.err)
	}
	if r := ask(t, p, "1", "drip"); r.err != nil || r.last() != "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}" {
		t.Errorf("drip: %q, %v", r.last(), r.err)
	}
}

func TestRedirects(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("another origin was asked") }))
	defer other.Close()
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		switch {
		case r.URL.Path == "/new":
			respond(w, h.ID, "{}")
		case h.Method == "same":
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
		case h.Method == "becomes GET":
			http.Redirect(w, r, "/new", http.StatusFound)
		default:
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	})
	p := remote(t, s, nil)
	if r := ask(t, p, "1", "same"); r.err != nil || r.last() == "" {
		t.Errorf("the same origin: %q, %v", r.last(), r.err)
	}
	for _, method := range []string{"other", "becomes GET"} {
		if e, ok := errors.AsType[*StatusError](ask(t, p, "1", method).err); !ok || e.Status/100 != 3 {
			t.Errorf("%s: %v", method, e)
		}
	}
}

func TestUnreachableServerIsNamedWithoutSecrets(t *testing.T) {
	gone := httptest.NewServer(nil)
	url := gone.URL
	gone.Close()
	r, err := HTTP(HTTPOptions{Name: "far", URL: strings.Replace(url, "http://", "http://user:hunter2@", 1) + "/mcp?key=hunter3"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := ask(t, r, "1", "echo").err
	if _, ok := errors.AsType[*Unreachable](got); !ok || !strings.Contains(got.Error(), url+"/mcp") || strings.Contains(got.Error(), "hunter") {
		t.Errorf("Done(%v)", got)
	}
	if _, err := HTTP(HTTPOptions{Name: "bad", URL: "ftp://x"}); err == nil {
		t.Error("ftp was taken")
	}
}

func TestHTTP2AndTLS(t *testing.T) {
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		if r.ProtoMajor != 2 {
			t.Errorf("spoken over %s", r.Proto)
		}
		respond(w, h.ID, "{}")
	})
	s.StartTLS()
	p := remote(t, s, nil)
	if r := ask(t, p, "1", "echo"); r.err != nil || r.last() == "" {
		t.Errorf("%q, %v", r.last(), r.err)
	}
}

func TestEndOfTheContextClosesTheStream(t *testing.T) {
	closed, begun := make(chan struct{}), make(chan struct{})
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		if h.Method == "never" {
			events(w, "id: 1\ndata:")
			close(begun)
			<-r.Context().Done()
			close(closed)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
	p := remote(t, s, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r := newReceiver()
	p.Send(ctx, request(t, "4", "never"), r)
	<-begun
	cancel()
	<-closed
	if r.wait(t); !errors.Is(r.err, context.Canceled) {
		t.Errorf("Done(%v)", r.err)
	}
	s.news.until(t, "the server is told of the cancellation", func() bool {
		return s.count(http.MethodPost, `"notifications/cancelled","params":{"requestId":4,`) == 1
	})
}
