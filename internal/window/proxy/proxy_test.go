package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

// start runs a proxy in front of upstream with the options, and returns its root URL.
func start(t *testing.T, upstream string, o Options) (*Proxy, string, *journal.Journal) {
	t.Helper()
	o.Journal = journal.New(journal.Options{})
	if o.Upstreams == nil {
		o.Upstreams = []Upstream{
			{Name: "openai", URL: upstream + "/v1"},
			{Name: "anthropic", URL: upstream},
			{Name: "gemini", URL: upstream},
			{Name: "bedrock", URL: upstream},
		}
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Listen(ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		p.Close()
	})
	return p, s.URL(), o.Journal
}

// events returns the events of one kind.
func events[E journal.Event](j *journal.Journal) []E {
	var found []E
	for rec := range j.Since(0) {
		if e, ok := rec.Event.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// rawUpstream answers every connection with the response, and records what came as bytes.
func rawUpstream(t *testing.T, answer string) (string, <-chan string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	requests := make(chan string, 16)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var raw bytes.Buffer
				r, err := http.ReadRequest(bufio.NewReader(io.TeeReader(c, &raw)))
				if err != nil {
					return
				}
				if _, err := io.Copy(io.Discard, r.Body); err != nil {
					return
				}
				requests <- raw.String()
				fmt.Fprint(c, answer)
			}()
		}
	}()
	return "http://" + ln.Addr().String(), requests
}

// roundTrip sends bytes and returns the bytes that come back until the connection ends.
func roundTrip(t *testing.T, root, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(root, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		t.Logf("read: %v", err)
	}
	return string(answer)
}

// received is the request that came before the answer; without one the test ends.
func received(t *testing.T, requests <-chan string, answer string) string {
	t.Helper()
	select {
	case r := <-requests:
		return r
	default:
		t.Fatalf("nothing arrived at the upstream, and the answer is %.500q", answer)
		return ""
	}
}

// head splits what came into its first line, its sorted, lower-cased header lines and the body.
func head(raw string) (first string, headers []string, body string) {
	top, body, _ := strings.Cut(raw, "\r\n\r\n")
	all := strings.Split(top, "\r\n")
	for _, line := range all[1:] {
		name, value, _ := strings.Cut(line, ":")
		headers = append(headers, strings.ToLower(name)+":"+value)
	}
	slices.Sort(headers)
	return all[0], headers, body
}

func TestRequestBytesAreUntouched(t *testing.T) {
	t.Parallel()
	upstream, requests := rawUpstream(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
	_, root, _ := start(t, upstream, Options{})
	host := strings.TrimPrefix(root, "http://")
	for _, c := range []struct {
		name, line, wantLine string
		headers              []string
		body                 string
	}{
		{
			name: "nothing added", line: "POST /anthropic/v1/messages?beta=true HTTP/1.1", wantLine: "POST /v1/messages?beta=true HTTP/1.1",
			headers: []string{"x-api-key: k", "anthropic-beta: a,b", "Anthropic-Beta: c", "Content-Type: application/json"}, body: `{"model":"m" , "messages":[]}`,
		},
		{
			name: "accept-encoding and agent stay", line: "POST /openai/v1/chat/completions HTTP/1.1", wantLine: "POST /v1/chat/completions HTTP/1.1",
			headers: []string{"User-Agent: agent/1 (x)", "Accept-Encoding: gzip, br, zstd", "X-Forwarded-For: 10.1.1.1", "Authorization: Bearer k", "Via: 1.1 x"}, body: "not json \x00\xff",
		},
		{
			name: "query and escapes stay", line: "POST /gemini/v1beta/models/a%2Fb%3Ac:countTokens?alt=sse&x=%zz;y&k HTTP/1.1", wantLine: "POST /v1beta/models/a%2Fb%3Ac:countTokens?alt=sse&x=%zz;y&k HTTP/1.1",
			headers: []string{"X-Goog-Api-Key: k"}, body: "{}",
		},
		{
			name: "bytes net/url would escape", line: "GET /openai/v1/files/{a|b}\"^ HTTP/1.1", wantLine: "GET /v1/files/{a|b}\"^ HTTP/1.1",
			headers: []string{"Accept: */*"},
		},
		{
			name: "an odd method and a bare question mark", line: "PROPFIND /openai/v1/x? HTTP/1.1", wantLine: "PROPFIND /v1/x? HTTP/1.1",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var request strings.Builder
			request.WriteString(c.line + "\r\nHost: " + host + "\r\nConnection: close\r\n")
			for _, h := range c.headers {
				request.WriteString(h + "\r\n")
			}
			if c.body != "" {
				request.WriteString(fmt.Sprintf("Content-Length: %d\r\n", len(c.body)))
			}
			first, headers, body := head(received(t, requests, roundTrip(t, root, request.String()+"\r\n"+c.body)))
			if first != c.wantLine {
				t.Errorf("the request line is %q, want %q", first, c.wantLine)
			}
			want := []string{"host: " + strings.TrimPrefix(upstream, "http://")}
			for _, h := range c.headers {
				name, value, _ := strings.Cut(h, ":")
				want = append(want, strings.ToLower(name)+":"+value)
			}
			if c.body != "" {
				want = append(want, fmt.Sprintf("content-length: %d", len(c.body)))
			}
			slices.Sort(want)
			if !slices.Equal(headers, want) {
				t.Errorf("the headers are\n%q, want\n%q", headers, want)
			}
			if body != c.body {
				t.Errorf("the body is %q, want %q", body, c.body)
			}
		})
	}
}

