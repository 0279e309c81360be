package toolbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// scripted is an MCP server that says what it is told to, to the letter.
type scripted struct {
	// tools is the value of tools, call answers a call with the value of result or whole
	// messages; say writes a message beside.
	tools func() string
	call  func(s *scripted, name string, arguments json.RawMessage, id json.RawMessage) string

	mu  sync.Mutex
	out io.Writer
	got []string // responses to its requests
}

func (s *scripted) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = io.WriteString(s.out, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")+"\n")
}

func (s *scripted) responses() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

func (s *scripted) serve(in io.Reader) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			continue
		}
		switch m.Method {
		case "initialize":
			s.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}}`, m.ID)
		case "tools/list":
			s.say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":%s}}`, m.ID, s.tools())
		case "tools/call":
			go func() {
				if result := s.call(s, m.Params.Name, m.Params.Arguments, m.ID); result != "" {
					s.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
				}
			}()
		case "":
			s.mu.Lock()
			s.got = append(s.got, lines.Text())
			s.mu.Unlock()
		}
	}
}

func (s *scripted) server(name string) toolbox.Server {
	return toolbox.Server{Name: name, Peer: func() transport.Peer {
		return mcpclient.Stdio(mcpclient.StdioOptions{Name: name, Launch: func(context.Context) (*mcpclient.Process, error) {
			in, stdin := io.Pipe()
			stdout, out := io.Pipe()
			s.mu.Lock()
			s.out = out
			s.mu.Unlock()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s.serve(in)
				_ = out.Close()
			}()
			kill := func() { _ = in.Close(); _ = out.Close() }
			return &mcpclient.Process{Stdin: stdin, Stdout: stdout, PID: 1, Kill: kill, Wait: func() (mcpclient.Exit, error) {
				<-ended
				return mcpclient.Exit{}, nil
			}}, nil
		}})
	}}
}

func TestNamesAndSchemasThatModelsRefuse(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("very_long_", 12)
	s := &scripted{
		tools: func() string {
			return `[
				{"name":"files.read","description":"` + strings.Repeat("ä", 3000) + `","inputSchema":{"$schema":"x","type":"object","properties":{"path":{"type":"string"}},"required":["path"],"oneOf":[{"required":["path"]}]}},
				{"name":"files_read","inputSchema":{"type":"object"}},
				{"name":"files/read","inputSchema":{"type":["object","null"],"additionalProperties":true}},
				{"name":"` + long + `","inputSchema":null},
				{"name":"öffnen","title":"Open","inputSchema":{"type":"object","properties":[]}},
				{"name":"bad","inputSchema":"none"},
				{"name":"loops","inputSchema":{"type":"object","$ref":"#","allOf":[{"$ref":"#"},{"$ref":"#"}]}},
				{"name":"result_page","inputSchema":{"type":"object"}},
				{"name":""}, {}, 7, {"name":17}
			]`
		},
		call: func(_ *scripted, name string, _, _ json.RawMessage) string {
			return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, name)
		},
	}
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{s.server("odd")}})
	list, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var said []string
	for _, spec := range list {
		if seen[spec.Name] || len(spec.Name) > 64 || strings.Trim(spec.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("the name %q is not one for models", spec.Name)
		}
		seen[spec.Name] = true
		if len(spec.Description) > 2048 {
			t.Errorf("%s has a description of %d bytes", spec.Name, len(spec.Description))
		}
		var schema struct {
			Type       string
			Properties map[string]any
			OneOf      any
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil || schema.Type != "object" || schema.Properties == nil || schema.OneOf != nil {
			t.Errorf("%s has the schema %s (%v)", spec.Name, spec.Schema, err)
		}
		if strings.Contains(spec.Name, "result_") {
			continue
		}
		arguments := `{"path":"x"}`
		out := called(t, b, spec.Name, arguments)
		if out.Failed {
			t.Errorf("%s: %s", spec.Name, out.Text)
		}
		said = append(said, spec.Name+"="+out.Text)
	}
	all := strings.Join(said, "\n")
	has(t, all, "files_read=files_read", "=files.read", "=files/read", "="+long, "=öffnen", "bad=bad", "loops=loops")
	if got := succeeded(t, b, "result_page", `{}`); got != "result_page" || !seen["plimsoll_result_page"] {
		t.Errorf("the server's own result_page said %q", got)
	}
	if n := b.Stats().BadSchemas; n != 2 {
		t.Errorf("%d schemas are bad", n)
	}
	again, err := b.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].Name != again[i].Name || string(list[i].Schema) != string(again[i].Schema) {
			t.Errorf("%d: %s became %s", i, list[i].Name, again[i].Name)
		}
	}
}

