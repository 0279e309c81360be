package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The report of a run has what the definitions of all its servers' tools take, each server once, also where two clients listed it.
func TestTheReportSumsTheDefinitionsOfAllServers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the clients are a shell's")
	}
	t.Parallel()
	s := newSite(t)
	requests := filepath.Join(s.dir, "requests")
	if err := os.WriteFile(requests, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+greeting+`}`+"\n"+
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The input stays open until the list has come.
	client := func(name string) string {
		return `: >"$3"; (cat "$1"; n=0; until grep -q '"tools"' "$3" || [ $n = 300 ]; do sleep 0.1; n=$((n+1)); done) | "$2" mcp --name ` + name + ` -- toolserver >"$3"`
	}
	sum := func(lines ...string) int {
		r, o := s.report("sh", "-c", strings.Join(lines, "\n"), "sh", requests, s.program(), filepath.Join(s.dir, "answers"))
		if o.code != 0 {
			t.Fatalf("%+v", o)
		}
		return r.MCP.DefinitionTokens
	}
	one := sum(client("notes"))
	if two := sum(client("notes"), client("notes"), client("cluster")); one < 100 || two != 2*one {
		t.Errorf("%d tokens of one server, %d of two", one, two)
	}
}
