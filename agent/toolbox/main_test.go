package toolbox_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/internal/tools/spool/query"
)

// serverVariable makes the test binary a server on standard streams.
const serverVariable = "PLIMSOLL_TEST_TOOLSERVER"

// The test binary is also the child that runs jq programs, and a server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == query.Argument {
		os.Exit(query.Main())
	}
	switch os.Getenv(serverVariable) {
	case "":
		os.Exit(m.Run())
	case "dead":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "mute":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if err := toolserver.New(toolserver.Options{}).ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
		os.Exit(3)
	}
	os.Exit(0)
}

// child is a server that is a process of its own.
func child(name, how string) toolbox.Server {
	return toolbox.Server{Name: name, Command: []string{os.Args[0]}, Env: append(os.Environ(), serverVariable+"="+how)}
}

// remote is a server over HTTP.
func remote(t testing.TB, ts *toolserver.Server) toolbox.Server {
	t.Helper()
	web := httptest.NewServer(ts.Handler())
	t.Cleanup(web.Close)
	return toolbox.Server{Name: "remote", URL: web.URL}
}

// piped is a server in this process, on pipes.
func piped(ts *toolserver.Server) toolbox.Server {
	return toolbox.Server{Name: "piped", Peer: func() transport.Peer {
		return mcpclient.Stdio(mcpclient.StdioOptions{Name: "piped", Launch: func(context.Context) (*mcpclient.Process, error) {
			p := ts.Pipe()
			return &mcpclient.Process{Stdin: p.Stdin, Stdout: p.Stdout, PID: 1, Kill: p.Kill, Wait: func() (mcpclient.Exit, error) {
				_ = p.Wait()
				return mcpclient.Exit{}, nil
			}}, nil
		}})
	}}
}

// opened is a toolbox that is closed at the end.
func opened(t testing.TB, o toolbox.Options) *toolbox.Toolbox {
	t.Helper()
	b, err := toolbox.New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

func ignored(string) {}

// called makes a call that must not be an error of Go.
func called(t testing.TB, b *toolbox.Toolbox, name, arguments string) agent.Output {
	t.Helper()
	out, err := b.Call(t.Context(), agent.Call{ID: "1", Name: name, Arguments: arguments}, ignored)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// succeeded makes a call that must succeed.
func succeeded(t testing.TB, b *toolbox.Toolbox, name, arguments string) string {
	t.Helper()
	out := called(t, b, name, arguments)
	if out.Failed {
		t.Fatalf("%s %s failed: %s", name, arguments, out.Text)
	}
	return out.Text
}

// specs are the tools by name.
func specs(t testing.TB, b *toolbox.Toolbox) map[string]agent.ToolSpec {
	t.Helper()
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]agent.ToolSpec{}
	for _, s := range list {
		out[s.Name] = s
	}
	return out
}

// has demands that a text holds all of the words.
func has(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in:\n%.2000s", w, text)
		}
	}
}
