package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

const greeting = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`

// toolAnswer is what a test reads of a response.
type toolAnswer struct {
	ID     json.RawMessage `json:"id"`
	Result struct {
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Meta struct {
			Page struct {
				Handle     string `json:"handle"`
				Bytes      int64  `json:"bytes"`
				TotalItems int64  `json:"total_items"`
				Page       int64  `json:"page"`
				PageSize   int64  `json:"page_size"`
				TotalPages int64  `json:"total_pages"`
				Complete   bool   `json:"complete"`
			} `json:"plimsoll/result"`
		} `json:"_meta"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

// text is what a model would read.
func (a toolAnswer) text() string {
	var texts []string
	for _, c := range a.Result.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(append(texts, a.Error.Message), "\n")
}

// A client of MCP, over whatever send does with a message.
type mcpClient struct {
	t    *testing.T
	send func(message string) []byte // the response; nil for a notification
	end  func()                      // ends its session, over HTTP
	id   int
}

func (c *mcpClient) request(method, params string) toolAnswer {
	c.t.Helper()
	c.id++
	body := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params))
	var a toolAnswer
	if err := json.Unmarshal(body, &a); err != nil || string(a.ID) != fmt.Sprint(c.id) {
		c.t.Fatalf("%s: %v in %.500s", method, err, body)
	}
	return a
}

func (c *mcpClient) greet() {
	c.t.Helper()
	c.request("initialize", greeting)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *mcpClient) call(tool, arguments string) toolAnswer {
	c.t.Helper()
	return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// stdioClient starts a gateway on standard streams.
func stdioClient(t *testing.T, s *site, args ...string) *mcpClient {
	t.Helper()
	cmd := s.command(args...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	})
	c := &mcpClient{t: t, send: func(message string) []byte {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(message, `"id":`) {
			return nil
		}
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("after %.200s: %v", message, err)
		}
		return line
	}}
	c.greet()
	return c
}

// httpClient greets an MCP endpoint.
func httpClient(t *testing.T, url string, header http.Header) *mcpClient {
	t.Helper()
	session := ""
	c := &mcpClient{t: t, send: func(message string) []byte {
		r, body := post(t, url, header, session, message)
		if id := r.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		if !strings.Contains(message, `"id":`) {
			if r.StatusCode != http.StatusAccepted {
				t.Errorf("%s: status %d, want 202: %s", message, r.StatusCode, body)
			}
			return nil
		}
		if kind := r.Header.Get("Content-Type"); r.StatusCode != http.StatusOK || kind != "application/json" {
			t.Fatalf("%.200s: status %d, %s: %.500s", message, r.StatusCode, kind, body)
		}
		return body
	}}
	c.end = func() {
		if r, body := request(t, http.MethodDelete, url, header, session, ""); r.StatusCode != http.StatusNoContent {
			t.Errorf("DELETE gives %d %s", r.StatusCode, body)
		}
	}
	c.greet()
	return c
}

func post(t *testing.T, url string, header http.Header, session, body string) (*http.Response, []byte) {
	t.Helper()
	return request(t, http.MethodPost, url, header, session, body)
}

func request(t *testing.T, method, url string, header http.Header, session, body string) (*http.Response, []byte) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	maps.Copy(r.Header, header)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return response, text
}

// listening starts a command that writes its URL into a file, and ends it with the test.
// events is what it has printed, once ended.
func listening(t *testing.T, s *site, args ...string) (url string, end func() (events, words string)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it is ended by a signal")
	}
	ready := filepath.Join(t.TempDir(), "ready")
	cmd := s.command(slices.Insert(slices.Clone(args), 1, "--ready-file", ready)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end = func() (string, string) {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %v\n%s", args, err, stderr.Bytes())
			}
		}
		return stdout.String(), stderr.String()
	}
	t.Cleanup(func() { end() })
	wait.Until(t, fmt.Sprintf("%v is ready", args), func() bool {
		text, err := os.ReadFile(ready)
		url = strings.TrimSpace(string(text))
		return err == nil
	}, func() string { end(); return stderr.String() })
	return url, end
}