func TestResponseBytesAreUntouched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, answer string }{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Odd: a\r\nX-Odd: b\r\nConnection: close\r\n\r\nhello"},
		{"no date, no type", "HTTP/1.1 418 I'm a teapot\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>hi</html>"},
		{"empty", "HTTP/1.1 204 No Content\r\nX-A: b\r\nConnection: close\r\n\r\n"},
		{"encoded", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\nConnection: close\r\n\r\n\x1f\x8b\x08\x00"},
		{"early hints", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"},
		{"chunked with trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 42\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			upstream, _ := rawUpstream(t, c.answer)
			_, root, _ := start(t, upstream, Options{})
			got := roundTrip(t, root, "GET /openai/v1/x HTTP/1.1\r\nHost: "+strings.TrimPrefix(root, "http://")+"\r\nConnection: close\r\n\r\n")
			gotFirst, gotHeaders, gotBody := head(got)
			wantFirst, wantHeaders, wantBody := head(c.answer)
			if gotFirst != wantFirst && c.name != "no date, no type" { // the reason phrase is net/http's
				t.Errorf("the status line is %q, want %q", gotFirst, wantFirst)
			}
			if !slices.Equal(gotHeaders, wantHeaders) {
				t.Errorf("the headers are\n%q, want\n%q", gotHeaders, wantHeaders)
			}
			if gotBody != wantBody {
				t.Errorf("the body is %q, want %q", gotBody, wantBody)
			}
		})
	}
}

func TestEveryEventArrivesAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			<-next // only once the client has the event comes the next
		}
	}))
	defer upstream.Close()
	_, root, _ := start(t, upstream.URL, Options{})
	res, err := http.Post(root+"/openai/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for i := range 3 {
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Fatalf("event %d is %q (%v)", i, line, err)
		}
		_, _ = lines.ReadString('\n')
		next <- struct{}{}
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) != 0 {
		t.Errorf("after the last event came %q (%v)", rest, err)
	}
}

// Some clients ask for the root to see whether anybody is there: of the proxy, and of the
// upstream.
func TestHeadOfTheRoot(t *testing.T) {
	t.Parallel()
	upstream, requests := rawUpstream(t, "HTTP/1.1 200 OK\r\nContent-Length: 123\r\nX-Root: yes\r\nConnection: close\r\n\r\n")
	_, root, _ := start(t, upstream, Options{})
	for path, line := range map[string]string{"/": "", "/anthropic": "HEAD / HTTP/1.1", "/anthropic/": "HEAD / HTTP/1.1"} {
		got := roundTrip(t, root, "HEAD "+path+" HTTP/1.1\r\nHost: "+strings.TrimPrefix(root, "http://")+"\r\nConnection: close\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 200 ") {
			t.Errorf("%s: %q", path, got)
		}
		if line == "" {
			continue
		}
		if first, _, _ := head(received(t, requests, got)); first != line || !strings.Contains(got, "X-Root: yes") || !strings.Contains(got, "Content-Length: 123") {
			t.Errorf("%s: %q was asked, and the answer is %q", path, first, got)
		}
	}
}
