//go:build linux || darwin

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A binding is a transport and a version of A2A, as a client writes it by itself.
type binding struct {
	name, version   string
	send, subscribe func(id, text string) (path string, body any)
}

func (b binding) String() string { return b.name }

func envelope(method string, params any) any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

func message03(id, text string) any {
	return map[string]any{"message": map[string]any{
		"kind": "message", "messageId": id, "role": "user", "parts": []any{map[string]any{"kind": "text", "text": text}},
	}}
}

var bindings = []binding{
	{
		"JSON-RPC 1.0", "1.0",
		func(id, text string) (string, any) {
			return "", envelope("SendStreamingMessage", message(id, "", text))
		},
		func(id, _ string) (string, any) { return "", envelope("SubscribeToTask", map[string]any{"id": id}) },
	},
	{
		"REST 1.0", "1.0",
		func(id, text string) (string, any) { return "/message:stream", message(id, "", text) },
		func(id, _ string) (string, any) { return "/tasks/" + id + ":subscribe", nil },
	},
	{
		"JSON-RPC 0.3", "",
		func(id, text string) (string, any) {
			return "", envelope("message/stream", message03(id, text))
		},
		func(id, _ string) (string, any) { return "", envelope("tasks/resubscribe", map[string]any{"id": id}) },
	},
}

// A frame is one event of a stream as it came.
type frame struct {
	id   uint64 // 0: there was none
	data string
}

// A flow is a stream that a client reads, on a connection of its own.
type flow struct {
	t      *testing.T
	answer *http.Response
	in     *bufio.Reader
	end    func()
	status int
}

// flow makes a request whose answer may be a stream. last is the header Last-Event-ID.
func (w *world) flow(url string, b binding, path string, body any, last string) *flow {
	w.t.Helper()
	var text []byte
	if body != nil {
		text, _ = json.Marshal(body)
	}
	ctx, end := context.WithTimeout(w.t.Context(), patience)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/a2a/argocd"+path, bytes.NewReader(text))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if b.version != "" {
		r.Header.Set("A2A-Version", b.version)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		end()
		w.t.Fatal(err)
	}
	f := &flow{t: w.t, answer: answer, in: bufio.NewReader(answer.Body), end: end, status: answer.StatusCode}
	w.t.Cleanup(f.cut)
	return f
}

func (w *world) ask(url string, b binding, id, text, last string) *flow {
	w.t.Helper()
	path, body := b.send(id, text)
	return w.flow(url, b, path, body, last)
}

func (w *world) comeBack(url string, b binding, task string, last uint64) *flow {
	w.t.Helper()
	path, body := b.subscribe(task, "")
	return w.flow(url, b, path, body, strconv.FormatUint(last, 10))
}

func (w *world) subscribe(url string, b binding, task, last string) *flow {
	w.t.Helper()
	path, body := b.subscribe(task, "")
	return w.flow(url, b, path, body, last)
}

// cut closes the connection, read or not.
func (f *flow) cut() {
	f.end()
	_ = f.answer.Body.Close()
}

// next is the next event. io.EOF is the end of the stream; an answer that is no stream is
// one frame.
func (f *flow) next() (frame, error) {
	var e frame
	if !strings.HasPrefix(f.answer.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(f.in)
		if err == nil && len(text) == 0 {
			err = io.EOF
		}
		return frame{data: string(bytes.TrimSpace(text))}, err
	}
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && e.data != "":
			return e, nil
		case line == "" || name == "": // a comment, and what ends it
		case name == "id":
			if e.id, err = strconv.ParseUint(value, 10, 64); err != nil {
				return e, fmt.Errorf("the id of an event: %w", err)
			}
		case name == "data":
			e.data += value
		default:
			return e, fmt.Errorf("a line of an event stream: %q", clip(line))
		}
	}
}

func (f *flow) must() frame {
	f.t.Helper()
	e, err := f.next()
	if err != nil {
		f.t.Fatalf("no event: %v", err)
	}
	return e
}

// all reads to the end.
func (f *flow) all() (list []frame) {
	f.t.Helper()
	defer f.cut()
	for {
		e, err := f.next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			f.t.Fatalf("after %d events: %v", len(list), err)
		}
		list = append(list, e)
	}
}

var taskID = regexp.MustCompile(`"(?:taskId|task_id)":"([^"]+)"`)

func (e frame) task(t *testing.T) string {
	t.Helper()
	m := taskID.FindStringSubmatch(e.data)
	if m == nil {
		t.Fatalf("no task: %s", clip(e.data))
	}
	return m[1]
}

// refused is the error's code that a frame has: of JSON-RPC, or a status of HTTP.
func (e frame) refused() int {
	var said struct{ Error struct{ Code int } }
	_ = json.Unmarshal([]byte(e.data), &said)
	return said.Error.Code
}

// told is what a client knows of a task.
type told struct {
	text, state string
	snapshots   int
}

type part struct{ Text string }

type artifact struct{ Parts []part }

func (a artifact) text() string {
	var b strings.Builder
	for _, p := range a.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// take adds an event of A2A 1.0, of either transport.
func (k *told) take(t *testing.T, e frame) {
	t.Helper()
	type body struct {
		Task *struct {
			Status    struct{ State string }
			Artifacts []artifact
		}
		ArtifactUpdate *struct {
			Append   bool
			Artifact artifact
		}
		StatusUpdate *struct{ Status struct{ State string } }
	}
	var whole struct {
		Result *body
		body
	}
	if err := json.Unmarshal([]byte(e.data), &whole); err != nil {
		t.Fatalf("%v: %s", err, clip(e.data))
	}
	if whole.Result == nil {
		whole.Result = &whole.body
	}
	switch b := whole.Result; {
	case b.Task != nil:
		k.snapshots++
		k.text, k.state = "", b.Task.Status.State
		for _, a := range b.Task.Artifacts {
			k.text += a.text()
		}
	case b.ArtifactUpdate != nil:
		if !b.ArtifactUpdate.Append {
			k.text = ""
		}
		k.text += b.ArtifactUpdate.Artifact.text()
	case b.StatusUpdate != nil:
		k.state = b.StatusUpdate.Status.State
	default:
		t.Fatalf("an event that is none: %s", clip(e.data))
	}
}

func tell(t *testing.T, list []frame) (k told) {
	t.Helper()
	for _, e := range list {
		k.take(t, e)
	}
	return k
}
