package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	mcptransport "github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// The test binary is also the child that runs jq programs.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == query.Argument {
		os.Exit(query.Main())
	}
	os.Exit(m.Run())
}

// rig is a gateway in front of a real MCP server.
type rig struct {
	t       testing.TB
	ts      *toolserver.Server
	journal *journal.Journal
	spool   *spool.Spool
	server  *gateway.Server
}

func newRig(t testing.TB, o toolserver.Options, remote bool, set gateway.Settings) *rig {
	t.Helper()
	r := &rig{t: t, ts: toolserver.New(o), journal: journal.New(journal.Options{})}
	r.spool = newSpool(t, r.journal)
	so := gateway.ServerOptions{
		Name: "test", Spool: r.spool, Journal: r.journal, Settings: set, TempDir: t.TempDir(),
		Query: []string{os.Args[0], query.Argument}, Remote: remote, Dial: dialStdio(r.ts),
	}
	if remote {
		web := httptest.NewServer(r.ts.Handler())
		t.Cleanup(web.Close)
		so.Dial = dialHTTP(t, web.URL)
	}
	r.server = gateway.NewServer(so)
	t.Cleanup(func() { _ = r.server.Close() })
	return r
}

func newSpool(t testing.TB, j *journal.Journal) *spool.Spool {
	t.Helper()
	s, err := spool.Open(spool.Options{Dir: t.TempDir(), Journal: j})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// dialStdio starts the server in this process, on pipes.
func dialStdio(ts *toolserver.Server) func(gateway.Dialing) mcptransport.Peer {
	return func(d gateway.Dialing) mcptransport.Peer {
		return mcpclient.Stdio(mcpclient.StdioOptions{Name: "test", Shared: d.Shared, Launch: func(context.Context) (*mcpclient.Process, error) {
			p := ts.Pipe()
			return &mcpclient.Process{Stdin: p.Stdin, Stdout: p.Stdout, PID: 1, Kill: p.Kill, Wait: func() (mcpclient.Exit, error) {
				_ = p.Wait()
				return mcpclient.Exit{}, nil
			}}, nil
		}})
	}
}

func dialHTTP(t testing.TB, url string) func(gateway.Dialing) mcptransport.Peer {
	return func(d gateway.Dialing) mcptransport.Peer {
		r, err := mcpclient.HTTP(mcpclient.HTTPOptions{Name: "test", URL: url, Header: d.Header})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

var defaultServer = toolserver.Options{}

// answer is what a client got for one request.
type answer struct {
	raw  []byte // the response
	news [][]byte
	err  error
}

// client speaks one protocol version through the gateway, over standard streams or HTTP.
type client struct {
	t      testing.TB
	modern bool
	send   func(ctx context.Context, message []byte) answer

	mu   sync.Mutex
	next int
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test-client","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`

// message makes a request; params is what stands between the braces.
func (c *client) message(method, params string, token string) []byte {
	c.mu.Lock()
	c.next++
	id := c.next
	c.mu.Unlock()
	if c.modern {
		m := meta
		if token != "" {
			m += `,"progressToken":` + token
		}
		if params != "" {
			m += "},"
		} else {
			m += "}"
		}
		params = m + params
	} else if token != "" {
		params = `"_meta":{"progressToken":` + token + `},` + params
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params)
}

func (c *client) do(method, params string) answer {
	c.t.Helper()
	return c.send(c.t.Context(), c.message(method, params, ""))
}

func (c *client) call(tool, arguments string) answer {
	c.t.Helper()
	return c.do("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
}

// begin does what a client does first.
func (c *client) begin(name string) *client {
	c.t.Helper()
	if c.modern {
		if a := c.do("server/discover", ""); a.err == nil && strings.Contains(string(a.raw), `"result"`) {
			c.ok(a)
			return c
		}
		c.modern = false // as clients do that know both
	}
	c.ok(c.do("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+name+`","version":"1"}`))
	c.send(c.t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return c
}

// ok demands a result and returns it.
func (c *client) ok(a answer) toolResult {
	c.t.Helper()
	if a.err != nil {
		c.t.Fatalf("no answer: %v", a.err)
	}
	var m struct {
		Result *toolResult
		Error  json.RawMessage
	}
	if err := json.Unmarshal(a.raw, &m); err != nil || m.Result == nil {
		c.t.Fatalf("no result (%v): %.600s", err, a.raw)
	}
	return *m.Result
}

// refused demands an error and returns it.
func (c *client) refused(a answer) (code int, text string) {
	c.t.Helper()
	var m struct {
		Error *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(a.raw, &m); err != nil || m.Error == nil {
		c.t.Fatalf("no error (%v, %v): %.600s", err, a.err, a.raw)
	}
	return m.Error.Code, m.Error.Message
}

type toolResult struct {
	Content []struct{ Type, Text string }
	IsError bool
	Meta    struct {
		Page *struct {
			Handle     string
			Bytes      int64
			TotalItems int64 `json:"total_items"`
			Page       int
			PageSize   int   `json:"page_size"`
			TotalPages int64 `json:"total_pages"`
			Complete   bool
		} `json:"plimsoll/result"`
	} `json:"_meta"`
	Structured json.RawMessage `json:"structuredContent"`
	Tools      []json.RawMessage
	ResultType string
}

func (r toolResult) text() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

// onPeer is a client of a Peer: what standard streams carry.
func onPeer(t testing.TB, p mcptransport.Peer, modern bool) *client {
	t.Cleanup(func() { _ = p.Close() })
	return &client{t: t, modern: modern, send: func(ctx context.Context, message []byte) answer {
		head, err := jsonrpc.Scan(message)
		if err != nil {
			t.Fatal(err)
		}
		var a answer
		done := make(chan error, 1)
		p.Send(ctx, mcptransport.Message{Raw: message, Head: head}, mcptransport.Funcs{
			OnReceive: func(f *mcptransport.Frame) {
				if f.Bare() {
					return
				}
				raw, err := io.ReadAll(f.Reader())
				if err != nil {
					a.err = err
				}
				a.add(raw)
			},
			OnDone: func(err error) { done <- err },
		})
		select {
		case err := <-done:
			if a.err == nil {
				a.err = err
			}
		case <-ctx.Done():
			a.err = ctx.Err()
		}
		return a
	}}
}

func (a *answer) add(raw []byte) {
	if h, err := jsonrpc.Scan(raw); err == nil && h.Kind == jsonrpc.Response {
		a.raw = raw
		return
	}
	a.news = append(a.news, raw)
}

// onHTTP is a client of an endpoint.
func onHTTP(t testing.TB, open func(context.Context, mcpserver.Opening) (mcpserver.Session, error), modern bool) *client {
	h := mcpserver.New(mcpserver.Options{Name: "test", Open: open})
	t.Cleanup(func() { _ = h.Close() })
	return onHandler(t, h, modern)
}

// onHandler is a client of whatever serves MCP over HTTP.
func onHandler(t testing.TB, h http.Handler, modern bool) *client {
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	var mu sync.Mutex
	session := "" // read and set by requests at once
	c := &client{t: t, modern: modern}
	c.send = func(ctx context.Context, message []byte) (a answer) {
		head, err := jsonrpc.Scan(message)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL, bytes.NewReader(message))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		switch {
		case c.modern:
			r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", head.Method)
			var m struct{ Params struct{ Name, URI string } }
			_ = json.Unmarshal(message, &m)
			if name := m.Params.Name + m.Params.URI; name != "" {
				r.Header.Set("Mcp-Name", name)
			}
		default:
			mu.Lock()
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
				r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
			}
			mu.Unlock()
		}
		res, err := web.Client().Do(r)
		if err != nil {
			a.err = err
			return a
		}
		defer res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			mu.Lock()
			session = id
			mu.Unlock()
		}
		if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
			events := sse.NewReader(res.Body, 0)
			for {
				_, begin, rest, err := events.Next()
				if err != nil {
					if err != io.EOF {
						a.err = err
					}
					return a
				}
				raw := bytes.Clone(begin)
				if rest != nil {
					more, _ := io.ReadAll(rest)
					raw = append(raw, more...)
				}
				if len(raw) > 0 {
					a.add(raw)
				}
			}
		}
		raw, err := io.ReadAll(res.Body)
		a.err = err
		if len(raw) > 0 {
			a.add(raw)
		}
		return a
	}
	return c
}

// pairing is how a client and a server meet.
type pairing struct {
	name                         string
	clientHTTP, clientModern     bool
	upstreamHTTP, upstreamModern bool
}

func pairings() (all []pairing) {
	transport := map[bool]string{false: "stdio", true: "http"}
	version := map[bool]string{false: "legacy", true: "modern"}
	for n := range 16 {
		p := pairing{clientHTTP: n&1 > 0, clientModern: n&2 > 0, upstreamHTTP: n&4 > 0, upstreamModern: n&8 > 0}
		p.name = fmt.Sprintf("%s-%s_to_%s-%s", transport[p.clientHTTP], version[p.clientModern], transport[p.upstreamHTTP], version[p.upstreamModern])
		all = append(all, p)
	}
	return all
}

// each runs a test for every pairing.
func each(t *testing.T, set gateway.Settings, test func(t *testing.T, r *rig, c *client)) {
	for _, p := range pairings() {
		t.Run(p.name, func(t *testing.T) {
			o := toolserver.Options{Versions: toolserver.LegacyOnly}
			if p.upstreamModern {
				o.Versions = toolserver.ModernOnly
			}
			r := newRig(t, o, p.upstreamHTTP, set)
			var c *client
			if p.clientHTTP {
				c = onHTTP(t, r.server.Open, p.clientModern)
			} else {
				c = onPeer(t, r.server.Local(), p.clientModern)
			}
			test(t, r, c.begin("test-client"))
		})
	}
}
