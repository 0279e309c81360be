package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

func quiet(context.Context, *Exchange) error { return nil }

func TestWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, quiet, func(o *Options) { o.Limits.MaxRequest = 64 << 10 })
	valid := call("SendMessage", message("hello"))
	deep := strings.Repeat(`{"data":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	for name, test := range map[string]struct {
		body   string
		status int
		code   int
		says   string
		header []string
	}{
		"a method that is none":  {call("DropTables", nil), 200, -32601, "", nil},
		"a method of 0.3 in 1.0": {call("message/send", message("hi")), 200, -32601, "", nil},
		"no JSON":                {"hello", 200, -32700, "no JSON", nil},
		"cut off":                {valid[:len(valid)/2], 200, -32700, "no JSON", nil},
		"a batch":                {"[" + valid + "]", 200, -32600, "batch", nil},
		"no version":             {`{"id":1,"method":"GetTask"}`, 200, -32600, "jsonrpc", nil},
		"no method":              {`{"jsonrpc":"2.0","id":1}`, 200, -32600, "method", nil},
		"an object for an id":    {`{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, 200, -32600, `"id"`, nil},
		"a giant id":             {`{"jsonrpc":"2.0","id":12345678901234567890,"method":"GetTask"}`, 200, -32600, `"id"`, nil},
		"too large":              {call("SendMessage", message(strings.Repeat("x", 65<<10))), 413, -32600, "64 KiB", nil},
		"too deep":               {call("SendMessage", json.RawMessage(deep)), 400, -32600, "nested", nil},
		"too many":               {call("SendMessage", map[string]any{"x": json.RawMessage("[" + strings.Repeat("1,", 30000) + "1]")}), 200, -32602, "", nil},
		"another version":        {valid, 200, -32009, "2.0", []string{versionHeader, "2.0"}},
		"text":                   {valid, 415, -32005, "text/plain", []string{"Content-Type", "text/plain"}},
		"from another page":      {valid, 403, -31403, "origin", []string{"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site"}},
		"no message":             {call("SendMessage", map[string]any{}), 200, -32602, "message", nil},
		"no parts":               {call("SendMessage", map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_USER"}}), 200, -32602, "parts", nil},
		"an agent's message":     {call("SendMessage", map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_AGENT", "parts": []any{map[string]any{"text": "x"}}}}), 200, -32602, "role", nil},
		"a long id":              {call("SendMessage", message("x", func(m *sdk.Message) { m.ContextID = strings.Repeat("c", 300) })), 200, -32602, "contextId", nil},
		"another media type":     {call("SendMessage", message("x", func(m *sdk.Message) { m.Parts[0].MediaType = "video/mp4" })), 200, -32005, "video/mp4", nil},
		"an unknown task":        {call("GetTask", map[string]any{"id": "none"}), 200, -32001, "none", nil},
		"a message to one":       {call("SendMessage", message("x", func(m *sdk.Message) { m.TaskID = "none" })), 200, -32001, "none", nil},
		"a page of 1000":         {call("ListTasks", map[string]any{"pageSize": 1000}), 200, -32602, "1000", nil},
		"a page of none":         {call("ListTasks", map[string]any{"pageSize": 0}), 200, -32602, "pageSize: it is 0", nil},
		"a page of text":         {call("ListTasks", map[string]any{"pageSize": "many"}), 200, -32602, "pageSize", nil},
		"a state that is none":   {call("ListTasks", map[string]any{"status": "INVALID_STATUS"}), 200, -32602, "INVALID_STATUS", nil},
		"a time that is none":    {call("ListTasks", map[string]any{"statusTimestampAfter": "-1"}), 200, -32602, "statusTimestampAfter", nil},
		"a part of nothing":      {call("SendMessage", map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]any{"kind": "text"}}}}), 200, -32602, "part", nil},
		"a stream of such":       {call("SendStreamingMessage", map[string]any{"message": map[string]any{"messageId": "m", "role": "ROLE_USER", "parts": []any{map[string]any{"text": "a", "raw": "Yg=="}}}}), 200, -32602, "exactly one", nil},
		"a token that is none":   {call("ListTasks", map[string]any{"pageToken": "x"}), 200, -32602, "pageToken", nil},
		"a negative history":     {call("ListTasks", map[string]any{"historyLength": -1}), 200, -32602, "historyLength", nil},
		"an extended card":       {call("GetExtendedAgentCard", map[string]any{}), 200, -32004, "", nil},
	} {
		resp := s.request(http.MethodPost, "/", test.body, test.header...)
		text, _ := io.ReadAll(resp.Body)
		text, event := bytes.CutPrefix(text, []byte("data: "))
		if streams := strings.Contains(test.body, "SendStreamingMessage"); event != streams {
			t.Errorf("%s: that the answer is an event is %v", name, event)
		}
		var got struct {
			Error *rpcError `json:"error"`
		}
		if err := json.Unmarshal(text, &got); err != nil || got.Error == nil {
			t.Errorf("%s: the answer is %d %s", name, resp.StatusCode, text)
			continue
		}
		if resp.StatusCode != test.status || got.Error.Code != test.code || !strings.Contains(got.Error.Message, test.says) {
			t.Errorf("%s: the answer is %d, %d %q", name, resp.StatusCode, got.Error.Code, got.Error.Message)
		}
	}
	for name, test := range map[string]struct {
		method, path, body string
		status             int
	}{
		"an unknown path":      {"GET", "/nothing", "", 404},
		"too large":            {"POST", "/message:send", `{"x":"` + strings.Repeat("x", 65<<10) + `"}`, 413},
		"no JSON":              {"POST", "/message:send", "hello", 400},
		"an unknown task":      {"GET", "/tasks/none", "", 404},
		"JSON-RPC with GET":    {"GET", "/", "", 405},
		"an unknown action":    {"POST", "/tasks/a:b", "", 404},
		"a history of words":   {"GET", "/tasks?historyLength=all", "", 400},
		"a time that is none":  {"GET", "/tasks?statusTimestampAfter=soon", "", 400},
		"a page of none":       {"GET", "/tasks?pageSize=0", "", 400},
		"a state that is none": {"GET", "/tasks?status=running", "", 400},
	} {
		resp := s.request(test.method, test.path, test.body)
		text, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != test.status || !json.Valid(text) {
			t.Errorf("%s: the answer is %d %s", name, resp.StatusCode, text)
		}
	}
	if n := s.Stats().Panics; n != 0 {
		t.Errorf("%d panics", n)
	}
}

