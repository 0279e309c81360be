package client

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// serveTools is a whole MCP server in a child process.
func serveTools() {
	if err := toolserver.New(toolserver.Options{}).ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(5)
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// call calls a tool. meta is "" for the version with sessions.
func toolCall(t *testing.T, p transport.Peer, id, tool, arguments, meta string) *receiver {
	t.Helper()
	if meta != "" {
		meta += ","
	}
	r := newReceiver()
	p.Send(t.Context(), message(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{%s"name":%q,"arguments":%s}}`, id, meta, tool, arguments)), r)
	return r.wait(t)
}

func TestWholeServerOverEveryWay(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) transport.Peer{
		"standard streams": func(t *testing.T) transport.Peer { s, _ := child(t, "tools", nil); return s },
		"shared streams": func(t *testing.T) transport.Peer {
			s, _ := child(t, "tools", func(o *StdioOptions) { o.Shared = true })
			return s.Join()
		},
		"JSON":   func(t *testing.T) transport.Peer { return overHTTP(t, toolserver.Options{Answer: toolserver.JSON}) },
		"events": func(t *testing.T) transport.Peer { return overHTTP(t, toolserver.Options{Answer: toolserver.SSE}) },
	} {
		for version, meta := range map[string]string{"older": "", "newer": modernMeta} {
			t.Run(name+", "+version, func(t *testing.T) {
				p := open(t)
				if meta == "" {
					r := newReceiver()
					p.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`), r)
					if r.wait(t); r.err != nil {
						t.Fatal(r.err)
					}
					p.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), newReceiver())
				}
				if r := toolCall(t, p, "1", "echo", `{"text":"hello"}`, meta); r.err != nil || !strings.Contains(r.last(), "hello") {
					t.Fatalf("echo: %q, %v", r.last(), r.err)
				}
				var wg sync.WaitGroup
				for i := range 50 {
					wg.Go(func() {
						text := fmt.Sprintf("text %d", i)
						if r := toolCall(t, p, fmt.Sprint(100+i), "echo", fmt.Sprintf(`{"text":%q}`, text), meta); r.err != nil || !strings.Contains(r.last(), text) {
							t.Errorf("echo %d: %q, %v", i, r.last(), r.err)
						}
					})
				}
				wg.Wait()
				if r := toolCall(t, p, "2", "big", `{"bytes":33554432,"kind":"text"}`, meta); r.err != nil || r.bytes < 32<<20 || r.broken != nil {
					t.Errorf("32 MiB: %d bytes, %v, %v", r.bytes, r.err, r.broken)
				}
				for i := range 2 {
					toolCall(t, p, fmt.Sprint(10+i), "write", `{}`, meta)
				}
				if r := toolCall(t, p, "20", "stats", `{}`, meta); !strings.Contains(r.last(), `writes\":2`) && !strings.Contains(r.last(), `"writes":2`) {
					t.Errorf("two writes: %q", r.last())
				}
				if r := toolCall(t, p, "21", "bigint", `{}`, meta); r.err != nil || strings.Contains(r.last(), "e+") {
					t.Errorf("a big integer: %q, %v", r.last(), r.err)
				}
			})
		}
	}
}

func overHTTP(t *testing.T, o toolserver.Options) *Remote {
	t.Helper()
	ts := httptest.NewServer(toolserver.New(o).Handler())
	r, err := HTTP(HTTPOptions{Name: "tools", URL: ts.URL, Client: ts.Client()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		ts.Close()
		noGoroutineLeft(t)
	})
	return r
}

func TestDroppedStreamOfAWholeServerIsResumed(t *testing.T) {
	p := overHTTP(t, toolserver.Options{EventIDs: true})
	r := newReceiver()
	p.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`), r)
	if r.wait(t); r.err != nil {
		t.Fatal(r.err)
	}
	p.Send(t.Context(), message(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`), newReceiver())
	if r := toolCall(t, p, "1", "drop", `{"ms":20}`, ""); r.err != nil || !strings.Contains(r.last(), `"id":1`) {
		t.Errorf("%q, %v", r.all(), r.err)
	}
}

func BenchmarkEcho(b *testing.B) {
	ts := httptest.NewServer(toolserver.New(toolserver.Options{}).Handler())
	defer ts.Close()
	remote, err := HTTP(HTTPOptions{Name: "tools", URL: ts.URL})
	if err != nil {
		b.Fatal(err)
	}
	raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + modernMeta + `,"name":"echo","arguments":{"text":"` + strings.Repeat("x", 1<<10) + `"}}}`)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		b.Fatal(err)
	}
	echo := transport.Message{Raw: raw, Head: head}
	for name, p := range map[string]transport.Peer{"http": remote, "stdio": Stdio(StdioOptions{Name: "tools", Launch: self("tools")})} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				done := make(chan error, 1)
				p.Send(b.Context(), echo, transport.Funcs{OnDone: func(err error) { done <- err }})
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			}
		})
		_ = p.Close()
	}
}
