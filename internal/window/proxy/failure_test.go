package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"github.com/plimsoll/plimsoll/journal"
)

func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestClientThatLeavesEndsTheUpstreamRequest(t *testing.T) {
	t.Parallel()
	arrived, left := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/v1/messages" { // in the middle of the answer
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n")
			w.(http.Flusher).Flush()
		}
		arrived <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	}))
	defer upstream.Close()
	_, root, _ := start(t, upstream.URL, Options{})
	for _, path := range []string{"/openai/v1/chat/completions", "/anthropic/v1/messages"} {
		ctx, cancel := context.WithCancel(t.Context())
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, root+path, strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`))
		done := make(chan error, 1)
		go func() {
			res, err := http.DefaultClient.Do(r)
			if err == nil {
				_, err = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			done <- err
		}()
		<-arrived
		cancel()
		<-left
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the client got %v", path, err)
		}
	}
}

func TestCutStreamIsCutForTheClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, answer string }{
		{"chunked", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\ndata: {\"choices\":[{\"delta\":\r\n"},
		{"length", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"choices\":["},
		{"error body", "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{\"error\":"},
	} {
		t.Run(c.name, func(t *testing.T) {
			upstream, _ := rawUpstream(t, c.answer)
			_, root, _ := start(t, upstream, Options{})
			res, err := http.Post(root+"/openai/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
			if err != nil {
				return // cut before anything came through is a cut, too
			}
			defer res.Body.Close()
			if text, err := io.ReadAll(res.Body); err == nil {
				t.Errorf("the client takes %q for a whole answer", text)
			}
		})
	}
}

func TestProviderThatIsNotThere(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + ln.Addr().String()
	ln.Close()
	hung, _ := rawUpstream(t, "") // closes without an answer
	for name, upstream := range map[string]string{"refuses": dead, "closes": hung} {
		_, root, j := start(t, upstream, Options{})
		for path, want := range map[string]string{
			"/openai/v1/chat/completions":               `"type":"server_error"`,
			"/anthropic/v1/messages":                    `"type":"api_error"`,
			"/gemini/v1beta/models/m:generateContent":   `"status":"UNAVAILABLE"`,
			"/anthropic/v1/files?key=secret-of-a-query": `"type":"api_error"`,
		} {
			res, text := post(t, root+path, `{"model":"m"}`)
			if res.StatusCode != http.StatusBadGateway || !strings.Contains(text, want) || !json.Valid([]byte(text)) || strings.Contains(text, "secret-of") {
				t.Errorf("%s, %s: %s %s, want 502 with %s", name, path, res.Status, text, want)
			}
		}
		if n := len(events[journal.WindowRefused](j)); n != 4 {
			t.Errorf("%s: %d refusals are in the journal, want 4", name, n)
		}
	}
}

func TestOddAnswersPassAsTheyAre(t *testing.T) {
	t.Parallel()
	html := "<html><body>502 Bad Gateway \xff</body></html>"
	zipped := gzipped(t, `{"id":"x","choices":[{"message":{"content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":3}}`)
	for _, c := range []struct {
		name, kind, encoding, body string
		status                     int
	}{
		{"HTML", "text/html", "", html, 502},
		{"HTML with 200", "text/html", "", html, 200},
		{"HTML as an error", "text/html", "", html, 400},
		{"gzip", "application/json", "gzip", zipped, 200},
		{"gzip that is none", "application/json", "gzip", "not gzip", 200},
		{"gzip cut short", "application/json", "gzip", zipped[:len(zipped)/2], 200},
		{"an encoding nobody knows", "application/json", "xyz", zipped, 200},
		{"429", "application/json", "", `{"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000."}}`, 429},
		{"500", "application/json", "", `{"error":{"message":"oops"}}`, 500},
		{"nothing", "application/json", "", "", 400},
		{"a stream of nothing", "text/event-stream", "", "", 200},
		{"a stream of no events", "text/event-stream", "", strings.Repeat("x", 100_000), 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := 0
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				w.Header().Set("Content-Type", c.kind)
				if c.encoding != "" {
					w.Header().Set("Content-Encoding", c.encoding)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer upstream.Close()
			_, root, j := start(t, upstream.URL, Options{})
			r, _ := http.NewRequest(http.MethodPost, root+"/openai/v1/chat/completions", strings.NewReader(`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`))
			r.Header.Set("Accept-Encoding", "gzip, xyz")
			res, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			got, err := io.ReadAll(res.Body)
			if err != nil || string(got) != c.body || res.StatusCode != c.status || res.Header.Get("Content-Encoding") != c.encoding || res.Header.Get("Content-Type") != c.kind {
				t.Errorf("%s %v %q (%v), want %d %q", res.Status, res.Header, got, err, c.status, c.body)
			}
			if asked != 1 {
				t.Errorf("the provider was asked %d times, want 1", asked)
			}
			_ = j
		})
	}
}

func TestBodyAboveTheViewStreamsThrough(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	digest := make(chan int64, 1)
	var first sync.Once
	begun := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buf := make([]byte, 1000)
		_, _ = io.ReadFull(r.Body, buf)
		first.Do(func() { close(begun) })
		n, _ := io.Copy(io.Discard, r.Body)
		digest <- n + 1000
	}))
	defer upstream.Close()
	for _, chunked := range []bool{false, true} {
		p, root, j := start(t, upstream.URL, Options{MemoryBudget: 1 << 20, MaxHeld: 256 << 10})
		var body io.Reader = bytes.NewReader(make([]byte, size))
		if chunked {
			body = io.MultiReader(body)
		}
		res, err := http.Post(root+"/openai/v1/chat/completions", "application/json", body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if n := <-digest; res.StatusCode != 200 || n != size {
			t.Errorf("chunked %v: %s, the provider got %d bytes, want %d", chunked, res.Status, n, size)
		}
		if passed := events[journal.WindowPassed](j); len(passed) != 1 || passed[0].Reason != "size" {
			t.Errorf("chunked %v: passed is %+v, want one for its size", chunked, passed)
		}
		if !p.budget.sem.TryAcquire(p.budget.size) {
			t.Errorf("chunked %v: the budget has not come back", chunked)
		}
	}
	<-begun
}

func TestBodyAboveTheMostIsRefused(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer upstream.Close()
	_, root, _ := start(t, upstream.URL, Options{MaxBody: 100 << 10})
	for _, path := range []string{"/anthropic/v1/messages", "/anthropic/v1/files"} {
		for _, chunked := range []bool{false, true} {
			var body io.Reader = bytes.NewReader(make([]byte, 1<<20))
			if chunked {
				body = io.MultiReader(body)
			}
			res, err := http.Post(root+path, "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(text), `"type":"request_too_large"`) || !strings.Contains(string(text), "lets through") {
				t.Errorf("%s, chunked %v: %s %s", path, chunked, res.Status, text)
			}
		}
	}
}

func TestFullBudgetIsToldApart(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-release
	}))
	defer upstream.Close()
	p, root, j := start(t, upstream.URL, Options{MemoryBudget: 100 << 10, BudgetWait: 10 * time.Millisecond})
	body := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 60<<10) + `"}]}`
	first := make(chan int)
	go func() {
		res, err := http.Post(root+"/anthropic/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			first <- 0
			return
		}
		res.Body.Close()
		first <- res.StatusCode
	}()
	<-arrived
	res, text := post(t, root+"/anthropic/v1/messages", body)
	if res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(text, `"overloaded_error"`) || !strings.Contains(text, "body_memory") {
		t.Errorf("the second gets %s %s, want 503", res.Status, text)
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err != nil || seconds < 1 {
		t.Errorf("Retry-After is %q", res.Header.Get("Retry-After"))
	}
	if refused := events[journal.WindowRefused](j); len(refused) != 1 || refused[0].Reason != "memory" {
		t.Errorf("refused is %+v", refused)
	}
	close(release)
	if status := <-first; status != 200 {
		t.Errorf("the first gets %d", status)
	}
	go func() { <-arrived }()
	if res, _ := post(t, root+"/anthropic/v1/messages", body); res.StatusCode != 200 {
		t.Errorf("after the first has ended: %s", res.Status)
	}
	if !p.budget.sem.TryAcquire(p.budget.size) {
		t.Error("the budget has not come back")
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.Header.Get("X-How") {
		case "cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "short")
			panic(http.ErrAbortHandler)
		case "error":
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error":{"message":"no"}}`)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n")
		}
	}))
	j := journal.New(journal.Options{})
	p, err := New(Options{Journal: j, Upstreams: []Upstream{{Name: "openai", URL: upstream.URL + "/v1"}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Listen(ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	for _, how := range []string{"", "cut", "error", "", "cut"} {
		r, _ := http.NewRequest(http.MethodPost, s.URL()+"/openai/v1/chat/completions", strings.NewReader(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		r.Header.Set("X-How", how)
		if res, err := client.Do(r); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
	}
	client.CloseIdleConnections()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	p.Close()
	upstream.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(deadline) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
	if !p.budget.sem.TryAcquire(p.budget.size) {
		t.Error("the budget has not come back")
	}
}

// Unpacking brotli takes its window beside the text, and that is a part of the budget too: a request with a wide one waits for room.
func TestWindowOfBrotliIsInTheBudget(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer upstream.Close()
	p, root, _ := start(t, upstream.URL, Options{MemoryBudget: 64 << 20, BudgetWait: 10 * time.Millisecond})
	taken := p.budget.size - 4<<20
	if !p.budget.sem.TryAcquire(taken) {
		t.Fatal("the budget is not free")
	}
	ask := func(window int) int {
		var body bytes.Buffer
		w := brotli.NewWriterOptions(&body, brotli.WriterOptions{Quality: 5, LGWin: window})
		_, _ = io.WriteString(w, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		_ = w.Close()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+"/anthropic/v1/messages", &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Encoding", "br")
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := ask(16); got != http.StatusOK {
		t.Errorf("a window of 64 KiB beside 4 MiB of room: %d", got)
	}
	if got := ask(24); got != http.StatusServiceUnavailable {
		t.Errorf("a window of 16 MiB beside 4 MiB of room: %d, want 503", got)
	}
	p.budget.sem.Release(taken)
	if got := ask(24); got != http.StatusOK {
		t.Errorf("a window of 16 MiB beside all the room: %d", got)
	}
	if !p.budget.sem.TryAcquire(p.budget.size) {
		t.Error("the budget has not come back")
	}
}
