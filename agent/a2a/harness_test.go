package a2a

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// patience is how long tests wait for what must come.
const patience = time.Minute

func loopback() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// served is a server on a real socket.
type served struct {
	*Server
	t    testing.TB
	http *httptest.Server
}

func serve(t testing.TB, executor ExecutorFunc, change ...func(*Options)) *served {
	t.Helper()
	s := unstarted(t, executor, change...)
	s.http.Start()
	return s
}

func unstarted(t testing.TB, executor ExecutorFunc, change ...func(*Options)) *served {
	t.Helper()
	o := Options{Name: "tested", Executor: executor, PushAllow: loopback()}
	o.Limits.CancelWait = patience
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	out := &served{Server: s, t: t, http: httptest.NewUnstartedServer(s)}
	t.Cleanup(func() {
		out.end()
		out.http.Close()
	})
	return out
}

// end closes the server, and gives what runs no time.
func (s *served) end() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Close(ctx); err != nil {
		s.t.Error(err)
	}
}

// request makes a request that says 1.0, unless a header says otherwise.
func (s *served) request(method, path, body string, header ...string) *http.Response {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(versionHeader, version10)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.http.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func call(method string, params any) string {
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(text)
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// rpc makes a call of JSON-RPC and gives its result, or its error.
func (s *served) rpc(method string, params any, result any, header ...string) *rpcError {
	s.t.Helper()
	resp := s.request(http.MethodPost, "/", call(method, params), header...)
	var answer struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcError       `json:"error"`
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if resp.Header.Get("Content-Type") == "text/event-stream" { // an error of a call that streams is its one event
		if resp.StatusCode != http.StatusOK {
			s.t.Errorf("%s: a stream with status %d", method, resp.StatusCode)
		}
		text = bytes.TrimPrefix(text, []byte("data: "))
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		s.t.Fatalf("%s: %v: %s", method, err, text)
	}
	if answer.Error == nil && result != nil {
		if err := json.Unmarshal(answer.Result, result); err != nil {
			s.t.Fatalf("%s: %v: %s", method, err, answer.Result)
		}
	}
	return answer.Error
}

func message(text string, more ...func(*sdk.Message)) map[string]any {
	m := sdk.NewMessage(sdk.MessageRoleUser, sdk.NewTextPart(text))
	for _, f := range more {
		f(m)
	}
	return map[string]any{"message": m}
}

// send sends a message and waits for its task.
func (s *served) send(text string, more ...func(*sdk.Message)) *sdk.Task {
	s.t.Helper()
	var got sdk.StreamResponse
	if e := s.rpc("SendMessage", message(text, more...), &got); e != nil {
		s.t.Fatalf("SendMessage: %d %s", e.Code, e.Message)
	}
	task, ok := got.Event.(*sdk.Task)
	if !ok {
		s.t.Fatalf("SendMessage answered with %T", got.Event)
	}
	return task
}

func (s *served) get(id sdk.TaskID) *sdk.Task {
	s.t.Helper()
	var task sdk.Task
	if e := s.rpc("GetTask", map[string]any{"id": id}, &task); e != nil {
		s.t.Fatalf("GetTask: %d %s", e.Code, e.Message)
	}
	return &task
}

// frame is one event of a stream.
type frame struct {
	id    uint64 // 0 for none
	event sdk.Event
	err   *rpcError
}

// frames reads a stream.
type frames struct {
	t    testing.TB
	body io.ReadCloser
	in   *bufio.Reader
}

func read(t testing.TB, resp *http.Response) *frames {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("the answer is %d %s: %s", resp.StatusCode, got, text)
	}
	return &frames{t: t, body: resp.Body, in: bufio.NewReader(resp.Body)}
}

// next is the next event; false at the end.
func (f *frames) next() (frame, bool) {
	f.t.Helper()
	var out frame
	found := false
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			if found {
				f.t.Fatalf("the stream ends inside an event: %v", err)
			}
			return out, false
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && found:
			return out, true
		case strings.HasPrefix(line, "id: "):
			if out.id, err = strconv.ParseUint(line[4:], 10, 64); err != nil {
				f.t.Fatalf("the id of an event is no position: %q", line)
			}
		case strings.HasPrefix(line, "data: "):
			found = true
			out.event, out.err = decode(f.t, []byte(line[6:]))
		}
	}
}

func decode(t testing.TB, data []byte) (sdk.Event, *rpcError) {
	t.Helper()
	var envelope struct {
		Result *sdk.StreamResponse `json:"result"`
		Error  *rpcError           `json:"error"`
	}
	if bytes.HasPrefix(data, []byte(`{"jsonrpc"`)) {
		if err := json.Unmarshal(data, &envelope); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if envelope.Error != nil {
			return nil, envelope.Error
		}
		return envelope.Result.Event, nil
	}
	var plain sdk.StreamResponse
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return plain.Event, nil
}

// all reads a stream to its end.
func (f *frames) all() []frame {
	f.t.Helper()
	var out []frame
	for {
		got, ok := f.next()
		if !ok {
			return out
		}
		out = append(out, got)
	}
}

func (s *served) stream(method string, params any, header ...string) *frames {
	s.t.Helper()
	return read(s.t, s.request(http.MethodPost, "/", call(method, params), header...))
}

// textOf is the text of a task's artifacts.
func textOf(task *sdk.Task) string {
	var b strings.Builder
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			b.WriteString(p.Text())
		}
	}
	return b.String()
}

// number emits an artifact piece that is a number and a blank.
func number(x *Exchange, n int) error {
	e := sdk.NewArtifactUpdateEvent(x, "numbers", sdk.NewTextPart(fmt.Sprintf("%d ", n)))
	e.Append = n > 0
	return x.Emit(e)
}

// waitFor waits for what another goroutine is about to do, with looks rather than sleeps.
