package toolserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const greeting = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`

// lineAfterLine sends a call to a server on standard streams and returns all that it prints.
func lineAfterLine(t *testing.T, call string, last string) (string, error) {
	t.Helper()
	p := New(Options{}).Pipe()
	go func() { _, _ = io.WriteString(p.Stdin, greeting+"\n"+call+"\n") }()
	var all strings.Builder
	s := bufio.NewReader(p.Stdout)
	for {
		line, err := s.ReadString('\n')
		all.WriteString(line)
		if err != nil || last != "" && strings.Contains(line, last) {
			break
		}
	}
	_ = p.Stdin.Close()
	go func() { _, _ = io.Copy(io.Discard, p.Stdout) }()
	return all.String(), p.Wait()
}

func callOf(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

func TestFaultsOnStandardStreams(t *testing.T) {
	for _, c := range []struct {
		call, last string
		want       []string
		err        error
	}{
		{callOf("cut", `{"after":300}`), "", []string{`"id":1,"result":{"content":[{"type":"text","text":"{\"kind`}, ErrCut},
		{callOf("die", `{}`), "", []string{`"id":0`}, ErrDied},
		{callOf("die", `{"mid":true}`), "", []string{`"id":1,"result":{"content"`}, ErrDied},
		{callOf("twice", `{}`), "second", []string{`"first"`, `"second"`}, nil},
		{callOf("foreign_id", `{}`), "mine", []string{`"nobody-asked"`}, nil},
		{callOf("noise", `{}`), "after the noise", []string{"DEBUG: this is no message\n"}, nil},
		{callOf("noline", `{"bytes":100000}`), "after the noise", []string{strings.Repeat("no newline in here ", 400)}, nil},
		{callOf("silent", `{}`) + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"ping"}`, `"id":2`, nil, nil},
	} {
		got, err := lineAfterLine(t, c.call, c.last)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: ended with %v", c.call, err)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %.80q is not in %.400q", c.call, w, got)
			}
		}
	}
}

type answer struct {
	status int
	body   string
	err    error
	header http.Header
}

func send(t *testing.T, url, method, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{err: err}
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(b), err, resp.Header}
}

func serve(t *testing.T, o Options) string {
	ts := httptest.NewServer(New(o).Handler())
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts.URL
}

func TestHTTPAsTheSpecificationsSay(t *testing.T) {
	url := serve(t, Options{EventIDs: true, Answer: SSE})
	modern := func(method, name string) []string {
		return []string{"Mcp-Protocol-Version", Modern, "Mcp-Method", method, "Mcp-Name", name}
	}
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	request := func(method, members string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members + meta + `}}`
	}
	session := send(t, url, http.MethodPost, greeting).header.Get("Mcp-Session-Id")
	for name, c := range map[string]struct {
		got    answer
		status int
		body   string
	}{
		"no session":         {send(t, url, http.MethodPost, callOf("echo", "{}")), 400, "no Mcp-Session-Id"},
		"foreign session":    {send(t, url, http.MethodPost, callOf("echo", "{}"), "Mcp-Session-Id", "x"), 404, ""},
		"no type":            {send(t, url, http.MethodPost, greeting, "Content-Type", "text/plain"), 415, ""},
		"not acceptable":     {send(t, url, http.MethodPost, greeting, "Accept", "application/json"), 406, ""},
		"no JSON":            {send(t, url, http.MethodPost, "{"), 400, "-32700"},
		"notification":       {send(t, url, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session), 202, ""},
		"put":                {send(t, url, http.MethodPut, ""), 405, ""},
		"modern":             {send(t, url, http.MethodPost, request("tools/call", `"name":"echo","arguments":{"text":"hi"},`), modern("tools/call", "echo")...), 200, `"resultType":"complete"`},
		"header mismatch":    {send(t, url, http.MethodPost, request("tools/call", `"name":"echo",`), modern("tools/call", "other")...), 400, "-32020"},
		"no method header":   {send(t, url, http.MethodPost, request("tools/list", ""), "Mcp-Protocol-Version", Modern), 400, "-32020"},
		"encoded name":       {send(t, url, http.MethodPost, request("tools/call", `"name":"echo",`), modern("tools/call", "=?base64?ZWNobw==?=")...), 200, `"result"`},
		"unknown method":     {send(t, url, http.MethodPost, request("ping", ""), modern("ping", "")...), 404, "-32601"},
		"missing capability": {send(t, url, http.MethodPost, request("tools/call", `"name":"ask",`), modern("tools/call", "ask")...), 400, `"requiredCapabilities":{"elicitation":{}}`},
		"parameter header":   {send(t, url, http.MethodPost, request("tools/call", `"name":"region","arguments":{"region":"eu"},`), modern("tools/call", "region")...), 400, "-32020"},
		"unknown version":    {send(t, url, http.MethodPost, strings.ReplaceAll(request("tools/list", ""), Modern, "2099-01-01"), "Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"), 400, `"supported":["2026-07-28"`},
	} {
		if c.got.status != c.status || !strings.Contains(c.got.body, c.body) {
			t.Errorf("%s: status %d %v, %.300s", name, c.got.status, c.got.err, c.got.body)
		}
	}
	if a := send(t, url, http.MethodPost, callOf("cut", `{"after":300}`), "Mcp-Session-Id", session); a.err == nil {
		t.Errorf("cut: a whole answer of %d bytes", len(a.body))
	}
	// A dropped stream goes on where it stopped.
	dropped := send(t, url, http.MethodPost, callOf("drop", `{"ms":1}`), "Mcp-Session-Id", session)
	at := strings.LastIndex(dropped.body, "id: ")
	if at < 0 || !strings.Contains(dropped.body, "retry: 50") || strings.Contains(dropped.body, "after the drop") {
		t.Fatalf("drop: %q", dropped.body)
	}
	id, _, _ := strings.Cut(dropped.body[at+4:], "\n")
	if a := send(t, url, http.MethodGet, "", "Mcp-Session-Id", session, "Last-Event-ID", id); !strings.Contains(a.body, "after the drop") {
		t.Errorf("resumed: %q %v", a.body, a.err)
	}
	if a := send(t, url, http.MethodDelete, "", "Mcp-Session-Id", session); a.status != 204 {
		t.Errorf("DELETE: %d", a.status)
	}
}

// FuzzStdio: whatever a client writes, the server prints messages and nothing else.
func FuzzStdio(f *testing.F) {
	for _, s := range []string{
		greeting, greeting + "\n" + callOf("echo", `{"text":"x"}`), greeting + "\n" + callOf("echo", `7`),
		`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `[]`, "{\"id\":1,\"method\":\"\xff\"}",
		`{"id":00,"method":"initialise"}`, `{"id":"\q","method":"x"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		// What waits, ends the process or prints noise is not for here.
		for _, fault := range []string{"silent", "slow", "die", "cut", "noise", "noline", "listen", "ask", "sample", "roots", "\\u", "bytes", "items"} {
			if bytes.Contains(in, []byte(fault)) {
				return
			}
		}
		var out bytes.Buffer
		_ = New(Options{}).ServeStdio(t.Context(), bytes.NewReader(in), &out)
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Fatalf("%q was printed for %q", line, in)
			}
		}
	})
}

// The handler returns as soon as it hears that the answer is over. It must know by then that it was cut.
func TestAnAnswerIsCutBeforeItIsOver(t *testing.T) {
	for _, mode := range []Answer{JSON, SSE} {
		for _, fault := range []error{ErrCut, ErrDied} {
			recorder := httptest.NewRecorder()
			k := newStream(recorder, mode)
			heard := make(chan bool)
			k.mu.Lock()
			changed := k.changed
			k.mu.Unlock()
			go func() {
				<-changed
				k.mu.Lock()
				defer k.mu.Unlock()
				heard <- k.faulted
			}()
			err := k.response(http.StatusOK, func(w *bufio.Writer) error {
				_, _ = w.WriteString(`{"jsonrpc":"2.0"`)
				return fault
			})
			if cut := <-heard; !cut || !errors.Is(err, fault) || !strings.Contains(recorder.Body.String(), `{"jsonrpc":"2.0"`) {
				t.Errorf("mode %v: %v: cut %v, written %q", mode, err, cut, recorder.Body)
			}
		}
	}
}
