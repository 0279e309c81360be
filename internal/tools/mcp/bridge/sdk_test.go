//lint:file-ignore SA1019 the deprecated features still have to cross.

package bridge

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcptransport "github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// stdioFor lets the official client speak to a bridge as to a process.
func stdioFor(t *testing.T, p mcptransport.Peer) mcp.Transport {
	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	var mu sync.Mutex
	write := func(f *mcptransport.Frame) {
		mu.Lock()
		defer mu.Unlock()
		_ = jsonrpc.WriteLine(out, f.Head, f.Rest)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Listen(ctx, nil, mcptransport.Funcs{OnReceive: write})
		lines := jsonrpc.NewLineReader(in, 1<<20)
		for {
			line, _, err := lines.Next()
			if err != nil {
				return
			}
			raw := append([]byte(nil), line...)
			if head, err := jsonrpc.Scan(raw); err == nil {
				p.Send(ctx, mcptransport.Message{Raw: raw, Head: head, Principal: "sdk"}, mcptransport.Funcs{OnReceive: write})
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		_ = toBridge.Close()
		<-done
		_ = out.Close()
	})
	return &mcp.IOTransport{Reader: fromBridge, Writer: toBridge}
}

// TestOfficialClient: the official client of the older versions works with a server of the newest.
func TestOfficialClient(t *testing.T) {
	options := toolserver.Options{Versions: toolserver.ModernOnly}
	for name, to := range map[string]func() mcptransport.Peer{
		"stdio": func() mcptransport.Peer { return overPipe(t, toolserver.New(options)) },
		"http":  func() mcptransport.Peer { return overHTTP(t, toolserver.New(options).Handler()) },
	} {
		t.Run(name, func(t *testing.T) {
			b := Legacy(to(), Options{})
			t.Cleanup(func() { _ = b.Close() })
			officialClient(t, stdioFor(t, b), LegacyVersion)
		})
	}
}

func officialClient(t *testing.T, transport mcp.Transport, version string) {
	changed, updated := make(chan bool, 10), make(chan string, 10)
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
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	sdk.AddRoots(&mcp.Root{URI: "file:///work"})
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	c, err := sdk.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if got := c.InitializeResult(); got.ProtocolVersion != version || got.ServerInfo.Name != "toolserver" {
		t.Fatalf("connected to %+v", got)
	}
	text := func(name string, arguments any) string {
		t.Helper()
		r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	if tools, err := c.ListTools(ctx, nil); err != nil || len(tools.Tools) < 20 {
		t.Errorf("tools/list: %v", err)
	}
	if got := text("ask", map[string]any{"rounds": 2, "several": 2}); strings.Count(got, `"accept"`) != 4 {
		t.Errorf("ask gave %s", got)
	}
	has(t, text("sample", nil), "hello")
	has(t, text("roots", nil), "file:///work")
	if got := text("big", map[string]any{"bytes": 1 << 20}); len(got) < 1<<20 {
		t.Errorf("big gave %d bytes", len(got))
	}
	if r, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "ask"}); err != nil || !strings.Contains(r.Messages[0].Content.(*mcp.TextContent).Text, "accept") {
		t.Errorf("prompts/get: %v, %v", r, err)
	}
	if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://no"}); err == nil {
		t.Error("a resource that is not there was read")
	}
	if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://small/1"}); err != nil {
		t.Fatal(err)
	}
	text("change", map[string]any{"what": "tools"})
	select {
	case <-changed:
	case <-ctx.Done():
		t.Fatal("list_changed did not come")
	}
	// This client does not wait until its subscription is acknowledged.
	for heard := false; !heard; {
		text("change", map[string]any{"what": "resource", "uri": "test://small/1"})
		select {
		case <-updated:
			heard = true
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("updated did not come")
		}
	}
}
