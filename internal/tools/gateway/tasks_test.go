package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// rowsText is a tool's answer that is far larger than a page.
func rowsText() string {
	var rows []string
	for i := range 2000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d"}`, i, i))
	}
	return `{"rows":[` + strings.Join(rows, ",") + `]}`
}

const taskTools = `{"tools":[{"name":"big","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"]}}]}`

// The result of a tool that is fetched as that of a task is paged as the answer to a plain call is.
func TestResultsOfTasksArePaged(t *testing.T) {
	rows := rowsText()
	called := fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, rawjson.Quote(nil, rows), rows)
	next := &scripted{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`,
		"initialize":      `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{}},"serverInfo":{"name":"s","version":"1"}}`,
		"tools/list":      taskTools,
		"tools/call":      `{"resultType":"task","taskId":"k","status":"working","ttlMs":60000}`,
		"tasks/get":       `{"resultType":"complete","taskId":"k","status":"completed","result":` + called + `,"ttlMs":60000,"pollIntervalMs":100}`,
		"tasks/result":    called,
	}}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), true).begin("x")
	c.ok(c.call("big", `{}`))
	a := c.do("tasks/get", `"taskId":"k"`)
	var task struct {
		Result struct {
			TaskID, Status, ResultType string
			TTLMs, PollIntervalMs      int
			Result                     toolResult
		}
	}
	if err := json.Unmarshal(a.raw, &task); err != nil || len(a.raw) > 40_000 {
		t.Fatalf("%d bytes came, %v: %.300s", len(a.raw), err, a.raw)
	}
	got := task.Result
	if got.TaskID != "k" || got.Status != "completed" || got.ResultType != "complete" || got.TTLMs != 60000 || got.PollIntervalMs != 100 {
		t.Errorf("the task around it: %+v", got)
	}
	if got.Result.ResultType != "" {
		t.Errorf("the result of a tool got a resultType in a task")
	}
	check := func(r toolResult) {
		t.Helper()
		if r.Meta.Page == nil || !strings.Contains(string(r.Structured), `"rows":[`) {
			t.Fatalf("no page, or none for clients that know the schema: %.300s", r.Structured)
		}
		if again := c.ok(c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":2}`, r.Meta.Page.Handle))); !strings.Contains(again.text(), `"row 20"`) {
			t.Errorf("page 2: %.300s", again.text())
		}
	}
	check(got.Result)
	check(c.ok(c.do("tasks/result", `"taskId":"k"`))) // of 2025-11-25

	small := `{"resultType":"complete","taskId":"k","status":"input_required", "inputRequests":{"a":{"method":"sampling/createMessage","params":{"text":"` + strings.Repeat("x", 200_000) + `"}}}}`
	next.revive(map[string]string{"tasks/get": small})
	if a := c.do("tasks/get", `"taskId":"k"`); !strings.Contains(string(a.raw), small) {
		t.Errorf("what a task asks of the client did not pass as it is: %.300s", a.raw)
	}
	next.revive(map[string]string{"tasks/get": `{"resultType":"complete","taskId":"k","status":"failed","error":{"code":-32000,"message":"` + strings.Repeat("x", 200_000) + `"}}`})
	if a := c.do("tasks/get", `"taskId":"k"`); len(a.raw) > 40_000 || !strings.Contains(string(a.raw), `"status":"failed","error":{"code":-32000,"message":"xxx`) || !json.Valid(a.raw) {
		t.Errorf("a task that failed: %d bytes, %.300s", len(a.raw), a.raw)
	}
}

// announcing says something to whoever makes a request, or listens, before it answers as scripted.
type announcing struct {
	scripted
	says map[string][]string // by method
}

func (s *announcing) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	for _, text := range s.says[m.Head.Method] {
		to.Receive(&transport.Frame{Head: []byte(text)})
	}
	s.scripted.Send(ctx, m, to)
}

