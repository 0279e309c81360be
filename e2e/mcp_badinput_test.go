//go:build linux || darwin

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Servers and clients that do what they must not, on both sides of the command itself. The
// server is internal/testing/toolserver, which misbehaves when it is told to.

func TestMCPServersThatMisbehaveCostOneCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("[mcp]\ntimeout = '2s'\n", "--", misbehaving(t)).begin()
	for _, bad := range []struct{ tool, arguments, want string }{
		{"silent", `{}`, "2s"},
		{"twice", `{}`, "first"},
		{"foreign_id", `{}`, "mine"},
		{"noise", `{}`, "after the noise"},
		{"noline", `{"bytes":67108864}`, "after the noise"},
		{"huge_error", `{"bytes":10000000,"protocol":true}`, "a stack trace at length"},
		{"nobody", `{}`, "Unknown tool"},
	} {
		if r := c.call(bad.tool, bad.arguments); !strings.Contains(r.text(), bad.want) || len(r.raw) > 16<<10 {
			t.Errorf("%s: %d bytes: %s", bad.tool, len(r.raw), clip(r.raw))
		}
		c.alive(bad.tool)
	}
	// A death is told; what is asked next is for the next server.
	for _, mid := range []string{"false", "true"} {
		if r := c.call("die", `{"mid":`+mid+`}`); r.Error == nil || mid == "false" && !strings.Contains(r.text(), "exit status 3") {
			t.Errorf("die: %s", clip(r.raw))
		}
		c.alive("a death")
	}
	c.end()
}

// What came before a server broke off can be read, and the message says how much that is.
func TestMCPResultThatBreaksOffIsAnErrorThatCanBeRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", misbehaving(t)).begin()
	r := c.call("cut", `{"bytes":9000000,"after":3000000,"kind":"json"}`)
	if r.Error == nil || !strings.Contains(r.text(), "did not arrive whole") {
		t.Fatalf("cut: %s", clip(r.raw))
	}
	_, rest, _ := strings.Cut(r.text(), `"handle":"`)
	handle, _, _ := strings.Cut(rest, `"`)
	found := c.call("result_search", `{"handle":"`+handle+`","pattern":"\"id\":20000,"}`)
	if !strings.Contains(found.text(), "item 20001") || !strings.Contains(found.text(), "broke off") {
		t.Errorf("search: %s", clip(found.raw))
	}
	c.end()
}

func TestMCPServerThatDoesNotStartIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", "sh", "-c", "echo no licence found >&2; exit 7")
	last := ""
	for i := range 6 {
		last = c.ask("initialize", fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"n":{"i":%d}},"clientInfo":{"name":"e2e","version":"1"}}`, i)).text()
	}
	for _, want := range []string{"exit status 7", "no licence found", "given up"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last refusal does not say %q: %s", want, last)
		}
	}
	c.end()
}

// Nothing of a server outlives its client: no child that left its group, none that ignores
// signals.
func TestMCPGrandchildrenEndWithTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := `for i in 1 2 3; do setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 60; done' </dev/null >/dev/null 2>&1 & done; exec "$0"`
	if runtime.GOOS != "linux" {
		script = `sh -c 'trap "" TERM HUP INT; while :; do sleep 60; done' </dev/null >/dev/null 2>&1 & exec "$0"`
	}
	c := w.wire("", "--", "sh", "-c", script, misbehaving(t)).begin()
	c.alive("the start")
	c.end()
}

