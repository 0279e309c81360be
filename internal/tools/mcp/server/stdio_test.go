package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// stdioClient is a client on pipes.
type stdioClient struct {
	t      *testing.T
	server *server
	in     *io.PipeWriter
	out    *bufio.Reader
	outEnd *io.PipeReader
	done   chan error
	cancel context.CancelFunc
}

func newStdioClient(t *testing.T, o StdioOptions, set func(*server)) *stdioClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &stdioClient{t: t, server: newServer(), in: inW, out: bufio.NewReaderSize(outR, 1<<20), outEnd: outR, done: make(chan error, 1)}
	if set != nil {
		set(c.server)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		err := Stdio(ctx, inR, outW, c.server, o)
		outW.Close()
		inR.Close()
		c.done <- err
	}()
	t.Cleanup(func() {
		cancel()
		inW.Close()
		outR.Close()
		<-c.server.closed
	})
	return c
}

func (c *stdioClient) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *stdioClient) line() string {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("reading a line: %v (%q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *stdioClient) want(parts ...string) {
	c.t.Helper()
	line := c.line()
	for _, part := range parts {
		if !strings.Contains(line, part) {
			c.t.Fatalf("got %.300s, want %q", line, part)
		}
	}
}

func TestStdio(t *testing.T) {
	c := newStdioClient(t, StdioOptions{Principal: "me", MaxMessage: 200 << 10}, nil)
	// A byte order mark, "\r\n" and blank lines.
	c.send("\xef\xbb\xbf" + fmt.Sprintf(initialize, "2025-06-18") + "\r\n\r\n\n")
	c.want(`"id":0`, "2025-06-18")
	c.send(toolCall(1, "echo") + "\n")
	if got := c.line(); got != `{"jsonrpc":"2.0","id":1,"result":{"big":9007199254740993,"of":"me"}}` {
		t.Errorf("echo: %s", got)
	}
	c.send(toolCall(2, "notes:1") + "\n")
	c.want(`"progress":0`)
	c.want(`"id":2`)
	c.send(toolCall(3, "ask") + "\n")
	c.want("elicitation/create")
	c.send(`{"jsonrpc":"2.0","id":1001,"result":{"action":"accept"}}` + "\n")
	c.want(`"id":3`, `"action":"accept"`)
	// What a server in Python would not read, and never answer.
	c.send(toolCall(10, "ask") + "\n")
	c.want("elicitation/create")
	c.send("{\"jsonrpc\":\"2.0\",\"id\":1002,\"result\":{\"name\":\"half \\ud83d, caf\xe9\"}}\n")
	c.want(`"id":10`, `"name":"half \ufffd, caf\ufffd"`)
	c.send(toolCall(4, "fail") + "\n")
	c.want(`"id":4,"error":{"code":-32603,"message":"the server is gone: status 3"}`)
	for _, test := range []struct{ line, want string }{
		{`hello`, "-32700"},
		{`{"jsonrpc":"2.0","id":5`, `"id":null,"error":{"code":-32600`},
		{`[{"jsonrpc":"2.0","id":6,"method":"ping"}]`, "batches"},
		{`{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"` + strings.Repeat("x", 200<<10) + `"}}`, `"id":7,"error":{"code":-32600`},
		{strings.Repeat(`{"a":`, 11000) + "1" + strings.Repeat("}", 11000), "-32600"},
		{`{"jsonrpc":"2.0","id":true,"method":"x"}`, "-32600"},
	} {
		c.send(test.line + "\n")
		c.want(test.want)
	}
	// Raw line breaks of a message of HTTP become spaces.
	c.send(toolCall(8, "big:300000") + "\n")
	big := c.line()
	if !strings.HasPrefix(big, `{"jsonrpc":"2.0", "id":8,`) || !strings.HasSuffix(big, `xxx"}  ,"x":1 }`) || len(big) < 300000 {
		t.Errorf("big: %.60s…%s", big, big[len(big)-30:])
	}
	// One that breaks off ends its line; the error follows.
	c.send(toolCall(9, "cut:300000") + "\n")
	if cut := c.line(); !strings.HasPrefix(cut, `{"jsonrpc":"2.0","id":9,`) {
		t.Errorf("cut: %.60s", cut)
	}
	c.want(`"id":9,"error"`)
	c.in.Close()
	if err := <-c.done; err != nil {
		t.Errorf("the client left: %v", err)
	}
	<-c.server.closed
}

func TestStdioKeepsTheOrder(t *testing.T) {
	c := newStdioClient(t, StdioOptions{}, nil)
	var want []string
	var all strings.Builder
	for i := range 500 {
		method := fmt.Sprintf("notifications/n%d", i)
		want = append(want, method)
		fmt.Fprintf(&all, `{"jsonrpc":"2.0","method":%q}`+"\n", method)
	}
	c.send(all.String())
	c.in.Close()
	if err := <-c.done; err != nil {
		t.Error(err)
	}
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if got := c.server.heard; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%d of %d in order: %v", len(got), len(want), got[:min(len(got), 5)])
	}
}