func TestListsThatChange(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tools := `[{"name":"one","inputSchema":{"type":"object"}}]`
	s := &scripted{
		tools: func() string { mu.Lock(); defer mu.Unlock(); return tools },
		call:  func(*scripted, string, json.RawMessage, json.RawMessage) string { return `{"content":[]}` },
	}
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{s.server("news")}})
	if got := succeeded(t, b, "one", ``); got != "(no output)" {
		t.Errorf("nothing is %q", got)
	}
	mu.Lock()
	tools = `[{"name":"two","inputSchema":{"type":"object"}}]`
	mu.Unlock()
	s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	until(t, "the new list is there", func() bool { return specs(t, b)["two"].Name == "two" })
	out := called(t, b, "one", `{}`)
	if !out.Failed {
		t.Error("a tool that is gone was called")
	}
	has(t, out.Text, `there is no tool "one"`, "two")
	mu.Lock()
	tools = `[]`
	mu.Unlock()
	s.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	if specs(t, b)["two"].Name == "" {
		t.Error("a server that lists nothing for a while has lost its tools")
	}
}

func TestServersAreToldThatNobodyIsHere(t *testing.T) {
	t.Parallel()
	answered := make(chan struct{})
	s := &scripted{tools: func() string { return `[{"name":"curious","inputSchema":{"type":"object"}}]` }}
	s.call = func(s *scripted, _ string, _, id json.RawMessage) string {
		for i, method := range []string{"elicitation/create", "sampling/createMessage", "roots/list", "ping"} {
			s.say(`{"jsonrpc":"2.0","id":"q%d","method":%q,"params":{"message":"your password?"}}`, i, method)
		}
		go func() {
			<-answered
			s.say(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"never mind"}]}}`, id)
		}()
		return ""
	}
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{s.server("curious")}})
	done := make(chan string, 1)
	go func() {
		out, err := b.Call(t.Context(), agent.Call{Name: "curious"}, ignored)
		done <- fmt.Sprint(out.Text, err)
	}()
	until(t, "four answers are there", func() bool { return len(s.responses()) == 4 })
	close(answered)
	select {
	case text := <-done:
		has(t, text, "never mind<nil>")
	case <-time.After(patience):
		t.Fatal("the call did not end")
	}
	errors, pongs := 0, 0
	for _, r := range s.responses() {
		switch {
		case strings.Contains(r, `"error":{"code":-32601`):
			errors++
		case strings.Contains(r, `"result":{}`):
			pongs++
		}
	}
	if errors != 3 || pongs != 1 || b.Stats().Refused != 3 {
		t.Errorf("%d refusals, %d pongs: %v", errors, pongs, s.responses())
	}
}

func TestAnswersOfManyKinds(t *testing.T) {
	t.Parallel()
	s := &scripted{tools: func() string { return `[{"name":"any","inputSchema":{"type":"object"}}]` }}
	s.call = func(_ *scripted, _ string, arguments, _ json.RawMessage) string {
		var in struct{ Result string }
		_ = json.Unmarshal(arguments, &in)
		return in.Result
	}
	b := opened(t, toolbox.Options{Servers: []toolbox.Server{s.server("kinds")}})
	for _, c := range []struct {
		result, want string
		failed       bool
	}{
		{`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb", false},
		{`{"content":[{"type":"text","text":""}]}`, "(no output)", false},
		{`{"content":[],"isError":true}`, "(no output)", true},
		{`{"content":[],"structuredContent":{"n": 1}}`, `{"n": 1}`, false},
		{`{"structuredContent":{"n":1},"content":[{"type":"text","text":"one"}]}`, `one`, false},
		{`{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}`, "[image, image/png, 3 B: it cannot be shown here]", false},
		{`{"content":[{"data":"AAA=","mimeType":"audio/wav","type":"audio"}]}`, "[audio, audio/wav, 2 B: it cannot be shown here]", false},
		{`{"content":[{"type":"resource_link","uri":"file:///a","name":"a","mimeType":"text/plain","size":2048,"description":"It."}]}`, "[resource, a, file:///a, text/plain, 2 KiB: It.]", false},
		{`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`, "[resource, file:///a]\ninside", false},
		{`{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"application/pdf","blob":"AAAAAAAA"}}]}`, "[data, file:///a, application/pdf, 6 B: it cannot be shown here]", false},
		{`{"content":[{"type":"hologram","x":1}]}`, `[content of the kind "hologram": it cannot be shown here]`, false},
		{`{"content":[{"type":"text","text":"no"}],"isError":true}`, "no", true},
		{`{}`, "(no output)", false},
		{`{"content":"text"}`, "(no output)", false},
	} {
		out := called(t, b, "any", fmt.Sprintf(`{"result":%q}`, c.result))
		if out.Text != c.want || out.Failed != c.failed {
			t.Errorf("%s\n gave %q, failed=%t\nwant %q, failed=%t", c.result, out.Text, out.Failed, c.want, c.failed)
		}
	}
}
