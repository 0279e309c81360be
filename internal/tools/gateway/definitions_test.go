package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// many is a server of many tools that answers a call with the tool's name.
type many struct {
	transport.Peer
	tools int
}

func (o *many) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	out := []byte(`{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25"}`)
	switch m.Head.Method {
	case "tools/list":
		out = []byte(`{"tools":[`)
		for i := range o.tools {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, definition(fmt.Sprintf("makeThing%d", i), "", strings.Repeat("Makes a thing. ", 20), `"color":{"type":"string"}`, "", `"annotations":{}`)...)
		}
		out = append(out, "]}"...)
	case "tools/call":
		out = rawjson.Quote([]byte(`{"content":[{"type":"text","text":`), string(m.Head.Params.Of(m.Raw)))
		out = append(out, "}]}"...)
	}
	transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, out))
}

func TestDefinitionsAreBounded(t *testing.T) {
	server := &many{tools: 100}
	do := func(s *Session, method, params string) string {
		raw := jsonrpc.NewRequest(jsonrpc.ID(s.newID()), method, []byte(params))
		head, err := jsonrpc.Scan(raw)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.Ask(t.Context(), s, transport.Message{Raw: raw, Head: head}, 8<<20)
		if err != nil {
			t.Fatal(err)
		}
		return string(answer)
	}
	for _, client := range []string{"gemini-cli", "claude-code", "codex-mcp-client"} {
		s := New(Options{Name: "things", Next: server, Definitions: Definitions{
			Max:   2500,
			Count: func(text []byte) int { return len(text) / 4 },
			Index: func(texts []string) func(string, int) []int {
				return func(query string, n int) []int {
					var out []int
					for i, text := range texts {
						if strings.Contains(text, strings.TrimSpace(query)) && len(out) < n {
							out = append(out, i)
						}
					}
					return out
				}
			},
			Used: func(each func(server, tool string, calls int64)) {
				each("things", "makeThing77", 5)
				each("others", "makeThing78", 50)
			},
		}})
		do(s, "initialize", `{"protocolVersion":"2025-11-25","clientInfo":{"name":"`+client+`"}}`)
		list := do(s, "tools/list", "{}")
		if client != "gemini-cli" {
			if strings.Contains(list, "tool_search") || strings.Count(list, `"makeThing`) != 100 {
				t.Errorf("%s defers by itself: %.300s", client, list)
			}
			continue
		}
		if n := len(list) / 4; n > 2500 || !strings.Contains(list, `"name":"makeThing77"`) || strings.Contains(list, `"name":"makeThing78"`) {
			t.Errorf("%d tokens: %.3000s", n, list)
		}
		if !strings.Contains(list, "tools that are not listed here") || !strings.Contains(list, "things (") || !strings.Contains(list, "makeThing78") {
			t.Errorf("what is not listed is not told: %.3000s", list)
		}
		server.tools = 120
		s.o.Catalogue.changed()
		if again := do(s, "tools/list", "{}"); again[strings.Index(again, `"result"`):] != list[strings.Index(list, `"result"`):] {
			t.Errorf("the list is another one: %.3000s", again)
		}
		if got := do(s, "tools/call", `{"name":"tool_search","arguments":{"query":"makeThing119"}}`); !strings.Contains(got, `makeThing119\",\"title`) || !strings.Contains(got, "inputSchema") {
			t.Errorf("a new tool is not found: %.600s", got)
		}
		for _, params := range []string{`{"name":"makeThing119","arguments":{"color":"red"}}`, `{"name":"tool_call","arguments":{"name":"makeThing119","arguments":{"color":"red"}}}`} {
			if got := do(s, "tools/call", params); !strings.Contains(got, `{\"name\":\"makeThing119\",\"arguments\":{\"color\":\"red\"}}`) {
				t.Errorf("%s: %.600s", params, got)
			}
		}
		if got := do(s, "tools/call", `{"name":"tool_call","arguments":{"name":"tool_call"}}`); !strings.Contains(got, `"isError":true`) {
			t.Errorf("a call of itself: %s", got)
		}
		server.tools = 100
	}
}

func FuzzToolWording(f *testing.F) {
	f.Add([]byte(`{"name":"listPullRequests","title":"a","description":"List them. Then","inputSchema":{"properties":{"owner":{}}}}`))
	f.Add([]byte(`{"name":"x","inputSchema":{"properties":[1`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 || raw[0] != '{' {
			return
		}
		name, _ := rawjson.Text(raw, "name")
		if got := len(searchText(listed{name, raw})); got > 16*(len(raw)+16) {
			t.Errorf("%d bytes of %d", got, len(raw))
		}
	})
}

func TestSynonymsAreFoundInAllForms(t *testing.T) {
	for _, words := range [][]string{{"deleting", "removes", "erased", "drop"}, {"lists", "showing", "display"}, {"stopped", "cancel", "ending"}} {
		for _, w := range words {
			if synonymMark(w) == "" || synonymMark(w) != synonymMark(words[0]) {
				t.Errorf("%s is %q, %s is %q", w, synonymMark(w), words[0], synonymMark(words[0]))
			}
		}
	}
	if got := strings.Fields(normalize("getFileInfo")); !slices.Contains(got, "file") || !slices.Contains(got, "info") {
		t.Errorf("%q", got)
	}
}
