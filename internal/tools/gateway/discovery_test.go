package gateway_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// opened is a server of which is counted how often it was started and ended.
type opened struct {
	scripted
	starts, ends *atomic.Int64
}

func (o *opened) Close() error { o.ends.Add(1); return nil }

// openCounted is the connection to a server for clients of the sessionless version.
func openCounted(t *testing.T, o func() *opened) transport.Peer {
	t.Helper()
	j := journal.New(journal.Options{})
	s := gateway.NewServer(gateway.ServerOptions{Name: "x", Journal: j, Spool: newSpool(t, j), Dial: func(gateway.Dialing) transport.Peer {
		one := o()
		one.starts.Add(1)
		return one
	}})
	t.Cleanup(func() { _ = s.Close() })
	way, err := s.Open(t.Context(), mcpserver.Opening{Modern: true})
	if err != nil {
		t.Fatal(err)
	}
	return way.Peer
}

func ping(t *testing.T) transport.Message {
	t.Helper()
	raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{` + meta + `}}}`)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		t.Fatal(err)
	}
	return transport.Message{Raw: raw, Head: head}
}

// Requests that come while, or just when, the server's protocol version is found start it once.
func TestOneDiscoveryFindsTheVersion(t *testing.T) {
	for range 300 {
		var starts, ends atomic.Int64
		p := openCounted(t, func() *opened {
			return &opened{starts: &starts, ends: &ends, scripted: scripted{answers: map[string]string{
				"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`, "prompts/list": `{"prompts":[]}`,
			}}}
		})
		message := ping(t)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					done := make(chan struct{})
					p.Send(t.Context(), message, transport.Funcs{OnDone: func(error) { close(done) }})
					<-done
				}
			})
		}
		wg.Wait()
		if err := p.Close(); err != nil || starts.Load() != 1 || ends.Load() != 1 {
			t.Fatalf("started %d times, ended %d times, %v", starts.Load(), ends.Load(), err)
		}
	}
}

// A server that does not answer is ended with the client that it was started for, not when
// it has had its time.
func TestAServerThatIsAskedForItsVersionEndsWithTheClient(t *testing.T) {
	var starts, ends atomic.Int64
	began := make(chan struct{})
	p := openCounted(t, func() *opened {
		defer close(began)
		return &opened{starts: &starts, ends: &ends, scripted: scripted{silent: true}}
	})
	failed := make(chan error, 1)
	p.Send(t.Context(), ping(t), transport.Funcs{OnDone: func(err error) { failed <- err }})
	<-began
	if err := p.Close(); err != nil || ends.Load() != 1 {
		t.Errorf("after Close it was ended %d times, %v", ends.Load(), err)
	}
	if err := <-failed; err == nil {
		t.Error("its request ended without an error")
	}
}
