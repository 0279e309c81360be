package delegate

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
	"github.com/plimsoll/plimsoll/tools/spool"
)

const patience = time.Minute

// other is an agent that is asked, on a real socket.
type other struct {
	t    *testing.T
	http *httptest.Server
	seen atomic.Pointer[sdk.Message] // the last message
}

// served starts an agent. wrap stands before its server.
func served(t *testing.T, execute func(ctx context.Context, x *a2a.Exchange) error, wrap func(http.Handler) http.Handler, change ...func(*a2a.Options)) *other {
	t.Helper()
	o := &other{t: t}
	options := a2a.Options{
		Name: "other", Card: a2a.Card{Description: "It helps.", Skills: []sdk.AgentSkill{
			{ID: "look up", Name: "Look up", Description: "Looks things up.", Examples: []string{"What is a hull?"}},
			{ID: "write", Name: "Write", Description: "Writes."},
		}},
		Executor: a2a.ExecutorFunc(func(ctx context.Context, x *a2a.Exchange) error {
			o.seen.Store(x.Message)
			return execute(ctx, x)
		}),
	}
	for _, c := range change {
		c(&options)
	}
	s, err := a2a.New(options)
	if err != nil {
		t.Fatal(err)
	}
	var h http.Handler = s
	if wrap != nil {
		h = wrap(h)
	}
	o.http = httptest.NewServer(h)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = s.Close(ctx)
		o.http.CloseClientConnections()
		o.http.Close()
	})
	return o
}

// agentAt is the other agent as a server of tools.
func agentAt(t *testing.T, url string, change ...func(*Options)) *Agent {
	t.Helper()
	o := Options{Name: "helper", URL: url, TempDir: t.TempDir()}
	for _, c := range change {
		c(&o)
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	a.firstPause = 10 * time.Millisecond
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// boxOf is a toolbox of the agent's tools, behind a gateway.
func boxOf(t *testing.T, a *Agent, settings gateway.Settings) *toolbox.Toolbox {
	t.Helper()
	kept, err := spool.Open(spool.Options{Dir: t.TempDir(), MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	g := gateway.NewServer(gateway.ServerOptions{
		Name: a.o.Name, Dial: func(gateway.Dialing) transport.Peer { return a.Dial() }, Spool: kept, Settings: settings, Builtin: true, Named: true,
	})
	box, err := toolbox.New(t.Context(), toolbox.Options{Servers: []toolbox.Server{{Gateway: g}}, Spool: kept})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = box.Close()
		_ = g.Close()
		_ = kept.Close()
	})
	return box
}

// call calls a tool. progress gets what comes while it works.
func call(t *testing.T, ctx context.Context, box agent.Tools, arguments string, progress func(string)) agent.Output {
	t.Helper()
	if progress == nil {
		progress = func(string) {}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := box.Call(ctx, agent.Call{ID: "1", Name: "helper__look_up", Arguments: arguments}, progress)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// model answers by what it is asked.
type model func(r *agent.Request) (text string, calls []agent.Call)

func (model) Info() agent.ModelInfo {
	return agent.ModelInfo{Provider: "openai", Name: "test", Window: 100_000, MaxOutput: 1000}
}

func (m model) Generate(_ context.Context, r *agent.Request, text func(string)) (*agent.Reply, error) {
	words, calls := m(r)
	text(words)
	reply := &agent.Reply{Message: agent.Message{Role: agent.RoleAssistant, Text: words, Calls: calls}, Stop: agent.StopEnd}
	if len(calls) > 0 {
		reply.Stop = agent.StopCalls
	}
	return reply, nil
}

// thinker is an agent of ours.
func thinker(t *testing.T, m model, tools agent.Tools) *agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Options{Name: "thinker", Model: m, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func last(r *agent.Request) agent.Message { return r.Messages[len(r.Messages)-1] }

// readAgain reads a request's body, and leaves it to be read once more.
func readAgain(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

// cutWriter breaks the connection off behind a number of bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return w.ResponseWriter.Write(p)
}

func (w *cutWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func newExchange(t *testing.T) *exchange {
	return &exchange{
		a: &Agent{o: Options{Name: "helper"}}, pile: pile{dir: t.TempDir()},
		call: &builtin.Call{Tool: "helper__x", Progress: func(float64, float64, string) {}},
	}
}
