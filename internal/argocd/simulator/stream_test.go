package simulator

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// follow opens a stream and returns its lines as they come.
func follow(t *testing.T, srv *httptest.Server, path, accept string) (http.Header, *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() }) // nobody reads on
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return resp.Header, lines
}

func next(t *testing.T, lines *bufio.Scanner) map[string]any {
	t.Helper()
	for lines.Scan() {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "data: "))
		if line == "" {
			continue
		}
		m, err := parse([]byte(line))
		if err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		return m
	}
	t.Fatalf("the stream ended: %v", lines.Err())
	return nil
}

// withPods returns an application, one of its pods and how many lines its log has.
func withPods(t *testing.T, s *Simulator) (app, pod string) {
	t.Helper()
	for i := range s.names[applications].n {
		app = s.names[applications].name(i)
		var tree struct{ Nodes []struct{ Kind, Name string } }
		if err := json.Unmarshal(do(s, http.MethodGet, "/api/v1/applications/"+app+"/resource-tree", "").Body.Bytes(), &tree); err != nil {
			t.Fatal(err)
		}
		for _, n := range tree.Nodes {
			if n.Kind == "Pod" {
				return app, n.Name
			}
		}
	}
	t.Fatal("no application has a pod")
	return "", ""
}

func logLines(t *testing.T, s *Simulator, path string) []map[string]any {
	t.Helper()
	var all []map[string]any
	w := do(s, http.MethodGet, path, "")
	for line := range strings.Lines(w.Body.String()) {
		var e struct{ Result map[string]any }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Result == nil {
			t.Fatalf("%s: %.200s: %v", path, line, err)
		}
		all = append(all, e.Result)
	}
	if len(all) == 0 || all[len(all)-1]["last"] != true {
		t.Fatalf("%s: no last entry in %d: %.300s", path, len(all), w.Body)
	}
	return all[:len(all)-1]
}

func TestLogs(t *testing.T) {
	t.Parallel()
	s := sim(t, Options{})
	app, pod := withPods(t, s)
	path := "/api/v1/applications/" + app + "/logs?podName=" + pod
	all := logLines(t, s, path)
	if len(all) < 200 {
		t.Fatalf("%d lines", len(all))
	}
	before := ""
	matching := 0
	for _, l := range all {
		at, _ := l["timeStampStr"].(string)
		when, err := time.Parse(time.RFC3339Nano, at)
		if err != nil || when.Format("2006-01-02T15:04:05.000") < before || l["podName"] != pod {
			t.Fatalf("%v follows %s: %v", l, before, err)
		}
		before = when.Format("2006-01-02T15:04:05.000")
		if strings.Contains(l["content"].(string), "error") {
			matching++
		}
	}
	for query, n := range map[string]int{
		"&tailLines=7": 7, "&tailLines=99999999": len(all), "&filter=ERROR": matching, "&filter=ERROR&matchCase=true": 0,
		"&filter=!ERROR": len(all) - matching, "&sinceSeconds=10": 40, "&untilTime=2020-01-01T00:00:00Z": 0,
	} {
		if got := logLines(t, s, path+query); len(got) != n {
			t.Errorf("%s: %d lines, want %d", query, len(got), n)
		}
	}
	for query, status := range map[string]int{"&tailLines=x": 400, "&follow=maybe": 400, "&container=nosuch": 400, "&previous=true": 400, "x": 400} {
		if w := do(s, http.MethodGet, path+query, ""); w.Code != status {
			t.Errorf("%s: %d %.200s", query, w.Code, w.Body)
		}
	}
}

func TestLogIsFollowed(t *testing.T) {
	t.Parallel()
	s, srv := serving(t, Options{LogEvery: time.Millisecond})
	app, pod := withPods(t, s)
	_, lines := follow(t, srv, "/api/v1/applications/"+app+"/logs?follow=true&tailLines=2&podName="+pod, "")
	for i := range 10 {
		if event := next(t, lines); lookup(event, "result", "last") != false {
			t.Errorf("line %s: %v", strconv.Itoa(i), event)
		}
	}
}
