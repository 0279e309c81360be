//go:build linux || darwin

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Results of a gigabyte through the command itself: they cost disk, never memory.

const (
	gigabyte = 1 << 30
	// mostMemory is what the gateway may take of its own while such a result passes.
	mostMemory = 24 * limit.MiB
)

// watchMemory looks at the anonymous memory of a process until the returned function is
// called, which gives the most that was seen. Only Linux tells; elsewhere it is 0.
func watchMemory(pid int) func() limit.Bytes {
	var most atomic.Int64
	over := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			if _, rest, ok := bytes.Cut(status, []byte("RssAnon:")); ok {
				kib, _ := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
				most.Store(max(most.Load(), kib<<10))
			}
			select {
			case <-over:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() limit.Bytes {
		close(over)
		<-done
		return limit.Bytes(most.Load())
	}
}

func checkMemory(t *testing.T, most limit.Bytes) {
	t.Helper()
	t.Logf("most anonymous memory of the gateway: %s", most.Human())
	if most > mostMemory || most == 0 && runtime.GOOS == "linux" {
		t.Errorf("the gateway took %s of memory, want at most %s", most.Human(), mostMemory.Human())
	}
}

// asker is a client of either kind.
type asker interface {
	call(tool, arguments string) reply
}

// checkLarge holds what every result of a gigabyte must be.
func checkLarge(t *testing.T, c asker, r reply) {
	t.Helper()
	k := r.kept(t)
	if !k.Complete || k.Bytes < gigabyte || len(r.raw) > 16<<10 {
		t.Fatalf("%d bytes were delivered of %+v", len(r.raw), k)
	}
	found := c.call("result_search", `{"handle":"`+k.Handle+`","pattern":"NEEDLE-[A-Z]{3}"}`)
	if !strings.Contains(found.text(), "NEEDLE-XYZ") || !strings.Contains(found.text(), "1 of ") {
		t.Errorf("search: %s", clip(found.raw))
	}
	last := c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":%d}`, k.Handle, k.TotalPages))
	if !strings.Contains(last.text(), "XYZ") || len(last.raw) > 16<<10 {
		t.Errorf("the last page: %s", clip(last.raw))
	}
	asked := c.call("result_query", fmt.Sprintf(`{"handle":%q,"query":"first(.[])"}`, k.Handle))
	if len(asked.raw) > 16<<10 {
		t.Errorf("a query gives %d bytes", len(asked.raw))
	}
}

func TestMCPGigabyteOverStandardStreams(t *testing.T) {
	t.Parallel()
	long(t, "it passes a gigabyte on")
	w := newWorld(t)
	c := w.wire("", "--", misbehaving(t)).begin()
	most := watchMemory(c.cmd.Process.Pid)
	r := c.call("big", fmt.Sprintf(`{"bytes":%d,"kind":"lines","needle":"NEEDLE-XYZ"}`, gigabyte))
	c.alive("a gigabyte")
	checkLarge(t, c, r)
	if r := c.call("noline", fmt.Sprintf(`{"bytes":%d}`, gigabyte)); !strings.Contains(r.text(), "after the noise") {
		t.Errorf("behind a gigabyte without a newline: %s", clip(r.raw))
	}
	checkMemory(t, most())
	c.end()
}

// A web is a client over HTTP, of one session.
type web struct {
	t       *testing.T
	url     string
	session string
	next    atomic.Int64
	header  map[string]string // further headers
}

func (c *web) post(body string) (string, http.Header) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2025-11-25", "Mcp-Session-Id": c.session,
	} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Error(err)
		return "", nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Error(err)
	}
	return string(text), response.Header
}

