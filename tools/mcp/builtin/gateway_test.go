package builtin_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	mcptransport "github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// The test binary is also the child that runs jq programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == query.Argument {
		os.Exit(query.Main())
	}
	os.Exit(m.Run())
}

// behind puts a gateway in front of a server.
func behind(t testing.TB, s *builtin.Server) *gateway.Server {
	t.Helper()
	store, err := spool.Open(spool.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	g := gateway.NewServer(gateway.ServerOptions{
		Name: "argocd", Builtin: true, Spool: store, TempDir: t.TempDir(), Query: []string{os.Args[0], query.Argument}, MaxProcesses: 1,
		Dial: func(gateway.Dialing) mcptransport.Peer { return s.Dial() },
	})
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// serveHTTP gives the address of an endpoint, whose principal is the header User.
func serveHTTP(t testing.TB, open func(context.Context, server.Opening) (server.Session, error)) string {
	h := server.New(server.Options{Name: "argocd", Open: open, Principal: func(r *http.Request) (string, error) {
		return "principal of " + r.Header.Get("User"), nil
	}})
	web := httptest.NewServer(h)
	t.Cleanup(func() {
		_ = h.Close()
		web.Close()
	})
	return web.URL
}

// signed adds headers to each request.
type signed http.Header

func (s signed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	maps.Copy(r.Header, s)
	return http.DefaultTransport.RoundTrip(r)
}

func overHTTP(url, user string) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: url, DisableStandaloneSSE: true, HTTPClient: &http.Client{
		Transport: signed{"User": {user}, "X-Argocd-Api-Token": {"token of " + user}, "Authorization": {"Bearer of " + user}},
	}}
}

func overStdio(t testing.TB, p mcptransport.Peer) mcp.Transport {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- server.Stdio(context.Background(), in, out, p, server.StdioOptions{Name: "argocd", Principal: "local"})
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = stdout.Close()
		<-served
	})
	return &mcp.IOTransport{Reader: stdout, Writer: stdin}
}

func connect(t testing.TB, transport mcp.Transport, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, o).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("%s: %v", version, err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func textOf(t testing.TB, r *mcp.CallToolResult) string {
	t.Helper()
	var b strings.Builder
	for _, c := range r.Content {
		block, ok := c.(*mcp.TextContent)
		if !ok {
			t.Fatalf("%T", c)
		}
		b.WriteString(block.Text)
	}
	return b.String()
}

type who struct {
	Greeting string `json:"greeting,omitempty"`
	Times    int    `json:"times,omitempty"`
}

// tools that show all that a tool can do.
func allTools(running chan context.Context) []builtin.Tool {
	return []builtin.Tool{
		waiting(running),
		builtin.Typed(builtin.Tool{Name: "whoami", Description: "Tells who calls.", Hints: builtin.Hints{ReadOnly: true}}, func(_ context.Context, c *builtin.Call, in who) (*builtin.Result, error) {
			return &builtin.Result{Text: fmt.Sprintf("%s|%s|%s|%s|%d", c.Principal, c.Header.Get("X-Argocd-Api-Token"), c.Header.Get("Authorization"), in.Greeting, in.Times)}, nil
		}),
		tool("progress", func(_ context.Context, c *builtin.Call) (*builtin.Result, error) {
			c.Progress(1, 2, "half")
			return &builtin.Result{Text: "done"}, nil
		}),
		streaming("stream", func(_ context.Context, w io.Writer) error {
			for i := range 20_000 {
				if _, err := fmt.Fprintf(w, "line %d of the log\n", i); err != nil {
					return err
				}
			}
			return nil
		}),
		streaming("breaks", func(_ context.Context, w io.Writer) error {
			_, _ = io.WriteString(w, "the beginning")
			return fmt.Errorf("the server hung up")
		}),
		tool("panics", func(context.Context, *builtin.Call) (*builtin.Result, error) { panic("swordfish") }),
	}
}

// TestTheOfficialClient works through endpoint and gateway as any client does.
func TestTheOfficialClient(t *testing.T) {
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		for _, web := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s http %v", version, web), func(t *testing.T) {
				running := make(chan context.Context, 1)
				s := newServer(t, builtin.Options{Name: "argocd", Version: "1", Instructions: "Ask.", Tools: allTools(running)})
				g := behind(t, s)
				told := make(chan float64, 10)
				var transport mcp.Transport
				if web {
					transport = overHTTP(serveHTTP(t, g.Open), "ann")
				} else {
					transport = overStdio(t, g.Local())
				}
				c := connect(t, transport, version, &mcp.ClientOptions{
					ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) {},
					ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { told <- r.Params.Progress },
				})
				if r := c.InitializeResult(); r.ProtocolVersion != version || r.Instructions != "Ask." || r.Capabilities.Tools == nil {
					t.Errorf("%+v", r)
				}
				official(t, c, running, told, web)
				_ = s.Close() // what was taken back is still on its way out
				if got := s.Stats(); got.Open != 0 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

func official(t *testing.T, c *mcp.ClientSession, running chan context.Context, told chan float64, web bool) {
	ctx := t.Context()
	call := func(name string, arguments any) *mcp.CallToolResult {
		t.Helper()
		r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	list, err := c.ListTools(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.Name == "whoami" && (!tool.Annotations.ReadOnlyHint || tool.Annotations.OpenWorldHint == nil || *tool.Annotations.OpenWorldHint) {
			t.Errorf("%+v", tool.Annotations)
		}
	}
	if want := []string{"breaks", "panics", "progress", "stream", "wait", "whoami"}; len(names) < len(want) || !slices.Equal(names[:len(want)], want) {
		t.Errorf("%v", names)
	}
	want := "local||||0"
	if web {
		want = "principal of ann|token of ann|Bearer of ann||0"
	}
	if got := textOf(t, call("whoami", nil)); got != want {
		t.Errorf("who: %s, want %s", got, want)
	}
	if got := textOf(t, call("whoami", map[string]any{"greeting": "hey", "times": "3"})); !strings.HasSuffix(got, "|hey|3") {
		t.Error(got)
	}
	if r := call("whoami", map[string]any{"time": 3}); !r.IsError || !strings.Contains(textOf(t, r), `did you mean "times"`) {
		t.Error(textOf(t, r))
	}
	if r := call("panics", nil); !r.IsError || !strings.Contains(textOf(t, r), "mistake in itself") {
		t.Error(textOf(t, r))
	}
	if got := textOf(t, call("stream", nil)); !strings.Contains(got, "line 0 of") || !strings.Contains(got, "result_page") || len(got) > 64<<10 {
		t.Errorf("%d bytes of a stream: %.200s", len(got), got)
	}
	if r, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "breaks"}); err == nil && !r.IsError {
		t.Errorf("a part was taken for the whole: %s", textOf(t, r))
	}
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "whoareyou"}); err == nil || !strings.Contains(err.Error(), "Unknown tool") {
		t.Error(err)
	}
	params := &mcp.CallToolParams{Name: "progress"}
	params.SetProgressToken("p")
	if r, err := c.CallTool(ctx, params); err != nil || textOf(t, r) != "done" {
		t.Errorf("%v %v", r, err)
	}
	if got := <-told; got != 1 {
		t.Errorf("progress %v", got)
	}
	leaving, leave := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		if r, err := c.CallTool(leaving, &mcp.CallToolParams{Name: "wait"}); err == nil {
			t.Errorf("an answer to a call that was taken back: %s", textOf(t, r))
		}
	})
	inside := <-running
	leave()
	<-inside.Done()
	wg.Wait()
}