func TestStdioEnds(t *testing.T) {
	t.Run("open requests get time", func(t *testing.T) {
		c := newStdioClient(t, StdioOptions{Grace: time.Hour}, nil)
		c.send(toolCall(1, "wait:x") + "\n")
		c.want("begun")
		c.in.Close()
		wait.Until(t, "a call that waits", func() bool { return c.server.release("x") })
		c.want(`"waited":true`)
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
	t.Run("but not for ever", func(t *testing.T) {
		c := newStdioClient(t, StdioOptions{Grace: 10 * time.Millisecond}, nil)
		c.send(toolCall(1, "wait:x") + "\n")
		c.want("begun")
		c.in.Close()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
	t.Run("a client that reads no more", func(t *testing.T) {
		c := newStdioClient(t, StdioOptions{}, nil)
		c.outEnd.Close()
		c.send(toolCall(1, "echo") + "\n")
		if err := <-c.done; !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "writing to the client") {
			t.Errorf("%v", err)
		}
	})
	t.Run("in the middle of a message", func(t *testing.T) {
		c := newStdioClient(t, StdioOptions{}, nil)
		c.send(`{"jsonrpc":"2.0",`)
		c.in.Close()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
	t.Run("the context", func(t *testing.T) {
		c := newStdioClient(t, StdioOptions{}, nil)
		c.send(toolCall(1, "wait:x") + "\n")
		c.want("begun")
		c.cancel()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestStdioBounds(t *testing.T) {
	c := newStdioClient(t, StdioOptions{MaxOpen: 1}, nil)
	c.send(toolCall(1, "wait:x") + "\n")
	c.want("begun")
	c.send(toolCall(1, "echo") + "\n")
	c.want(`"id":1,"error":{"code":-32600`)
	c.send(toolCall(2, "echo") + "\n")
	c.want(`"id":2,"error":{"code":-32603`)
	// One that is taken back is no longer open, and nothing is said about it.
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	wait.Until(t, "the request ends", func() bool {
		c.send(toolCall(3, "echo") + "\n")
		line := c.line()
		if strings.Contains(line, `"id":1`) {
			t.Fatalf("an answer to what was taken back: %s", line)
		}
		return strings.Contains(line, `"id":3,"result"`)
	})
}

func TestStdioPanics(t *testing.T) {
	c := newStdioClient(t, StdioOptions{}, func(s *server) {
		s.onSend = func(_ context.Context, m transport.Message, _ transport.Receiver) bool {
			if m.Head.Method == "panic" {
				panic("as asked")
			}
			return false
		}
	})
	c.send(`{"jsonrpc":"2.0","id":1,"method":"panic"}` + "\n" + toolCall(2, "echo") + "\n")
	c.want(`"id":1,"error":{"code":-32603`)
	c.want(`"id":2,"result"`)
}

// A message of 16 MiB is taken, and answers of many at once stay whole lines.
func TestStdioLarge(t *testing.T) {
	c := newStdioClient(t, StdioOptions{}, nil)
	go func() {
		_, _ = fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"echo","x":"%s"}}`+"\n", strings.Repeat("x", DefaultMaxMessage-200))
		for i := range 8 {
			_, _ = io.WriteString(c.in, toolCall(i+1, "big:1000000")+"\n")
		}
		c.in.Close()
	}()
	seen := 0
	for {
		line, err := c.out.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if head, err := jsonrpc.Scan(bytes.TrimSpace(line)); err != nil || head.Result.IsZero() {
			t.Fatalf("no whole line: %v: %.80s", err, line)
		}
		seen++
	}
	if seen != 9 {
		t.Errorf("%d answers", seen)
	}
	if err := <-c.done; err != nil {
		t.Error(err)
	}
}
