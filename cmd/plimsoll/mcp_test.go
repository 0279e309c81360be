package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	nextPage   = regexp.MustCompile(`Next page: (\w+) (\{.*?\})\.`)
	searchCall = regexp.MustCompile(`(\w+) (\{[^{}]*"REGEX"\})`)
)

// What the notice of a large result says works as it says it: page by page to the end, a
// search, a query.
func TestALargeResultIsReadAsItsNoticeSays(t *testing.T) {
	c := stdioClient(t, newSite(t), "mcp", "--", "toolserver")
	first := c.call("big", `{"bytes":20000,"kind":"json","needle":"at-the-end"}`)
	m := first.Result.Meta.Page
	if m.Handle == "" || m.Page != 1 || m.PageSize != 20 || !m.Complete || m.TotalPages < 3 || first.Result.IsError {
		t.Fatalf("%+v in %s", m, first.text())
	}
	var ids []int64
	for page, at := first, int64(1); ; at++ {
		var list struct {
			Items []struct{ ID int64 }
		}
		if err := json.Unmarshal([]byte(page.Result.Content[0].Text), &list); err != nil {
			t.Fatalf("page %d is no JSON: %v\n%s", at, err, page.text())
		}
		for _, item := range list.Items {
			ids = append(ids, item.ID)
		}
		next := nextPage.FindStringSubmatch(page.text())
		if next == nil {
			break
		}
		if page = c.call(next[1], next[2]); page.Result.Meta.Page.Page != at+1 {
			t.Fatalf("%s %s gives %s", next[1], next[2], page.text())
		}
	}
	if int64(len(ids)) != m.TotalItems || !slices.IsSorted(ids) || ids[0] != 0 || ids[len(ids)-1] != m.TotalItems-1 {
		t.Errorf("the pages have %d items, %d to %d, want %d in order", len(ids), ids[0], ids[len(ids)-1], m.TotalItems)
	}

	search := searchCall.FindStringSubmatch(first.text())
	if search == nil {
		t.Fatalf("no search in %s", first.text())
	}
	if found := c.call(search[1], strings.Replace(search[2], "REGEX", "AT-THE-(END|START)", 1)); !strings.Contains(found.text(), fmt.Sprintf("item %d: ", m.TotalItems)) {
		t.Errorf("the search finds %s", found.text())
	}
	counted := c.call("result_query", fmt.Sprintf(`{"handle":%q,"query":".items | length"}`, m.Handle))
	if !strings.HasPrefix(counted.text(), fmt.Sprint(m.TotalItems)+"\n") {
		t.Errorf("the query gives %s", counted.text())
	}

	// What a model may get wrong is an error that says what is right.
	for arguments, want := range map[string]string{
		fmt.Sprintf(`{"handle":%q,"page":0}`, m.Handle):          fmt.Sprintf("the result has pages 1 to %d", m.TotalPages),
		fmt.Sprintf(`{"handle":%q,"page":1000000000}`, m.Handle): fmt.Sprintf("pages 1 to %d", m.TotalPages),
		fmt.Sprintf(`{"handle":%q,"refresh":true}`, m.Handle):    "to run big again, call it yourself",
		`{"handle":"r_aaaaaaaaaaaaaaaaaaaaaaaaaa"}`:              "call the tool again",
		`{}`: "handle is missing",
	} {
		if a := c.call("result_page", arguments); !a.Result.IsError || !strings.Contains(a.text(), want) {
			t.Errorf("%s gives %s, want %q", arguments, a.text(), want)
		}
	}
}

