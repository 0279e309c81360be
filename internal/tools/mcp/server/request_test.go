package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

func TestBadRequests(t *testing.T) {
	p := newPlace(t, Options{MaxMessage: 1000}, false, nil)
	deep := strings.Repeat(`{"a":`, 11000) + "1" + strings.Repeat("}", 11000)
	for _, test := range []struct {
		what, method, body string
		headers            []string
		status             int
		answer             string
	}{
		{"no JSON", "POST", `hello`, nil, 400, "-32700"},
		{"empty", "POST", ``, nil, 400, "-32700"},
		{"half", "POST", `{"jsonrpc":"2.0",`, nil, 400, "-32600"},
		{"two", "POST", `{"jsonrpc":"2.0","method":"a"}{}`, nil, 400, "-32600"},
		{"no message", "POST", `{"a":1}`, nil, 400, "-32600"},
		{"a string", "POST", `"x"`, nil, 400, "-32700"},
		{"a batch", "POST", ` [{"jsonrpc":"2.0","id":1,"method":"ping"}]`, nil, 400, "batches"},
		{"an id of another kind", "POST", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, 400, "-32600"},
		{"too large", "POST", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1000) + `"}`, nil, 413, "1000 bytes"},
		{"content type", "POST", `{}`, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"no content type", "POST", `{}`, []string{"Content-Type", ""}, 415, "application/json"},
		{"like JSON", "POST", `{}`, []string{"Content-Type", "application/json-patch+json"}, 415, "application/json"},
		{"charset", "POST", `{}`, []string{"Content-Type", "application/json; charset=utf-16"}, 415, "application/json"},
		{"with charset", "POST", `{`, []string{"Content-Type", "Application/JSON; charset=UTF-8"}, 400, "-32600"},
		{"no session", "POST", `{"jsonrpc":"2.0","id":"é","method":"ping"}`, nil, 400, `"id":"é","error"`},
		{"a response to nobody", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, nil, 400, "Mcp-Session-Id"},
		{"GET without a session", "GET", ``, nil, 400, "Mcp-Session-Id"},
		{"DELETE without a session", "DELETE", ``, nil, 400, "Mcp-Session-Id"},
		{"GET of an unknown session", "GET", ``, []string{"Mcp-Session-Id", "x"}, 404, "initialize"},
		{"PUT", "PUT", `{}`, nil, 405, "POST"},
		{"OPTIONS", "OPTIONS", ``, nil, 204, ""},
		{"HEAD", "HEAD", ``, nil, 405, ""},
	} {
		response := p.do(t.Context(), test.method, test.body, test.headers...)
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != test.status || !strings.Contains(string(answer), test.answer) {
			t.Errorf("%s: %d %s %v, want %d with %q", test.what, response.StatusCode, answer, err, test.status, test.answer)
		}
		if allow := response.Header.Get("Allow"); response.StatusCode == 405 && allow == "" {
			t.Errorf("%s: no Allow header", test.what)
		}
	}
	if _, bad := parseMessage([]byte(deep)); bad == nil || bad.Status != 400 {
		t.Errorf("nested deep: %v", bad)
	}
	if len(p.servers) != 0 {
		t.Errorf("%d servers were opened", len(p.servers))
	}
}

// raw speaks HTTP byte for byte.
func (p *place) raw(t *testing.T, request string) (*http.Response, net.Conn) {
	t.Helper()
	u, err := url.Parse(p.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return response, conn
}

func TestRawRequests(t *testing.T) {
	p := newPlace(t, Options{ReadTimeout: 100 * time.Millisecond, MaxMessage: 4 << 10}, false, nil)
	begin := fmt.Sprintf(initialize, "2025-06-18")
	const headers = "Host: x\r\nContent-Type: application/json\r\n"
	for _, test := range []struct {
		what, request string
		status        int
	}{
		{"HTTP/1.0", fmt.Sprintf("POST / HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(begin), begin), 200},
		{"a body that does not come", "POST / HTTP/1.1\r\n" + headers + "Content-Length: 100\r\n\r\n{", 408},
		{"chunks that stop", "POST / HTTP/1.1\r\n" + headers + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", 408},
		{"chunks", fmt.Sprintf("POST / HTTP/1.1\r\n"+headers+"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(begin), begin), 200},
		{"bad chunks", "POST / HTTP/1.1\r\n" + headers + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
		{"announced too large", "POST / HTTP/1.1\r\n" + headers + "Content-Length: 99999999999\r\n\r\n", 413},
		{"chunks without end", "POST / HTTP/1.1\r\n" + headers + "Transfer-Encoding: chunked\r\n\r\n1800\r\n" + strings.Repeat("x", 0x1800) + "\r\n", 413},
	} {
		response, conn := p.raw(t, test.request)
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Errorf("%s: %v", test.what, err)
		}
		conn.Close()
		if response.StatusCode != test.status {
			t.Errorf("%s: %d, want %d", test.what, response.StatusCode, test.status)
		}
	}
}

func TestMessagesOfClientsAreBounded(t *testing.T) {
	p := newPlace(t, Options{MaxBodies: 100 << 10}, false, nil)
	// One that has sent a part holds that part only, and the next fits no more.
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the first body is being read", func() bool { return p.h.Stats().Bodies > 0 })
	body := `{"jsonrpc":"2.0","method":"` + strings.Repeat("x", 60<<10) + `"}`
	if status, header, _ := p.post(body); status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("%d %v", status, header)
	}
}

func TestHostAndOrigin(t *testing.T) {
	p := newPlace(t, Options{Hosts: []string{"127.0.0.1", "localhost"}, Origins: []string{"localhost", "https://app.example:8443"}}, false, nil)
	for _, test := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 200},
		{"localhost:80", "http://localhost:5173", 200},
		{"LOCALHOST", "https://app.example:8443", 200},
		{"evil.example", "", 403},
		{"localhost.evil.example", "", 403},
		{"", "http://evil.example", 403},
		{"", "http://app.example:8443", 403},
		{"", "null", 403},
		{"", "http://localhost.evil.example", 403},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(fmt.Sprintf(initialize, "2025-06-18")))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Host = test.host
		if test.origin != "" {
			r.Header.Set("Origin", test.origin)
		}
		response, err := p.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != test.status {
			t.Errorf("Host %q, Origin %q: %d", test.host, test.origin, response.StatusCode)
		}
	}
}

func TestOpenMayRefuse(t *testing.T) {
	p := newPlace(t, Options{
		Open: func(context.Context, Opening) (Session, error) {
			return Session{}, &Refusal{Status: 507, Code: -32603, Text: "no room", Data: []byte(`{"a":1}`), Header: http.Header{"Retry-After": {"9"}}}
		},
		Principal: func(r *http.Request) (string, error) {
			if r.Header.Get("Who") == "" {
				return "", fmt.Errorf("who are you")
			}
			return "a", nil
		},
	}, false, nil)
	if status, _, answer := p.post(`{}`); status != 401 || !strings.Contains(answer, "who are you") {
		t.Errorf("%d %s", status, answer)
	}
	status, header, answer := p.post(fmt.Sprintf(initialize, "2025-06-18"), "Who", "a")
	if status != 507 || header.Get("Retry-After") != "9" || answer != `{"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"no room","data":{"a":1}}}` {
		t.Errorf("%d %v %s", status, header, answer)
	}
}
