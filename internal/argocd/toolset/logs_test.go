package toolset_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

func entry(pod, content string) string {
	raw, _ := json.Marshal(map[string]any{"result": map[string]any{"content": content, "timeStampStr": "2026-11-20T10:00:00.123456789Z", "podName": pod, "last": false}})
	return string(raw) + "\n"
}

const endOfLog = `{"result":{"content":"","last":true,"timeStampStr":"2026-11-20T10:00:01Z","podName":""}}` + "\n"

func TestLogs(t *testing.T) {
	t.Parallel()
	set, s := played(t, map[string]string{
		"applications/a/logs":    entry("p-1", "started") + entry("p-2", "password=hunter2 \x1b[31mred\x1b[0m") + endOfLog,
		"applications/none/logs": endOfLog,
		"applications/long/logs": entry("p", strings.Repeat("é", 20_000)),
		"applications/cut/logs":  entry("p", "half") + `{"error":{"grpc_code":2,"http_code":500,"message":"stream broke","http_status":"Internal Server Error"}}` + "\n",
		"applications/many/logs": `{"error":{"grpc_code":3,"http_code":400,"message":"max pods to view logs are reached. Please provide more granular query"}}` + "\n",
	})
	text, failed := callTool(t, set, nil, "application_service__pod_logs", `{"name":"a"}`)
	want := "2026-11-20T10:00:00.123Z p-1: started\n2026-11-20T10:00:00.123Z p-2: password=******** red\n"
	if failed || text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if q := s.query("applications/a/logs"); q.Get("tailLines") != "100" || q.Has("follow") || q.Has("previous") || q.Has("container") {
		t.Errorf("asked with %v", q)
	}
	text, _ = callTool(t, set, nil, "application_service__pod_logs",
		`{"path_name":"a","param_podName":"p-1","param_container":"app","param_tailLines":"20","param_sinceSeconds":"90","param_filter":" x","param_previous":true,"param_matchCase":true,"param_namespace":"n","timestamps":false,"until":"2026-11-20T11:00:00Z"}`)
	if text != "started\npassword=******** red\n" {
		t.Errorf("%q", text)
	}
	q := s.query("applications/a/logs")
	for key, value := range map[string]string{
		"podName": "p-1", "container": "app", "tailLines": "20", "sinceSeconds": "90", "filter": " x", "previous": "true", "matchCase": "true",
		"namespace": "n", "untilTime": "2026-11-20T11:00:00Z",
	} {
		if q.Get(key) != value {
			t.Errorf("%s is %q, want %q", key, q.Get(key), value)
		}
	}
	if text, _ := callTool(t, set, nil, "application_service__pod_logs", `{"name":"none","filter":"x"}`); !strings.Contains(text, "no log lines") || !strings.Contains(text, "filter") {
		t.Error(text)
	}
	if text, _ := callTool(t, set, nil, "application_service__pod_logs", `{"name":"long"}`); len(text) > 9000 || !strings.Contains(text, "bytes more)") || strings.Contains(text, "\uFFFD") {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
	// What breaks off is an error, not a shorter log.
	if text := refusedWith(t, set, "application_service__pod_logs", `{"name":"cut"}`, "stream broke"); !strings.Contains(text, "half") {
		t.Error(text)
	}
	refusedWith(t, set, "application_service__pod_logs", `{"name":"many"}`, "more granular query")
	for arguments, words := range map[string][]string{
		`{"name":"a","tail_lines":0}`:                      {"tail_lines", "100000"},
		`{"name":"a","tail_lines":1000000}`:                {"tail_lines", "100000"},
		`{"name":"a","since":"yesterday"}`:                 {"yesterday", "15m"},
		`{"name":"a","since":"-5m"}`:                       {"past"},
		`{"name":"a","until":"noon"}`:                      {"noon"},
		`{"name":"a","pod":"x","resource_name":"y"}`:       {"one of them"},
		`{"name":"a","follow":true,"follow_seconds":9999}`: {"600"},
		`{"name":""}`: {"name"},
	} {
		refusedWith(t, set, "application_service__pod_logs", arguments, words...)
	}
}

// A log that is followed ends by itself, with what had come.
func TestFollowedLogsEnd(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("follow") != "true" {
			t.Error("it does not follow")
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, entry("p", "one"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	t.Cleanup(server.Close)
	set := newToolset(t, toolset.Options{}, clientOf(t, "argo", server.URL, ""))
	text, failed := callTool(t, set, nil, "application_service__pod_logs", `{"name":"a","follow_seconds":1}`)
	// On a machine under load not even the first line may come within the second.
	if failed || !strings.HasSuffix(text, "lines]\n") || !strings.Contains(text, "[followed for 1s") {
		t.Errorf("%v: %q", failed, text)
	}
	<-gone
}

// Logs of any length pass without being held.
func TestLongLogsStream(t *testing.T) {
	t.Parallel()
	const lines = 3_000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := range lines {
			if _, err := io.WriteString(w, entry("p", fmt.Sprintf("line %d %s", i, strings.Repeat("x", 200)))); err != nil {
				return
			}
		}
		io.WriteString(w, endOfLog)
	}))
	t.Cleanup(server.Close)
	set := newToolset(t, toolset.Options{}, clientOf(t, "argo", server.URL, ""))
	text, failed := callTool(t, set, nil, "application_service__pod_logs", `{"name":"a","tail_lines":100000}`)
	if n := strings.Count(text, "\n"); failed || n != lines || !strings.Contains(text, fmt.Sprintf("line %d ", lines-1)) {
		t.Errorf("%v: %d lines", failed, n)
	}
}
