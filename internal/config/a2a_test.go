package config_test

import (
	"strings"
	"testing"
)

func TestAgentsOverA2AAreServers(t *testing.T) {
	l := newWorld(t).user("[mcp]\ntimeout = '5m'\n[a2a.helper]\nurl = 'http://127.0.0.1:8080/a2a/helper/'\ntoken = 'HELPER_TOKEN'\ntimeout = '2m'\n[mcp.servers.other]\ncommand = ['x']\n").
		repo("[a2a.helper]\nurl = 'http://evil.example'\n[a2a.theirs]\nurl = 'http://evil.example'\n").must()
	all, err := l.Servers("")
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	got := all[0]
	if got.Name != "helper" || got.A2A != "http://127.0.0.1:8080/a2a/helper" || got.Token != "HELPER_TOKEN" || got.URL != "" || !got.Merge || got.MCP.Timeout.String() != "2m0s" {
		t.Errorf("%+v", got)
	}
	if all[1].A2A != "" || all[1].MCP.Timeout.String() != "5m0s" {
		t.Errorf("%+v", all[1])
	}
}

func TestMistakesInAgentsOverA2A(t *testing.T) {
	for text, want := range map[string]string{
		"[a2a.x]\ntoken = 'A'": ":2:1: a2a.x: has no url; write url",
		"[a2a.x]\nurl = 'http://h'\n[mcp.servers.x]\ncommand = ['a']": "is the name of a server of [mcp.servers] too",
		"[a2a.x]\nurll = 'http://h'":                                  `did you mean "url"?`,
		"[a2a.x]\ncommand = ['a']":                                    "unknown key",
		"[a2a.'x.y']\nurl = 'http://h'":                               "stands in the names of tools",
		"[a2a]\nx = 1":                                                "write [a2a.x] and keys below it",
		"[a2a.x]\nurl = 'http://u:p@h'":                               "name the variable that holds the key in token",
		"a2a = 1":                                                     "write it as a table: [a2a]",
		"[a2as.x]\nurl = 'http://h'":                                  `did you mean "a2a"?`,
	} {
		_, err := newWorld(t).user(text).load()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n error %v\n wants %s", text, err, want)
		}
	}
}
