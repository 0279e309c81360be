//go:build linux || darwin

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// misbehaving is the path of the test server, which stands beside plimsoll.
func misbehaving(t *testing.T) string {
	t.Helper()
	path := filepath.Join(bin, "standalone")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("there is no test server beside plimsoll (go build -o %s ./internal/testing/toolserver/standalone): %v", bin, err)
	}
	return path
}

// A wire is a client that writes and reads lines itself.
type wire struct {
	t     *testing.T
	w     *world
	cmd   *exec.Cmd
	in    io.WriteCloser
	pipe  *os.File
	out   *bufio.Reader
	next  int
	ended chan error
}

// reply is a response as it came.
type reply struct {
	ID     json.RawMessage
	Result *struct {
		Content []struct{ Text string }
		IsError bool
		Tools   []struct{ Name string }
		Meta    map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct{ Message string }
	raw   string
}

// text is what a model would read.
func (r reply) text() string {
	if r.Error != nil {
		return r.Error.Message
	}
	var all []string
	if r.Result != nil {
		for _, c := range r.Result.Content {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

// kept is what _meta says of a result that was too large.
type kept struct {
	Handle     string
	Bytes      int64
	TotalItems int64 `json:"total_items"`
	TotalPages int64 `json:"total_pages"`
	Complete   bool
}

func (r reply) kept(t *testing.T) (k kept) {
	t.Helper()
	if r.Result == nil || json.Unmarshal(r.Result.Meta["plimsoll/result"], &k) != nil || k.Handle == "" {
		t.Fatalf("no page of a large result: %s", clip(r.raw))
	}
	return k
}

// wire starts plimsoll mcp with standard streams. config is the configuration, "" for none.
func (w *world) wire(config string, args ...string) *wire {
	w.t.Helper()
	if config != "" {
		write(w.t, config, w.state, "config.toml")
	}
	return w.dial(append([]string{plimsoll, "mcp"}, args...)...)
}

// dial starts a server, or what stands before one.
func (w *world) dial(argv ...string) *wire {
	w.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.work, w.environment("PLIMSOLL_CACHE_DIR="+filepath.Join(w.state, "cache"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	c := &wire{t: w.t, w: w, cmd: cmd, in: in, pipe: out.(*os.File), ended: make(chan error, 1)}
	c.out = bufio.NewReaderSize(c.pipe, 64<<10)
	w.t.Cleanup(func() { _ = cmd.Process.Kill() })
	return c
}

// begin is the handshake.
func (c *wire) begin() *wire {
	c.t.Helper()
	if r := c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`); r.Error != nil {
		c.t.Fatalf("initialize: %s", r.raw)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *wire) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a request and reads to its response.
func (c *wire) ask(method, params string) reply {
	c.t.Helper()
	c.next++
	id := fmt.Sprint(c.next)
	c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	return c.await(id)
}

// await reads to the response with this id. Everything that comes must be JSON.
func (c *wire) await(id string) reply {
	c.t.Helper()
	timeout := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill() })
	defer timeout.Stop()
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			c.t.Fatalf("no answer to %s: %v", id, err)
		}
		var r reply
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.t.Fatalf("not JSON: %v in %s", err, clip(line))
		}
		if r.raw = line; string(r.ID) == id && (r.Result != nil || r.Error != nil) {
			return r
		}
	}
}

func (c *wire) call(tool, arguments string) reply {
	c.t.Helper()
	return c.ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

// waiting is how many bytes lie in the pipe that nobody has read.
func (c *wire) waiting() (n int) {
	c.t.Helper()
	raw, err := c.pipe.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unread) })
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// alive says that the session still serves.
func (c *wire) alive(after string) {
	c.t.Helper()
	if r := c.call("echo", `{"text":"still here"}`); r.text() != "still here" {
		c.t.Fatalf("after %s: %s", after, clip(r.raw))
	}
}

// end leaves, and nothing may be left.
func (c *wire) end() {
	c.t.Helper()
	_ = c.in.Close()
	c.gone()
}

// gone waits for the end of the gateway.
func (c *wire) gone() {
	c.t.Helper()
	go func() { c.ended <- c.cmd.Wait() }()
	select {
	case <-c.ended:
	case <-time.After(patience):
		c.t.Fatal("the gateway does not end")
	}
	c.w.nothingLeft()
}
