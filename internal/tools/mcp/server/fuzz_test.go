package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// answering answers every request at once, some after a notification, some with an error.
func answering(_ context.Context, m transport.Message, to transport.Receiver) bool {
	if m.Head.Kind == jsonrpc.Request && m.Head.Method != "initialize" {
		id := m.Head.ID
		if len(m.Raw)%3 == 0 {
			to.Receive(frame(`{"jsonrpc":"2.0","method":"notifications/progress"}`))
		}
		switch len(m.Raw) % 4 {
		case 0:
			to.Done(errors.New("gone"))
			return true
		case 1:
			to.Receive(&transport.Frame{Head: jsonrpc.ErrorResponse(id, jsonrpc.CodeMethod, "no", nil)})
		case 2:
			head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":`, id)
			to.Receive(&transport.Frame{Head: head, Rest: strings.NewReader("{\n}}")})
		default:
			to.Receive(frame(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id))
		}
		to.Done(nil)
		return true
	}
	return false
}

// FuzzHTTP sends raw requests, in which SESSION is the id of a session that there is. Each
// gets one of the answers that the protocol knows, soon, and leaves nothing behind.
func FuzzHTTP(f *testing.F) {
	post := func(body string, headers ...string) []byte {
		return fmt.Appendf(nil, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s",
			strings.Join(append(headers, ""), "\r\n"), len(body), body)
	}
	f.Add(post(fmt.Sprintf(initialize, "2025-11-25")))
	f.Add(post(toolCall(1, "x"), "Mcp-Session-Id: SESSION", "Mcp-Protocol-Version: 2025-11-25"))
	f.Add(post(toolCall(10, "x"), "Mcp-Session-Id: SESSION"))
	f.Add(post(toolCall(100, "x"), "Mcp-Session-Id: SESSION"))
	f.Add(post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, "Mcp-Session-Id: SESSION"))
	f.Add(post(`{"jsonrpc":"2.0","id":1,"result":{}}`, "Mcp-Session-Id: SESSION"))
	f.Add(post(modernCall(1, "x"), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: x"))
	f.Add(post(modernCall(1, "ö"), "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: =?base64?w7Y=?="))
	f.Add(post(`[]`))
	f.Add(post(`{"id":` + strings.Repeat("9", 2000) + `,"method":"\u0000"}`))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: SESSION\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: SESSION\r\nLast-Event-ID: 2-1\r\n\r\n"))
	f.Add([]byte("DELETE / HTTP/1.0\r\nMcp-Session-Id: SESSION\r\n\r\n"))
	f.Add([]byte("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"))
	statuses := map[int]bool{200: true, 202: true, 204: true, 400: true, 403: true, 404: true, 405: true, 406: true, 413: true, 415: true, 429: true}
	f.Fuzz(func(t *testing.T, raw []byte) {
		h := New(Options{
			MaxMessage: 64 << 10, Hosts: []string{"localhost"}, Origins: []string{"localhost"},
			Open: func(_ context.Context, o Opening) (Session, error) {
				if !o.Modern && !o.Begins {
					return Session{}, ErrNoSession
				}
				s := newServer()
				s.onSend = answering
				return Session{Peer: s}, nil
			},
		})
		ask := func(r *http.Request) *httptest.ResponseRecorder {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			w := httptest.NewRecorder()
			func() {
				defer func() {
					if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // as net/http does
						t.Fatalf("panic: %v", p)
					}
				}()
				h.ServeHTTP(w, r.WithContext(ctx))
			}()
			return w
		}
		begin, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(post(fmt.Sprintf(initialize, "2025-11-25")))))
		if err != nil {
			t.Fatal(err)
		}
		id := ask(begin).Header().Get("Mcp-Session-Id")
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(bytes.ReplaceAll(raw, []byte("SESSION"), []byte(id)))))
		if err == nil {
			w := ask(r)
			if !statuses[w.Code] {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			if body := w.Body.Bytes(); w.Header().Get("Content-Type") == "application/json" {
				if _, err := rawjson.Only(body); err != nil {
					t.Errorf("an answer that is no JSON: %v: %q", err, body)
				}
			} else if w.Code >= 400 && r.Method != http.MethodHead {
				t.Errorf("status %d without a reason: %q", w.Code, body)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if got := h.Stats(); got.Panics != 0 || got.Sessions != 0 || got.Stored != 0 || got.Bodies != 0 || got.Serving != 0 {
			t.Errorf("left: %+v", got)
		}
	})
}

// FuzzStdio sends any bytes: every line that comes back is a message, and it ends.
func FuzzStdio(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(initialize, "2025-11-25") + "\n" + toolCall(1, "x") + "\r\n\n" + toolCall(1, "x") + "\n"))
	f.Add([]byte("\xef\xbb\xbf" + toolCall(10, "x") + "\n" + toolCall(100, "x")))
	f.Add([]byte(`[{}]` + "\n" + `{"id":"\` + "\n" + `{"jsonrpc":"2.0","id":-0.0e1,"method":"a"}` + "\n"))
	f.Add([]byte(strings.Repeat("[", 20000) + "\n" + strings.Repeat("x", 70000) + "\n"))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n{\"a\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := newServer()
		s.onSend = answering
		var out bytes.Buffer
		if err := Stdio(t.Context(), bytes.NewReader(in), &out, s, StdioOptions{MaxMessage: 32 << 10, Grace: time.Second}); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out.Bytes()) {
			if line[len(line)-1] != '\n' {
				t.Errorf("half a line: %q", line)
			}
			if _, err := jsonrpc.Scan(line); err != nil {
				t.Errorf("no message: %v: %q", err, line)
			}
		}
	})
}

// FuzzChallenge puts our URL into any header.
func FuzzChallenge(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://x/y", scope="a"`)
	f.Add(`Bearer Resource_Metadata=https://x/y`)
	f.Add(`Bearer resource_metadata="`)
	f.Add(`Basic realm=x`)
	f.Add("\u0130\u0130\u0130 resource_metadata=")
	h := New(Options{Resource: func(*http.Request) string { return "http://here/" }})
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	f.Fuzz(func(t *testing.T, value string) {
		got := h.rewriteChallenge(r, value)
		has := strings.Contains(value, "resource_metadata=")
		if ours := strings.Contains(got, `resource_metadata="http://here/"`); has && !ours || !ours && got != value {
			t.Errorf("%q became %q", value, got)
		}
	})
}