func TestCardAndPath(t *testing.T) {
	t.Parallel()
	s, err := New(Options{Name: "tested", Executor: ExecutorFunc(quiet), Path: "/a2a/argocd/"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(t.Context()) }()
	mux := http.NewServeMux()
	mux.Handle("/a2a/argocd/", s)
	web := httptest.NewServer(mux)
	defer web.Close()
	get := func(header ...string) (map[string]any, *http.Response) {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/a2a/argocd"+cardPath, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		var card map[string]any
		_ = json.NewDecoder(resp.Body).Decode(&card)
		return card, resp
	}
	both, resp := get()
	if both["url"] != web.URL+"/a2a/argocd/" || both["protocolVersion"] != "0.3" || len(both["supportedInterfaces"].([]any)) != 3 {
		t.Errorf("the card is %v", both)
	}
	if both["preferredTransport"] != "JSONRPC" || both["additionalInterfaces"] != nil {
		t.Errorf("to clients of 0.3 it offers %v, %v", both["preferredTransport"], both["additionalInterfaces"])
	}
	if _, again := get("If-None-Match", resp.Header.Get("ETag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the card that is there already gives %d", again.StatusCode)
	}
	if one, _ := get(versionHeader, version10); one["url"] != nil || one["name"] != "tested" {
		t.Errorf("the card of 1.0 is %v", one)
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, both["url"].(string), strings.NewReader(call("SendMessage", message("hi"))))
	r.Header.Set("Content-Type", "application/json")
	called, err := web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = called.Body.Close() }()
	if text, _ := io.ReadAll(called.Body); !strings.Contains(string(text), string(sdk.TaskStateCompleted)) {
		t.Errorf("a call to the card's address gives %s", text)
	}
}

