package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/journal"
)

// endless sends answers of any size, as a transport does: a beginning, and the rest as it is read.
type endless struct {
	// body writes what stands behind "id":ID, of the answer to a method.
	body func(method string, w io.Writer)
	// news is what comes before it, of the server's own accord.
	news func(w io.Writer)
}

func (e endless) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.ID == "" {
		to.Done(nil)
		return
	}
	frame := func(write func(io.Writer)) {
		r, w := io.Pipe()
		go func() {
			write(w)
			_ = w.Close()
		}()
		head := make([]byte, 4<<10)
		n, err := io.ReadFull(r, head)
		f := &transport.Frame{Head: head[:n], Rest: r}
		if err != nil {
			f.Rest = nil
		}
		to.Receive(f)
		_ = r.Close()
	}
	if e.news != nil {
		frame(e.news)
	}
	frame(func(w io.Writer) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, m.Head.ID)
		e.body(m.Head.Method, w)
		_, _ = io.WriteString(w, "}")
	})
	to.Done(nil)
}

func (endless) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	<-ctx.Done()
	to.Done(nil)
}

func (endless) Close() error { return nil }

// noise is what a journal was told of a server's faults.
type noise struct{ what []string }

func (n *noise) Observe(r journal.Record) {
	if e, ok := r.Event.(journal.ToolNoise); ok {
		n.what = append(n.what, e.Server+" "+e.What)
	}
}

// gatewayTo is a gateway in front of a peer.
func gatewayTo(t *testing.T, p transport.Peer, set gateway.Settings) (*client, *noise) {
	t.Helper()
	n := &noise{}
	j := journal.New(journal.Options{Observers: []journal.Observer{n}})
	return onPeer(t, gateway.New(gateway.Options{Name: "evil", Next: p, Spool: newSpool(t, j), Journal: j, Settings: set, TempDir: t.TempDir()}), false), n
}

const many = 100 << 20

func fill(w io.Writer, text string, size int) {
	piece := []byte(strings.Repeat(text, max(1, 64<<10/len(text))))
	for written := 0; written < size; written += len(piece) {
		if _, err := w.Write(piece); err != nil {
			return
		}
	}
}

// Of a list of tools of 100 MB the client gets those that fit, whether there is a policy or not, and is told that this is not all.
func TestAListOfToolsThatIsTooLarge(t *testing.T) {
	peer := endless{body: func(_ string, w io.Writer) {
		_, _ = io.WriteString(w, `"result":{"tools":[{"name":"first","inputSchema":{"type":"object"}}`)
		fill(w, `,{"name":"get","description":"`+strings.Repeat("x", 5000)+`","inputSchema":{"type":"object"}}`, many)
		_, _ = io.WriteString(w, `]}`)
	}}
	for name, set := range map[string]gateway.Settings{"open": {}, "restricted": {Deny: []string{"get"}}} {
		c, n := gatewayTo(t, peer, set)
		a := c.do("tools/list", "")
		got := c.ok(a)
		if want := map[string]int{"open": 700, "restricted": 4}[name]; len(a.raw) > gateway.MaxListBytes+64<<10 || len(got.Tools) < want || !bytes.Contains(got.Tools[0], []byte("first")) {
			t.Errorf("%s: %d tools in %d bytes", name, len(got.Tools), len(a.raw))
		}
		if fmt.Sprint(n.what) != "[evil list]" {
			t.Errorf("%s: told: %v", name, n.what)
		}
	}
}

// What is no result of a tool has a bound as well: an answer beyond it is an error that names the server, and what nobody asked for is left out.
func TestOtherMessagesAreBounded(t *testing.T) {
	peer := endless{
		news: func(w io.Writer) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`)
			fill(w, "x", many)
			_, _ = io.WriteString(w, `"}}`)
		},
		body: func(method string, w io.Writer) {
			switch method {
			case "prompts/get", "prompts/list", "completion/complete", "unknown/method", "initialize":
				_, _ = io.WriteString(w, `"result":{"description":"`)
				fill(w, "x", many)
				_, _ = io.WriteString(w, `"}`)
			case "resources/list":
				_, _ = io.WriteString(w, `"result":{"resources":[]}`)
			}
		},
	}
	c, _ := gatewayTo(t, peer, gateway.Settings{})
	for _, method := range []string{"prompts/get", "prompts/list", "completion/complete", "unknown/method", "initialize"} {
		a := c.do(method, "")
		if _, text := c.refused(a); !strings.Contains(text, "evil") || !strings.Contains(text, "16 MiB") || len(a.news) > 0 {
			t.Errorf("%s: %q, beside %d others", method, text, len(a.news))
		}
	}
	if a := c.do("resources/list", ""); !bytes.Contains(a.raw, []byte(`"resources":[]`)) {
		t.Errorf("a small one is %.200s", a.raw)
	}
}