func TestNotificationsOfTasksArePaged(t *testing.T) {
	status := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"k","status":"completed","result":{"content":[{"type":"text","text":%s}]}}}`, rawjson.Quote(nil, rowsText()))
	next := &announcing{scripted{answers: map[string]string{"subscriptions/listen": `{}`}}, map[string][]string{"subscriptions/listen": {status}}}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), true)
	a := c.do("subscriptions/listen", `"notifications":{"taskIds":["k"]}`)
	if len(a.news) != 1 || len(a.news[0]) > 40_000 {
		t.Fatalf("%d notifications", len(a.news))
	}
	h, err := jsonrpc.Scan(a.news[0])
	if err != nil || h.Kind != jsonrpc.Notification || !bytes.Contains(a.news[0], []byte(`"params":{"taskId":"k","status":"completed","result":{`)) || !bytes.Contains(a.news[0], []byte("result_page")) {
		t.Errorf("%v: %.300s", err, a.news[0])
	}
}

// Clients drop a connection on which there is progress of a request that they know no more.
func TestProgressAfterItsAnswerIsNotPassedOn(t *testing.T) {
	progress := func(token string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":2}}`
	}
	next := &announcing{scripted{answers: map[string]string{"ping": `{}`, "tools/list": `{"tools":[]}`, "tools/call": `{"content":[]}`}}, map[string][]string{
		"tools/call": {progress(`"a"`)}, "ping": {progress(`"a"`), progress(`"b"`)},
	}}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), false)
	if a := c.send(t.Context(), c.message("tools/call", `"name":"x"`, `"a"`)); len(a.news) != 1 {
		t.Errorf("progress of a call under way: %q", a.news)
	}
	if a := c.do("ping", ""); len(a.news) != 1 || !strings.Contains(string(a.news[0]), `"b"`) {
		t.Errorf("behind the answer came %q", a.news)
	}
	if a := c.send(t.Context(), c.message("tools/call", `"name":"x"`, `"a"`)); len(a.news) != 1 {
		t.Errorf("progress of a second call with the token: %q", a.news)
	}
	next.revive(map[string]string{"ping": `{}`, "tools/call": `{"resultType":"task","taskId":"k","status":"working"}`})
	c.send(t.Context(), c.message("tools/call", `"name":"x"`, `"a"`))
	if a := c.do("ping", ""); len(a.news) != 2 {
		t.Errorf("progress of a task whose call is answered: %q", a.news)
	}
}

// A client may know a schema without having asked for the list in this session, or ask for it behind the answer.
func TestStructuredContentOfAToolThatWasNotListed(t *testing.T) {
	rows := rowsText()
	next := &scripted{answers: map[string]string{
		"tools/list": taskTools,
		"tools/call": fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, rawjson.Quote(nil, rows), rows),
	}}
	c := onPeer(t, gateway.New(gateway.Options{Name: "s", Next: next, Spool: newSpool(t, nil)}), false)
	got := c.ok(c.call("big", `{}`))
	if got.Meta.Page == nil || !strings.Contains(string(got.Structured), `"rows":[`) {
		t.Errorf("structuredContent of the page: %.300s", got.Structured)
	}
}

// Behind an endpoint of several servers nobody could tell whose a task is: no server is told that the client takes them.
func TestServersOfAMergeMakeNoTasks(t *testing.T) {
	next := &scripted{answers: map[string]string{
		"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/list":      taskTools,
		"tools/call":      `{"resultType":"complete","content":[{"type":"text","text":"done"}]}`,
	}}
	store := newSpool(t, nil)
	s := gateway.NewServer(gateway.ServerOptions{Name: "s", Spool: store, Dial: func(gateway.Dialing) transport.Peer { return next }})
	m := gateway.NewMerge(gateway.MergeOptions{Spool: store, Parts: []gateway.Part{{Server: s}}})
	c := onPeer(t, m.Local(), true).begin("x")
	call := strings.Replace(string(c.message("tools/call", `"name":"s__big","arguments":{}`, "")), `clientCapabilities":{}`,
		`clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{},"x":{}}}`, 1)
	if a := c.send(t.Context(), []byte(call)); !strings.Contains(string(a.raw), "done") {
		t.Errorf("%s, %v", a.raw, a.err)
	}
	if got := string(next.last("tools/call")); !strings.Contains(got, `"extensions":{"x":{}}`) {
		t.Errorf("the server got %s", got)
	}
}
