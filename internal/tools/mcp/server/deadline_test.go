package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/streams"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// pipes is a listener whose connections are in memory, so that the clock of a bubble counts on them.
type pipes struct {
	made chan net.Conn
	done chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.made:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// late gives nothing for a while, and then the end.
type late time.Duration

func (l late) Read([]byte) (int, error) {
	time.Sleep(time.Duration(l)) // of the bubble's clock
	return 0, io.EOF
}

// What net/http writes when an answer has been made, the end of a body of unknown length at least, must not
// fail because the write before it, or the request before it on the connection, was long ago.
func TestTheLastBytesHaveATimeoutOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const timeout = 30 * time.Second
		h := New(Options{WriteTimeout: timeout, KeepAlive: time.Hour, Open: func(context.Context, Opening) (Session, error) {
			s := newServer()
			s.onSend = func(_ context.Context, m transport.Message, to transport.Receiver) bool {
				if m.Head.Method != "tools/call" {
					return false
				}
				s.open.Go(func() {
					head := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"text":"`, m.Head.ID)
					to.Receive(&transport.Frame{Head: head, Rest: io.MultiReader(streams.Repeat("x", 100_000), strings.NewReader(`"}}`), late(2*timeout))})
					to.Done(nil)
				})
				return true
			}
			return Session{Peer: s}, nil
		}})
		listener := &pipes{made: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: h}
		served := make(chan error, 1)
		go func() { served <- server.Serve(listener) }()
		client, conn := net.Pipe()
		listener.made <- conn
		answers := bufio.NewReader(client)
		session := ""
		post := func(body string, want int) string {
			t.Helper()
			fmt.Fprintf(client, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%sContent-Length: %d\r\n\r\n%s", session, len(body), body)
			response, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != want {
				t.Errorf("%d, %d bytes, %v; want %d and the end", response.StatusCode, len(text), err, want)
			}
			if id := response.Header.Get(headerSession); id != "" {
				session = headerSession + ": " + id + "\r\n"
			}
			return string(text)
		}
		post(fmt.Sprintf(initialize, "2025-06-18"), http.StatusOK)
		if answer := post(toolCall(1, "x"), http.StatusOK); !strings.Contains(answer, `xxx"}}`) {
			t.Errorf("%d bytes, which end in %q", len(answer), answer[max(0, len(answer)-20):])
		}
		time.Sleep(2 * timeout) // of the bubble's clock; the connection is idle
		post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
		if got := h.Stats().Slow; got != 0 {
			t.Errorf("%d slow readers", got)
		}
		client.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
		<-served
	})
}