// Every client's own headers reach the tools, whoever of either protocol version came first.
func TestEachCallHasItsOwnClientsHeaders(t *testing.T) {
	running := make(chan context.Context, 1)
	s := newServer(t, builtin.Options{Tools: allTools(running), MaxCalls: 1000})
	g := behind(t, s)
	other := gateway.NewServer(gateway.ServerOptions{Name: "other", Builtin: true, Dial: func(gateway.Dialing) mcptransport.Peer { return newServer(t, builtin.Options{}).Dial() }})
	merge := gateway.NewMerge(gateway.MergeOptions{Parts: []gateway.Part{{Server: g}, {Server: other}}})
	for name, url := range map[string]string{"whoami": serveHTTP(t, g.Open), "argocd__whoami": serveHTTP(t, merge.Open)} {
		var wg sync.WaitGroup
		for i := range 8 { // more than MaxProcesses
			wg.Go(func() {
				user := fmt.Sprintf("user%d", i)
				c := connect(t, overHTTP(url, user), []string{"2025-11-25", "2026-07-28"}[i%2], nil)
				for n := range 10 {
					r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: who{Times: n}})
					if err != nil {
						t.Error(err)
						return
					}
					if got, want := textOf(t, r), fmt.Sprintf("principal of %s|token of %s|Bearer of %s||%d", user, user, user, n); got != want {
						t.Errorf("%s: %s, want %s", name, got, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

// blind is a server that must not be told its clients' headers.
type blind struct {
	mcptransport.Peer
	t testing.TB
}

func (b blind) Send(ctx context.Context, m mcptransport.Message, to mcptransport.Receiver) {
	if m.Header != nil {
		b.t.Errorf("%s was sent with the client's headers", m.Head.Method)
	}
	b.Peer.Send(ctx, m, to)
}

// Beside tools of this process a merged endpoint has servers that clients' credentials are
// not for.
func TestOtherServersAreNotToldTheHeaders(t *testing.T) {
	s := newServer(t, builtin.Options{Tools: allTools(nil)})
	store, err := spool.Open(spool.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	other := gateway.NewServer(gateway.ServerOptions{Name: "other", Spool: store, Dial: func(gateway.Dialing) mcptransport.Peer { return blind{s.Dial(), t} }})
	merge := gateway.NewMerge(gateway.MergeOptions{Spool: store, Parts: []gateway.Part{{Server: behind(t, s)}, {Server: other}}})
	for _, url := range []string{serveHTTP(t, merge.Open), serveHTTP(t, other.Open)} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			c := connect(t, overHTTP(url, "ann"), version, nil)
			name := "whoami"
			if tools, err := c.ListTools(t.Context(), nil); err != nil {
				t.Fatal(err)
			} else if strings.HasPrefix(tools.Tools[0].Name, "argocd__") {
				name = "other__whoami"
			}
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name})
			if err != nil || textOf(t, r) != "principal of ann||||0" {
				t.Errorf("%s: %v %v", name, r, err)
			}
		}
	}
}
