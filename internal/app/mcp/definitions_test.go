package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// recorded is a server of recorded tools.
type recorded struct {
	transport.Peer
	list []byte
}

func (r recorded) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, r.list))
}

// The right tool of eleven servers is among the first five for nine of ten requests, and the list takes what it may. Of the held
// requests the figure is printed: they were written and labelled before the search was run on them.
func TestToolsAreFound(t *testing.T) {
	dir := filepath.Join("testdata", "toolsearch")
	if other := os.Getenv("PLIMSOLL_TOOL_DEFINITIONS"); other != "" {
		dir = other
	}
	read := func(file string, into any) {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var servers map[string][]json.RawMessage
	read(filepath.Join(dir, "tools.json"), &servers)
	var all [][]byte
	for _, server := range slices.Sorted(maps.Keys(servers)) {
		for _, raw := range servers[server] {
			name, _ := rawjson.Text(raw, "name")
			out, err := rawjson.Set(raw, "name", rawjson.Quote(nil, gateway.Merged(server, name)))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, out)
		}
	}
	list := []byte(`{"tools":[`)
	for i, raw := range all {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, raw...)
	}
	count := tokens.O200K().Count
	s := gateway.New(gateway.Options{Name: "all", Next: recorded{list: append(list, "]}"...)}, Definitions: gateway.Definitions{
		Max: 8000, Count: count, Index: newToolIndex, Used: func(func(string, string, int64)) {},
	}})
	do := func(method, params string) []byte {
		raw := jsonrpc.NewRequest("1", method, []byte(params))
		head, _ := jsonrpc.Scan(raw)
		answer, err := transport.Ask(t.Context(), s, transport.Message{Raw: raw, Head: head}, 16<<20)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	answer := do("tools/list", "{}")
	n := count(answer)
	t.Logf("%d tools of %d servers: %d tokens, listed with tools_max: %d", len(all), len(servers), count(list), n)
	if len(all) < 300 || len(servers) < 10 || n > 8000 {
		t.Errorf("%d tools take %d tokens", len(all), n)
	}
	for _, file := range []string{"open.json", "held.json"} {
		var asked []struct {
			Server, Request, Query string
			Tools                  []string
		}
		read(filepath.Join("testdata", "toolsearch", file), &asked)
		right, of := 0, 0
		for _, a := range asked {
			if len(a.Tools) == 0 {
				continue // the recorded servers have none for it
			}
			of++
			var r struct {
				Result struct{ Content []struct{ Text string } }
			}
			if err := json.Unmarshal(do("tools/call", fmt.Sprintf(`{"name":"tool_search","arguments":{"query":%q}}`, a.Query)), &r); err != nil || len(r.Result.Content) == 0 {
				t.Fatalf("%q: %v", a.Query, err)
			}
			text := r.Result.Content[0].Text
			if slices.ContainsFunc(a.Tools, func(tool string) bool {
				return strings.Contains(text, fmt.Sprintf(`"name":%q`, gateway.Merged(a.Server, tool)))
			}) {
				right++
			} else if file == "open.json" {
				t.Logf("%q: not %s__%s", a.Query, a.Server, a.Tools)
			}
		}
		t.Logf("%s: %d of %d among the first five", file, right, of)
		if file == "open.json" && right*10 < of*9 {
			t.Errorf("%d of %d were found", right, of)
		}
	}
}
