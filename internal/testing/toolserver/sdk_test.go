//lint:file-ignore SA1019 the deprecated features still have to pass.

package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client is the official client with every ability, and what it heard.
type client struct {
	*mcp.ClientSession
	progress, logs, tools, updated chan string
}

func connect(t *testing.T, transport mcp.Transport, version string) client {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(stop)
	c := client{progress: make(chan string, 100), logs: make(chan string, 100), tools: make(chan string, 100), updated: make(chan string, 100)}
	sdk := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": r.Params.Message}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: "hello"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.progress <- r.Params.Message },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { c.logs <- fmt.Sprint(r.Params.Data) },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { c.tools <- "changed" },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.updated <- r.Params.URI },
	})
	sdk.AddRoots(&mcp.Root{URI: "file:///work"})
	var err error
	if c.ClientSession, err = sdk.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if got := c.InitializeResult().ProtocolVersion; got != version {
		t.Fatalf("protocol %s, want %s", got, version)
	}
	return c
}

func (c client) text(t *testing.T, name string, arguments any) string {
	t.Helper()
	p := &mcp.CallToolParams{Name: name, Arguments: arguments}
	p.SetProgressToken("token")
	r, err := c.CallTool(t.Context(), p)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r.Content[0].(*mcp.TextContent).Text
}

// again makes a change until the notification of it has come.
func again(t *testing.T, c chan string, change func()) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		change()
		select {
		case s := <-c:
			return s
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("the notification did not come")
	return ""
}

func overStdio(t *testing.T, s *Server) mcp.Transport {
	p := s.Pipe()
	t.Cleanup(func() {
		_ = p.Stdin.Close()
		_ = p.Wait()
	})
	return &mcp.IOTransport{Reader: p.Stdout, Writer: p.Stdin}
}

func overHTTP(t *testing.T, s *Server) mcp.Transport {
	ts := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return &mcp.StreamableClientTransport{Endpoint: ts.URL}
}

// TestOfficialClient drives every feature with the official client, in both protocol versions, over both
// transports and in both forms of answer.
func TestOfficialClient(t *testing.T) {
	for _, version := range []string{Modern, LatestOlder} {
		for name, o := range map[string]Options{
			"stdio": {}, "http auto": {}, "http sse": {Answer: SSE, EventIDs: true}, "http json": {Answer: JSON},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				s := New(o)
				transport := overHTTP(t, s)
				if name == "stdio" {
					transport = overStdio(t, s)
				}
				c := connect(t, transport, version)
				exercise(t, c, version)
			})
		}
	}
}

func exercise(t *testing.T, c client, version string) {
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != len(allTools) {
		t.Fatalf("tools/list: %v, %v", tools, err)
	}
	if got := c.text(t, "echo", map[string]any{"text": "hi <&> \u00e9"}); got != "hi <&> \u00e9" {
		t.Errorf("echo gave %q", got)
	}
	if got := c.text(t, "big", map[string]any{"bytes": 100_000, "needle": "the end"}); !json.Valid([]byte(got)) || len(got) < 99_000 || !strings.Contains(got, "the end") {
		t.Errorf("big gave %d bytes of invalid or incomplete JSON", len(got))
	}
	if got := c.text(t, "ask", map[string]any{"rounds": 2, "several": 2}); strings.Count(got, `"accept"`) != 4 || !strings.Contains(got, "(2.2)") {
		t.Errorf("ask gave %q", got)
	}
	if got := c.text(t, "sample", nil); !strings.Contains(got, "hello") {
		t.Errorf("sample gave %q", got)
	}
	if got := c.text(t, "roots", nil); !strings.Contains(got, "file:///work") {
		t.Errorf("roots gave %q", got)
	}
	if got := c.text(t, "slow", map[string]any{"ms": 8, "steps": 2}); got != "done after 2 steps" {
		t.Errorf("slow gave %q", got)
	}
	if version != Modern {
		if err := c.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
			t.Error(err)
		}
		if err := c.Ping(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	c.text(t, "log", map[string]any{"level": "info"})
	if r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://small/1"}); err != nil || r.Contents[0].Text != "resource 1" {
		t.Errorf("resources/read: %v, %v", r, err)
	}
	if _, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "test://nowhere"}); err == nil {
		t.Error("a resource that is not there was read")
	}
	if r, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "ask"}); err != nil || !strings.Contains(r.Messages[0].Content.(*mcp.TextContent).Text, "accept") {
		t.Errorf("prompts/get: %v, %v", r, err)
	}
	if r, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "par"}}); err != nil || len(r.Completion.Values) != 3 {
		t.Errorf("completion: %v, %v", r, err)
	}
	if err := c.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://small/1"}); err != nil {
		t.Fatal(err)
	}
	// The client does not wait until its subscriptions are acknowledged: what changes before that it is not told of.
	again(t, c.tools, func() { c.text(t, "change", map[string]any{"what": "tools"}) })
	if got := again(t, c.updated, func() { c.text(t, "change", map[string]any{"what": "resource", "uri": "test://small/1"}) }); got != "test://small/1" {
		t.Errorf("updated %s", got)
	}
	if r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "error"}); err != nil || !r.IsError {
		t.Errorf("error gave %v, %v", r, err)
	}
}

// TestMemory holds a large result to the buffer it is written through.
func TestMemory(t *testing.T) {
	const size = 256 << 20
	for _, kind := range []string{"json", "items", "one-item", "lines", "text", "structured", "blocks"} {
		counted := &counter{}
		in := strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":%d,"kind":%q}}}
`, size/8, kind))
		r, w := io.Pipe()
		go func() {
			_, _ = io.Copy(w, in) // stays open until the answer came
		}()
		counted.enough = func() { _ = w.Close() }
		counted.want = size / 8
		if err := New(Options{}).ServeStdio(t.Context(), r, counted); err != nil {
			t.Fatal(err)
		}
		if counted.largest > 64<<10 {
			t.Errorf("%s: one write of %d bytes", kind, counted.largest)
		}
	}
}

type counter struct {
	n, want int64
	largest int
	enough  func()
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	c.largest = max(c.largest, len(p))
	if c.n >= c.want && p[len(p)-1] == '\n' {
		c.enough()
	}
	return len(p), nil
}