func (c *web) ask(method, params string) reply {
	c.t.Helper()
	id := strconv.FormatInt(c.next.Add(1), 10)
	text, header := c.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
	if s := header.Get("Mcp-Session-Id"); s != "" {
		c.session = s
	}
	for line := range strings.Lines(text) {
		var r reply
		r.raw = strings.TrimPrefix(line, "data: ")
		if json.Unmarshal([]byte(r.raw), &r) == nil && string(r.ID) == id && (r.Result != nil || r.Error != nil) {
			return r
		}
	}
	c.t.Errorf("%s got no answer: %s", method, clip(text))
	return reply{}
}

func (c *web) call(tool, arguments string) reply {
	c.t.Helper()
	return c.ask("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

func TestMCPGigabyteOverHTTP(t *testing.T) {
	t.Parallel()
	long(t, "it passes a gigabyte on")
	for _, answer := range []string{"json", "sse"} {
		t.Run(answer, func(t *testing.T) {
			w := newWorld(t)
			there := filepath.Join(t.TempDir(), "server")
			w.background(misbehaving(t), "-http", "127.0.0.1:0", "-ready-file", there, "-answer", answer, "-versions", "legacy")
			address := ""
			w.until("the server listens", func() bool {
				text, _ := os.ReadFile(there)
				address = strings.TrimSpace(string(text))
				return address != ""
			})
			ready := filepath.Join(t.TempDir(), "ready")
			gateway := w.background(plimsoll, "mcp", "--listen", "127.0.0.1:0", "--ready-file", ready, "--url", address)
			c := &web{t: t}
			w.until("the gateway listens", func() bool {
				text, _ := os.ReadFile(ready)
				c.url = strings.TrimSpace(string(text))
				return c.url != ""
			})
			c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`)
			c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			most := watchMemory(gateway.Process.Pid)
			large := make(chan reply, 1)
			go func() {
				large <- c.call("big", fmt.Sprintf(`{"bytes":%d,"kind":"text","needle":"NEEDLE-XYZ"}`, gigabyte))
			}()
			var r reply
			for others := 0; r.raw == ""; others++ {
				select {
				case r = <-large:
					if others == 0 {
						t.Error("no other call was answered meanwhile")
					}
				default:
					if x := c.call("echo", `{"text":"meanwhile"}`); x.text() != "meanwhile" {
						t.Fatalf("meanwhile: %s", clip(x.raw))
					}
				}
			}
			checkLarge(t, c, r)
			checkMemory(t, most())
		})
	}
}

// What is small passes as it is, and the pages of what is large are JSON that together hold
// each item once.
func TestMCPBytesAndItemsStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	direct, through := w.dial(misbehaving(t)).begin(), w.wire("", "--", misbehaving(t)).begin()
	for _, tool := range []string{"bigint", "unknown_fields", "structured", "image"} {
		if want, got := direct.call(tool, `{}`).raw, through.call(tool, `{}`).raw; got != want {
			t.Errorf("%s: %s, the server says %s", tool, got, want)
		}
	}
	_ = direct.in.Close()
	_ = direct.cmd.Wait()
	through.end()
	c := w.wire("", "--", misbehaving(t)).begin()
	k := c.call("big", `{"items":777,"kind":"json"}`).kept(t)
	seen := 0
	for page := int64(1); page <= k.TotalPages; page++ {
		r := c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":%d}`, k.Handle, page))
		var part struct {
			Kind  string
			Items []struct {
				ID int
				N  json.Number
			}
		}
		if r.Result == nil || len(r.Result.Content) == 0 || json.Unmarshal([]byte(r.Result.Content[0].Text), &part) != nil || part.Kind != "list" {
			t.Fatalf("page %d: %s", page, clip(r.raw))
		}
		for _, item := range part.Items {
			if item.ID != seen || item.N != "9007199254740993" {
				t.Fatalf("page %d: item %d with %s, want %d", page, item.ID, item.N, seen)
			}
			seen++
		}
	}
	if seen != 777 || k.TotalItems != 777 {
		t.Errorf("%d items of %d, want 777", seen, k.TotalItems)
	}
	c.end()
}