// A client of 0.3 sends, streams, gets and comes back, in its own words.
func TestVersion03(t *testing.T) {
	t.Parallel()
	let := make(chan struct{}, 3)
	s := serve(t, counting(3, let))
	said := func(id string) map[string]any {
		return map[string]any{"message": map[string]any{
			"kind": "message", "messageId": id, "role": "user", "parts": []any{map[string]any{"kind": "text", "text": "count"}},
		}}
	}
	none := []string{versionHeader, ""} // 0.3 has no such header
	resp := s.request(http.MethodPost, "/", call("message/stream", said("m1")), none...)
	for range 3 {
		let <- struct{}{}
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"task"`, `"state":"submitted"`, `"kind":"artifact-update"`, `"final":true`, "id: 1\ndata: "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %s in %s", want, text)
		}
	}
	page := struct{ Tasks []sdk.Task }{}
	if e := s.rpc("ListTasks", map[string]any{}, &page); e != nil || len(page.Tasks) != 1 {
		t.Fatalf("the list is %+v, %+v", page, e)
	}
	var task struct {
		Kind   string
		Status struct{ State string }
	}
	id := map[string]any{"id": page.Tasks[0].ID}
	if e := s.rpc("tasks/get", id, &task, none...); e != nil || task.Kind != "task" || task.Status.State != "completed" {
		t.Errorf("tasks/get gives %+v, %+v", task, e)
	}
	over := read(t, s.request(http.MethodPost, "/", call("tasks/resubscribe", id), none...)).all()
	if len(over) != 1 || over[0].err == nil || over[0].err.Code != -32004 {
		t.Errorf("tasks/resubscribe gives %+v", over)
	}
	for _, path := range []string{"/v1/tasks/", "/tasks/"} {
		rest := s.request(http.MethodGet, path+string(page.Tasks[0].ID), "", none...)
		if text, _ := io.ReadAll(rest.Body); rest.StatusCode != 400 || !strings.Contains(string(text), "VERSION_NOT_SUPPORTED") {
			t.Errorf("with REST at %s it gives %d %s", path, rest.StatusCode, text)
		}
	}
	modern := serve(t, quiet, func(o *Options) { o.Only10 = true })
	if e := modern.rpc("message/send", said("m2"), nil, none...); e == nil || e.Code != -32009 {
		t.Errorf("without 0.3 it gives %+v", e)
	}
}

func TestListTasks(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, x *Exchange) error { return number(x, 0) })
	var made []sdk.TaskID
	for range 5 {
		made = append(made, s.send("hello", func(m *sdk.Message) { m.ContextID = "here" }).ID)
	}
	_ = s.send("hello", func(m *sdk.Message) { m.ContextID = "there" })
	var got []sdk.TaskID
	for token := ""; ; {
		var page sdk.ListTasksResponse
		// The names of the definition are taken as well as those of JSON.
		if e := s.rpc("ListTasks", map[string]any{"context_id": "here", "page_size": 2, "pageToken": token, "historyLength": 0}, &page); e != nil {
			t.Fatal(e.Message)
		}
		if page.TotalSize != 5 || page.PageSize != 2 || len(page.Tasks) > 2 {
			t.Fatalf("the page is %+v", page)
		}
		for _, task := range page.Tasks {
			got = append(got, task.ID)
			if len(task.Artifacts) > 0 || len(task.History) > 0 {
				t.Errorf("task %s has what was not asked for", task.ID)
			}
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	for i := range made {
		if got[len(got)-1-i] != made[i] {
			t.Fatalf("listed are %v, made were %v", got, made)
		}
	}
}

// A page has 50 tasks unless the request says another number (a2a.proto 1.0, ListTasksRequest), and says so.
func TestListTasksDefaults(t *testing.T) {
	t.Parallel()
	s := serve(t, quiet)
	for range pageSize + 1 {
		s.send("hello")
	}
	var page sdk.ListTasksResponse
	if e := s.rpc("ListTasks", map[string]any{}, &page); e != nil {
		t.Fatal(e.Message)
	}
	if len(page.Tasks) != 50 || page.PageSize != 50 || page.TotalSize != 51 || page.NextPageToken == "" {
		t.Errorf("the page has %d tasks, and says size %d, total %d, next %q", len(page.Tasks), page.PageSize, page.TotalSize, page.NextPageToken)
	}
	if e := s.rpc("ListTasks", map[string]any{"contextId": "none"}, &page); e != nil || len(page.Tasks) != 0 || page.PageSize != 50 {
		t.Errorf("an empty list is %+v, %+v", page, e)
	}
}

// The specification's example of a query is status=working (A2A 1.0, 11.5); JSON has the names of the definition.
func TestListTasksByStatus(t *testing.T) {
	t.Parallel()
	s := serve(t, func(_ context.Context, x *Exchange) error {
		return x.Status(sdk.TaskStateInputRequired, "", nil)
	})
	s.send("hello")
	for query, want := range map[string]int{
		"": 1, "status=TASK_STATE_INPUT_REQUIRED": 1, "status=input_required": 1, "status=input-required": 1,
		"status=completed": 0, "status=TASK_STATE_UNSPECIFIED": 1, "pageSize=100": 1,
	} {
		resp := s.request(http.MethodGet, "/tasks?"+query, "", versionHeader, version10)
		var page sdk.ListTasksResponse
		if err := json.NewDecoder(resp.Body).Decode(&page); err != nil || resp.StatusCode != http.StatusOK || len(page.Tasks) != want {
			t.Errorf("%q gives %d, %d tasks, want %d; %v", query, resp.StatusCode, len(page.Tasks), want, err)
		}
	}
	if e := s.rpc("ListTasks", map[string]any{"status": "input_required"}, nil); e == nil || e.Code != -32602 {
		t.Errorf("JSON-RPC takes a state by another name: %+v", e)
	}
}

func TestCamel(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"id":1}`: `{"id":1}`,
		`{"params":{"task_id":"a_b","message":{"message_id":"m","parts":[{"media_type":"x","data":{"task_id":1}}],"metadata":{"task_id":2}}}}`: `{"params":{"taskId":"a_b","message":{"messageId":"m","parts":[{"mediaType":"x","data":{"task_id":1}}],"metadata":{"task_id":2}}}}`,
		`{"task_id":`:         `{"task_id":`,
		`{"own_field":"a_b"}`: `{"own_field":"a_b"}`,
	} {
		if got := string(camelCase([]byte(in))); got != want {
			t.Errorf("%s became %s", in, got)
		}
	}
}

