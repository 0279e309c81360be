package bridge

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/streams"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// asServer makes this test's own program a server on standard streams.
const asServer = "PLIMSOLL_TEST_SERVER_ERA"

var serverVersions = map[string]toolserver.Versions{"legacy": toolserver.LegacyOnly, "modern": toolserver.ModernOnly, "silent": toolserver.LegacyOnly}

func TestMain(m *testing.M) {
	version := os.Getenv(asServer)
	if version == "" {
		os.Exit(m.Run())
	}
	s := toolserver.New(toolserver.Options{Versions: serverVersions[version], SilentProbe: version == "silent"})
	if err := s.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

// upstreams are the ways that the gateway itself uses: a process and HTTP.
func upstreams(t *testing.T, version string) map[string]transport.Peer {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"="+version)
	process := client.Stdio(client.StdioOptions{Name: "s", Launch: client.Exec(cmd)})
	server := httptest.NewServer(toolserver.New(toolserver.Options{Versions: serverVersions[version]}).Handler())
	remote, err := client.HTTP(client.HTTPOptions{Name: "s", URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Close()
		_ = remote.Close()
		server.CloseClientConnections()
		server.Close()
	})
	return map[string]transport.Peer{"process": process, "http": remote}
}

// TestUpstreams: probe, bridge and official client over the gateway's own transports.
func TestUpstreams(t *testing.T) {
	for name, p := range upstreams(t, "legacy") {
		t.Run("modern client, older server, "+name, func(t *testing.T) {
			if version, err := Detect(t.Context(), p, transport.Message{}, Options{}); version != WithSessions || err != nil {
				t.Fatalf("%v, %v", version, err)
			}
		})
	}
	for name, p := range upstreams(t, "modern") {
		t.Run("older client, modern server, "+name, func(t *testing.T) {
			if version, err := Detect(t.Context(), p, transport.Message{}, Options{}); version != Sessionless || err != nil {
				t.Fatalf("%v, %v", version, err)
			}
			officialClient(t, stdioFor(t, Legacy(p, Options{})), LegacyVersion)
		})
	}
}

// endless is a server whose answer to tools/call is large and never in memory.
type endless struct {
	*script
	bytes int64
}

func (s *endless) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method != "tools/call" {
		s.script.Send(ctx, m, to)
		return
	}
	head := `{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`
	tail := `"}]},"id":` + string(m.Head.ID) + `}`
	to.Receive(&transport.Frame{Head: []byte(head), Rest: io.MultiReader(streams.Repeat("x", s.bytes), strings.NewReader(tail))})
	to.Done(nil)
}

// TestConstantMemory: a result whose id comes last, which is edited to its very end, goes
// through in a few buffers.
func TestConstantMemory(t *testing.T) {
	const size = 64 << 20
	server := &endless{script: &script{}, bytes: size}
	b := Legacy(server, Options{})
	c := legacyCaller(t, b)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var n int64
	done := make(chan error, 1)
	c.send(t.Context(), c.request("9", "tools/call", `"name":"x"`), transport.Funcs{
		OnReceive: func(f *transport.Frame) {
			if kindOf(f) == jsonrpc.Response {
				n, _ = io.Copy(io.Discard, f.Reader())
			}
		},
		OnDone: func(err error) { done <- err },
	})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// A buffer to copy with, two to edit with, the message of the request.
	if used := after.TotalAlloc - before.TotalAlloc; n < size || used > 1<<20 {
		t.Errorf("%d bytes came, %d were allocated for it", n, used)
	}
	_ = b.Close()
}