// A client that does not read keeps nobody: neither the server nor the gateway.
func TestMCPClientThatNeverReadsCanBeEnded(t *testing.T) {
	long(t, "it waits for a client that never reads")
	t.Parallel()
	w := newWorld(t)
	for _, how := range []string{"SIGTERM", "end of input"} {
		t.Run(how, func(t *testing.T) {
			w.t = t
			c := w.wire("", "--", misbehaving(t)).begin()
			for i := range 40 {
				c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"%d","method":"tools/call","params":{"name":"big","arguments":{"bytes":9000,"kind":"text"}}}`, i))
			}
			w.until("the pipe fills", func() bool { return c.waiting() > 16<<10 })
			if how == "SIGTERM" {
				_ = c.cmd.Process.Signal(syscall.SIGTERM)
			} else {
				_ = c.in.Close()
			}
			ended := make(chan struct{})
			go func() { _, _ = c.cmd.Process.Wait(); close(ended) }() // and the pipe stays open and unread
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("the gateway does not end")
			}
			w.nothingLeft()
		})
	}
	w.t = t
}

// Names in JSON are exact, and a server in Go does not mind: what is not allowed must not
// reach it under another spelling.
func TestMCPDeniedToolHasNoOtherSpelling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--deny", "write", "--", misbehaving(t)).begin()
	for _, params := range []string{
		`{"name":"write","arguments":{}}`,
		`{"Name":"write","arguments":{}}`,
		`{"name":"echo","Name":"write","arguments":{}}`,
		`{"name":"echo","name":"write","arguments":{}}`,
		`{"n\u0061me":"wr\u0069te","arguments":{}}`,
		`{"name":"echo","arguments":{}},"Params":{"name":"write","arguments":{}}`,
	} {
		if r := c.ask("tools/call", params); r.Error == nil {
			t.Errorf("%s: %s", params, clip(r.raw))
		}
	}
	c.send(`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"write","arguments":{}}}`)
	if r := c.call("stats", `{}`); !strings.Contains(r.text(), `"writes":0`) {
		t.Errorf("the server says: %s", r.text())
	}
	c.end()
}

func TestMCPWritesReachTheServerEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", misbehaving(t)).begin()
	handle := func() string { return c.call("list", `{"items":500}`).kept(t).Handle }
	first := handle()
	for i := range 2 {
		if r := c.call("write", `{}`); r.text() != fmt.Sprintf("write %d", i+1) {
			t.Errorf("write: %s", clip(r.raw))
		}
	}
	if handle() == first {
		t.Error("a list after a write is that of before it")
	}
	// One that polls a tool that changes nothing sees what is new, whatever is kept.
	var polled []string
	for range 3 {
		polled = append(polled, c.call("counter", `{"bytes":40000}`).kept(t).Handle)
	}
	if polled[2] == polled[0] {
		t.Error("a tool that is polled gives what it gave first")
	}
	c.end()
}

func TestMCPResultToolsTakeNoNonsense(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", misbehaving(t)).begin()
	k := c.call("big", `{"bytes":2000000,"kind":"json","needle":"NEEDLE"}`).kept(t)
	for _, bad := range []struct{ tool, arguments, want string }{
		{"result_page", `"handle":%q,"page":0`, "pages 1 to"},
		{"result_page", `"handle":%q,"page":-1`, "pages 1 to"},
		{"result_page", `"handle":%q,"page":1000000000`, "pages 1 to"},
		{"result_page", `"handle":%q,"page":1.5`, "whole number"},
		{"result_page", `"handle":%q,"page":[1]`, "whole number"},
		{"result_page", `"page":1,"x":%q`, "handle is missing"},
		{"result_page", `"handle":"r_aaaaaaaaaaaaaaaaaaaaaaaaaa","x":%q`, "call the tool again"},
		{"result_page", `"handle":"../../etc/passwd","x":%q`, "call the tool again"},
		{"result_search", `"handle":%q,"pattern":"("`, "not a regular expression"},
		{"result_search", `"handle":%q,"pattern":"` + strings.Repeat("a", 1<<20) + `"`, "longer than"},
		{"result_search", `"handle":%q,"pattern":"(x+x+)+y"`, "nothing matches"},
		{"result_search", `"handle":%q,"pattern":"id"`, "narrower"},
		{"result_query", `"handle":%q,"query":"def f: f; f"`, "took longer"},
		{"result_query", `"handle":%q,"query":"[range(1e9)]"`, "was stopped"}, // of memory, or of time where the machine is busy
		{"result_query", `"handle":%q,"query":".items["`, "not valid jq"},
		{"result_query", `"handle":%q,"query":"input_filename"`, "not valid jq"},
		{"result_query", `"handle":%q,"query":"$ENV"`, "{}"},
		{"result_query", `"handle":%q,"query":"repeat(1)"`, "left out"},
	} {
		r := c.call(bad.tool, "{"+strings.Replace(bad.arguments, "%q", `"`+k.Handle+`"`, 1)+"}")
		if !strings.Contains(r.text(), bad.want) || len(r.raw) > 16<<10 {
			t.Errorf("%s %s: %d bytes: %s", bad.tool, clip(bad.arguments), len(r.raw), clip(r.raw))
		}
	}
	c.alive("nonsense")
	c.end()
}

func TestMCPClientsThatMisbehaveAreAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", misbehaving(t)).begin()
	for _, bad := range []struct{ line, id, want string }{
		{`garbage`, "null", "not JSON"},
		{`[{"jsonrpc":"2.0","id":"b","method":"ping"}]`, "null", "batches"},
		{`{"jsonrpc":"2.0","id":"x","method":5}`, `"x"`, "a method is a string"},
		{`{"jsonrpc":"2.0","id":"y","method":"tools/call","params":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, `"y"`, "nested too deep"},
		{`{"jsonrpc":"2.0","id":"z","method":"tools/call","params":{"name":"echo","arguments":{"text":"` + strings.Repeat("z", 17<<20) + `"}}}`, `"z"`, "larger than"},
	} {
		c.send(bad.line)
		if r := c.await(bad.id); !strings.Contains(r.text(), bad.want) {
			t.Errorf("%s: %s", clip(bad.line), clip(r.raw))
		}
	}
	// Taken back at once: no answer need come, and the next one is not it.
	c.send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"silent","arguments":{}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow"}}`)
	c.alive("a cancellation")
	c.end()
}

// The next gateway finds what a killed one left: neither its server nor its half of a
// result is in the way.
func TestMCPKilledGatewayLeavesNothingInTheWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", misbehaving(t)).begin()
	c.next++
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big","arguments":{"bytes":400000000,"kind":"json"}}}`, c.next))
	results := filepath.Join(w.state, "cache", "results")
	w.until("a result is being kept", func() bool {
		entries, _ := os.ReadDir(results)
		return slices.ContainsFunc(entries, os.DirEntry.IsDir)
	})
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	next := w.wire("", "--", misbehaving(t)).begin()
	if k := next.call("big", `{"bytes":200000,"kind":"json"}`).kept(t); !k.Complete {
		t.Errorf("%+v", k)
	}
	next.end()
}

// What a killed gateway left is ended by the next gateway, also by one that starts no server itself.
func TestMCPServerOfAKilledGatewayIsEndedByTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.wire("", "--", "sh", "-c", `sleep 1234 & exec "$0" "$@"`, misbehaving(t)).begin()
	left := func() bool {
		return slices.ContainsFunc(w.processes(), func(p process) bool { return strings.HasPrefix(p.args, "sleep 1234") })
	}
	w.until("the server has a child", left)
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	if !left() {
		t.Skip("what is left over goes with the gateway here")
	}
	next := w.wire("", "--url", "http://127.0.0.1:9/mcp")
	_ = next.in.Close()
	_ = next.cmd.Wait()
	if left() {
		t.Error("what the killed gateway left is still running")
	}
}