// serve has every configured server at a path of its own and all of them as one.
func TestServeHasTheConfiguredServers(t *testing.T) {
	s := newSite(t)
	s.configure(`[serve]
listen = "127.0.0.1:0"
[mcp.servers.notes]
command = ["toolserver"]
[mcp.servers.notes.tools.big]
max_output = "4K"
[mcp.servers.plain]
command = ["toolserver"]
read_only = true
[mcp.servers.alone]
command = ["toolserver"]
merge = false
`)
	root, end := listening(t, s, "serve", "--events")
	notes, all := httpClient(t, root+"/mcp/notes", nil), httpClient(t, root+"/mcp", nil)
	if text := notes.call("echo", `{"text":"hello"}`).text(); !strings.HasPrefix(text, "hello") {
		t.Errorf("echo gives %q", text)
	}
	var names []string
	for _, tool := range all.request("tools/list", `{}`).Result.Tools {
		names = append(names, tool.Name)
	}
	for name, there := range map[string]bool{
		"notes__echo": true, "notes__write": true, "plain__list": true, "plain__write": false, "alone__echo": false, "echo": false,
		"result_page": true, "result_search": true, "result_query": true,
	} {
		if slices.Contains(names, name) != there {
			t.Errorf("%s in the merged list: want %t; it has %q", name, there, names)
		}
	}
	// One user's results can be read in any of his sessions.
	large := all.call("notes__big", `{"bytes":300000,"kind":"json"}`)
	page := notes.call("result_page", fmt.Sprintf(`{"handle":%q,"page":2}`, large.Result.Meta.Page.Handle))
	if page.Result.IsError || page.Result.Meta.Page.Page != 2 || len(large.Result.Content[0].Text) > 4096 {
		t.Errorf("%d bytes, then %s", len(large.Result.Content[0].Text), page.text())
	}

	for _, c := range []struct {
		method, path, body string
		header             http.Header
		status             int
		want               string
	}{
		{"POST", "/mcp/nobody", "{}", nil, 404, "there is no MCP server at this path; there are: /mcp, /mcp/alone, /mcp/memory, /mcp/notes, /mcp/plain"},
		{"GET", "/mcp/notes", "", nil, 400, "Mcp-Session-Id is missing; begin with initialize"},
		{"POST", "/mcp/notes", "{}", http.Header{"Origin": {"https://evil.example"}}, 403, "a web page of another origin"},
		{"POST", "/mcp/notes", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.Header{"Mcp-Session-Id": {"none"}}, 404, "there is no such session"},
		{"POST", "/mcp/notes", "{}", http.Header{"Content-Type": {"text/plain"}}, 415, "application/json"},
		{"PUT", "/mcp/notes", "{}", nil, 405, "not allowed here"},
		{"GET", "/metrics", "", nil, 200, `plimsoll_tools_large_total{gen_ai_tool_name="big",level="alert",server="notes"} 1`},
	} {
		r, body := request(t, c.method, root+c.path, c.header, "", c.body)
		if r.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s %s: %d, want %d and %q in %.400s", c.method, c.path, r.StatusCode, c.status, c.want, body)
		}
	}
	notes.end()
	all.end()
	events, words := end()
	for _, want := range []string{`"kind":"tools.result_large","event":{"server":"notes","tool":"big",`, `"level":"alert"`, `"kind":"tools.server","event":{"server":"notes","state":"started"`} {
		if !strings.Contains(events, want) {
			t.Errorf("no %s in the events:\n%s", want, events)
		}
	}
	if started, ended := strings.Count(events, `"state":"started"`), strings.Count(events, `"state":"ended"`); started != ended || started < 2 {
		t.Errorf("%d servers were started, %d have ended:\n%s", started, ended, events)
	}
	if strings.Contains(events, large.Result.Meta.Page.Handle) || strings.Contains(events, "hello") {
		t.Errorf("a handle or a text is in the events:\n%s", events)
	}
	for _, path := range []string{"/mcp/notes", "/mcp/plain", "/mcp/alone"} {
		if !strings.Contains(words, root+path+" ") {
			t.Errorf("it does not say that there is %s:\n%s", path, words)
		}
	}
}

// The daemon's token is asked for, in one of three places, and stays here.
func TestServeAsksForItsToken(t *testing.T) {
	s := newSite(t)
	const token = "0123456789abcdef0123456789abcdef"
	var mu sync.Mutex
	requests := 0
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		requests++
		mu.Unlock()
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, " "), token) || strings.HasPrefix(name, "Plimsoll") {
				t.Errorf("the remote server gets %s: %s", name, values)
			}
		}
		if strings.Contains(r.URL.Path, token) {
			t.Errorf("the remote server is asked for %s", r.URL.Path)
		}
		http.Error(w, "not today", http.StatusTeapot)
	}))
	t.Cleanup(remote.Close)
	s.configure("[serve]\nlisten = \"127.0.0.1:0\"\ntoken = \"GATEWAY\"\n[mcp.servers.notes]\ncommand = [\"toolserver\"]\n[mcp.servers.remote]\nmerge = false\nurl = \"" + remote.URL + "/mcp\"\n")
	s.env = append(s.env, "GATEWAY="+token)
	root, _ := listening(t, s, "serve")
	message := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + greeting + `}`
	for _, c := range []struct {
		path   string
		header http.Header
		status int
	}{
		{"/mcp/notes", nil, 401},
		{"/mcp/notes", http.Header{"Authorization": {"Bearer wrong"}}, 401},
		{"/mcp/notes", http.Header{"Authorization": {"Bearer " + token}}, 200},
		{"/mcp/notes", http.Header{"Plimsoll-Token": {token}}, 200},
		{"/" + token + "/mcp/notes", nil, 200},
		{"/" + token + "/mcp", nil, 200},
		{"/mcp/remote", nil, 401},
		{"/mcp/remote", http.Header{"Authorization": {"Bearer " + token}}, 418},
		{"/mcp/remote", http.Header{"Plimsoll-Token": {token}}, 418},
		{"/mcp/remote", http.Header{"Plimsoll-Token": {token}, "Authorization": {"Bearer the client's own"}}, 418},
		{"/" + token + "/mcp/remote", nil, 418},
	} {
		if r, body := post(t, root+c.path, c.header, "", message); r.StatusCode != c.status {
			t.Errorf("%s %v: %d, want %d: %s", c.path, c.header, r.StatusCode, c.status, body)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if requests == 0 {
		t.Error("nothing came to the remote server")
	}
}

// A server on standard streams gets a URL, and its port belongs to one program.
func TestListenGivesAServerAURL(t *testing.T) {
	s := newSite(t)
	url, end := listening(t, s, "mcp", "--listen", "127.0.0.1:0", "--events", "--name", "notes", "--", "toolserver")
	if !strings.HasSuffix(url, "/mcp") {
		t.Errorf("the URL is %s", url)
	}
	c := httpClient(t, url, nil)
	if a := c.call("big", `{"bytes":120000,"kind":"lines"}`); a.Result.Meta.Page.PageSize != 100 {
		t.Errorf("%+v", a.Result.Meta)
	}
	address := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")
	if o := s.plimsoll("mcp", "--listen", address, "--", "toolserver"); o.code != 125 || !strings.Contains(o.stderr, "address already in use") || !strings.Contains(o.stderr, "choose another with --listen") {
		t.Errorf("%+v", o)
	}
	c.end()
	if events, words := end(); !strings.Contains(events, `"level":"warning"`) || !strings.Contains(words, "notes is at "+url) {
		t.Errorf("%s\n%s", words, events)
	}
}