// offline is a network that is not there.
type offline struct{}

func (offline) RoundTrip(*http.Request) (*http.Response, error) { return nil, errNotPublic }

// FuzzServe sends any body to all transports: the answer is one, and nothing breaks.
func FuzzServe(f *testing.F) {
	s, err := New(Options{Name: "fuzzed", Executor: ExecutorFunc(quiet)})
	if err != nil {
		f.Fatal(err)
	}
	// Addresses in bodies are neither looked up nor asked.
	s.pushGuard.resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, net.ErrClosed
	}}
	s.pusher.client.Transport = offline{}
	valid := call("SendMessage", message("hello"))
	for _, seed := range []string{
		valid, valid[:40], "[" + valid + "]", call("SendStreamingMessage", message("x")),
		call("message/send", map[string]any{"message": map[string]any{"kind": "message", "messageId": "m", "role": "user", "parts": []any{map[string]any{"kind": "data", "data": map[string]any{}}}}}),
		call("GetTask", map[string]any{"id": "x", "historyLength": -1}), call("ListTasks", map[string]any{"page_size": 1}),
		call("SubscribeToTask", map[string]any{"id": "x"}), `{"jsonrpc":"2.0","id":1e999,"method":"GetTask","params":null}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"raw":"AAA="},{"url":"u"},{"data":null},null]}}`,
		`{"ID":1,"id":2,"Method":"GetTask","jsonrpc":"2.0","PARAMS":{"id":"\ud800"}}`, "\xff\xfe", strings.Repeat("[", 200),
	} {
		for i := range uint8(6) {
			f.Add(i, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, where uint8, body []byte) {
		to := []struct{ method, path, version string }{
			{"POST", "/", version10},
			{"POST", "/", ""},
			{"POST", "/message:send", version10},
			{"POST", "/message:stream", version10},
			{"POST", "/v1/message:send", ""},
			{"POST", "/tasks/x/pushNotificationConfigs", version10},
		}[where%6]
		r := httptest.NewRequestWithContext(t.Context(), to.method, to.path, strings.NewReader(string(body)))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(versionHeader, to.version)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 599 {
			t.Errorf("the answer is %d", w.Code)
		}
		if kind := w.Header().Get("Content-Type"); strings.HasPrefix(kind, "application/") && !json.Valid(w.Body.Bytes()) {
			t.Errorf("the answer is no JSON: %s", w.Body)
		}
		if n := s.Stats().Panics; n != 0 {
			t.Errorf("%d panics", n)
		}
	})
}

// FuzzCamel holds what camel makes of a request to what it was: only names change.
func FuzzCamel(f *testing.F) {
	f.Add([]byte(`{"params":{"task_id":"x","metadata":{"a_b":1}}}`))
	f.Add([]byte(`{"a":[{"page_size":1},[{"page_size":2}]],"task_id":{"task_id":3}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		out := camelCase(body)
		var before, after any
		if json.Unmarshal(body, &before) != nil {
			return
		}
		if err := json.Unmarshal(out, &after); err != nil {
			t.Fatalf("%s became %s: %v", body, out, err)
		}
		if again := camelCase(out); string(again) != string(out) {
			t.Errorf("again it became %s", again)
		}
		if string(out) == string(body) && !reflect.DeepEqual(before, after) {
			t.Errorf("%s became something else", body)
		}
	})
}
