//lint:file-ignore SA1019 the deprecated features still have to pass.

package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	mcptransport "github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// launch runs the test server on pipes, as a process would be.
func launch(s *toolserver.Server) func(context.Context) (*client.Process, error) {
	return func(context.Context) (*client.Process, error) {
		p := s.Pipe()
		return &client.Process{
			Stdin: p.Stdin, Stdout: p.Stdout, PID: 1, Kill: p.Kill,
			Wait: func() (client.Exit, error) { _ = p.Wait(); return client.Exit{}, nil },
		}, nil
	}
}

// The official client sees through the endpoint, in both protocol versions, over HTTP and standard
// streams, what it sees of the server itself.
func TestTheOfficialClient(t *testing.T) {
	for _, version := range []string{toolserver.Modern, toolserver.LatestOlder} {
		t.Run(version+" over HTTP", func(t *testing.T) {
			h := New(Options{Open: func(_ context.Context, o Opening) (Session, error) {
				if !o.Modern && !o.Begins {
					return Session{}, ErrNoSession
				}
				return Session{Peer: client.Stdio(client.StdioOptions{Name: "t", Launch: launch(toolserver.New(toolserver.Options{})), Shared: o.Modern})}, nil
			}})
			ts := httptest.NewServer(h)
			t.Cleanup(func() {
				_ = h.Close()
				ts.Close()
			})
			exercise(t, &mcp.StreamableClientTransport{Endpoint: ts.URL}, version)
		})
		t.Run(version+" over standard streams", func(t *testing.T) {
			in, toServer := io.Pipe()
			fromServer, out := io.Pipe()
			done := make(chan error, 1)
			go func() {
				p := client.Stdio(client.StdioOptions{Name: "t", Launch: launch(toolserver.New(toolserver.Options{}))})
				err := Stdio(context.Background(), in, out, p, StdioOptions{})
				_ = out.Close()
				done <- err
			}()
			exercise(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, version)
			_ = toServer.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

func exercise(t *testing.T, transport mcp.Transport, version string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	progress, logs, tools, updated := make(chan string, 100), make(chan string, 100), make(chan string, 100), make(chan string, 100)
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
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
		LoggingMessageHandler:       func(_ context.Context, r *mcp.LoggingMessageRequest) { logs <- fmt.Sprint(r.Params.Data) },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { tools <- "changed" },
		ResourceUpdatedHandler:      func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	})
	sdk.AddRoots(&mcp.Root{URI: "file:///work"})
	c, err := sdk.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	heard := func(what string, from chan string) string {
		t.Helper()
		select {
		case s := <-from:
			return s
		case <-ctx.Done():
			t.Fatalf("%s did not come", what)
			return ""
		}
	}
	text := func(name string, arguments any) string {
		t.Helper()
		p := &mcp.CallToolParams{Name: name, Arguments: arguments}
		p.SetProgressToken("token")
		r, err := c.CallTool(ctx, p)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	for _, step := range []struct {
		tool      string
		arguments map[string]any
		want      string
	}{
		{"echo", map[string]any{"text": "hi <&> é"}, "hi <&> é"},
		{"big", map[string]any{"bytes": 3_000_000, "needle": "the end"}, "the end"},
		{"ask", map[string]any{"rounds": 2, "several": 2}, "(2.2)"},
		{"sample", nil, "hello"},
		{"roots", nil, "file:///work"},
		{"slow", map[string]any{"ms": 8, "steps": 2}, "done after 2 steps"},
	} {
		if got := text(step.tool, step.arguments); !strings.Contains(got, step.want) {
			t.Errorf("%s gave %.100q", step.tool, got)
		}
	}
	heard("progress", progress)
	if version != toolserver.Modern {
		if err := c.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
			t.Error(err)
		}
		if err := c.Ping(ctx, nil); err != nil {
			t.Error(err)
		}
		text("log", map[string]any{"level": "warning", "text": "careful"})
		heard("a log line", logs)
	}
	if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "test://small/1"}); err != nil {
		t.Fatal(err)
	}
	// The client is told that it subscribed before it is so everywhere: change until it is heard.
	changed := func(from chan string, arguments map[string]any) string {
		t.Helper()
		for {
			text("change", arguments)
			select {
			case s := <-from:
				return s
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				t.Fatalf("the change of %v was not told", arguments)
			}
		}
	}
	changed(tools, map[string]any{"what": "tools"})
	if got := changed(updated, map[string]any{"what": "resource", "uri": "test://small/1"}); got != "test://small/1" {
		t.Errorf("updated %s", got)
	}
	if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://nowhere"}); err == nil {
		t.Error("a resource that is not there was read")
	}
	// Many at once on one session, in each its own answer.
	every(200, func(i int) {
		want := fmt.Sprint("text ", i)
		if r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": want}}); err != nil || r.Content[0].(*mcp.TextContent).Text != want {
			t.Errorf("echo %d: %v", i, err)
		}
	})
}

// A server that dies, is silent, or answers twice or what nobody asked costs one call.
func TestFaultsOfAServer(t *testing.T) {
	p := newPlace(t, Options{Open: func(_ context.Context, o Opening) (Session, error) {
		if !o.Begins {
			return Session{}, ErrNoSession
		}
		var next mcptransport.Peer = client.Stdio(client.StdioOptions{Name: "t", Launch: launch(toolserver.New(toolserver.Options{}))})
		return Session{Peer: next}, nil
	}}, false, nil)
	id := p.begin("2025-06-18")
	p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id)
	for i, tool := range []string{"twice", "foreign_id", "noise", "die", "cut"} {
		response := p.do(t.Context(), http.MethodPost, toolCall(10+i, tool), "Mcp-Session-Id", id)
		answer, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || !strings.Contains(string(answer), fmt.Sprintf(`"id":%d`, 10+i)) {
			t.Errorf("%s: %.200s %v", tool, answer, err)
		}
		if status, _, answer := p.post(toolCall(20+i, "echo"), "Mcp-Session-Id", id); status != 200 || !strings.Contains(answer, `"result"`) {
			t.Errorf("after %s: %d %s", tool, status, answer)
		}
	}
}
