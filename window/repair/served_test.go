package repair_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// block makes a message of blocks, each in a short form: words; +ID asks a tool at the provider, -ID is what it found,
// !ID calls a tool of the client and =ID is its result; ~ is a thought.
func block(role string, forms ...string) string {
	var list []string
	for _, form := range forms {
		kind, id := form[:1], form[1:]
		switch kind {
		case "+":
			list = append(list, `{"type":"server_tool_use","id":"`+id+`","name":"web_search","input":{"query":"q"}}`)
		case "-":
			list = append(list, `{"type":"web_search_tool_result","tool_use_id":"`+id+`","content":[{"type":"web_search_result","title":"`+id+`"}]}`)
		case "!":
			list = append(list, `{"type":"tool_use","id":"`+id+`","name":"f","input":{}}`)
		case "=":
			list = append(list, `{"type":"tool_result","tool_use_id":"`+id+`","content":"r`+id+`"}`)
		case "~":
			list = append(list, `{"type":"thinking","thinking":"t","signature":"s"}`)
		case "{":
			list = append(list, form)
		default:
			list = append(list, `{"type":"text","text":"`+form+`"}`)
		}
	}
	return `{"role":"` + role + `","content":[` + strings.Join(list, ",") + `]}`
}

// parts makes a content of Gemini's in the same way.
func parts(role string, forms ...string) string {
	var list []string
	for _, form := range forms {
		kind, id := form[:1], form[1:]
		switch kind {
		case "+":
			list = append(list, `{"toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["q"]},"id":"`+id+`"},"thoughtSignature":"c2ln"}`)
		case "-":
			list = append(list, `{"toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"search_suggestions":"`+id+`"},"id":"`+id+`"},"thoughtSignature":"c2lo"}`)
		case "!":
			list = append(list, `{"functionCall":{"id":"`+id+`","name":"f","args":{}},"thoughtSignature":"c2lp"}`)
		case "=":
			list = append(list, `{"functionResponse":{"id":"`+id+`","name":"f","response":{"output":"r`+id+`"}}}`)
		case "~":
			list = append(list, `{"text":"t","thought":true}`)
		case "{":
			list = append(list, form)
		default:
			list = append(list, `{"text":"`+form+`"}`)
		}
	}
	return `{"role":"` + role + `","parts":[` + strings.Join(list, ",") + `]}`
}

func TestServedPairs(t *testing.T) {
	const (
		lost = `{"type":"web_search_tool_result","tool_use_id":"a","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`
		u    = `{"role":"user","content":"u"}`
	)
	item := func(kind string, id string) string {
		switch {
		case strings.HasSuffix(kind, "_request"):
			return `{"type":"` + kind + `","id":"` + id + `"}`
		case strings.HasSuffix(kind, "_response"):
			return `{"type":"` + kind + `","approval_request_id":"` + id + `"}`
		}
		return `{"type":"` + kind + `","call_id":"` + id + `"}`
	}
	const gu = `{"role":"user","parts":[{"text":"u"}]}`
	const denied = `{"type":"mcp_approval_response","approval_request_id":"r","approve":false,"reason":"[Nobody answered this request.]"}`
	const iu, ia = `{"role":"user","content":"u"}`, `{"role":"assistant","content":"a"}`
	for _, c := range []struct {
		name          string
		d             wire.Dialect
		before, after []string // no after: it stays as it is
		actions       string
	}{
		{"in order", wire.Messages, []string{u, block("assistant", "~", "+a", "-a", "so"), u}, nil, ""},
		{"over borders", wire.Messages, []string{u, block("assistant", "+a", "!1"), block("user", "=1"), block("assistant", "-a", "so"), u}, nil, ""},
		{"paused", wire.Messages, []string{u, block("assistant", "+a")}, nil, ""},
		{"under way", wire.Messages, []string{u, block("assistant", "+a", "!1"), block("user", "=1")}, nil, ""},
		{"a second result", wire.Messages, []string{u, block("assistant", "+a", "-a", "-a", "so"), u}, nil, ""},
		{"a result of nobody", wire.Messages, []string{u, block("assistant", "-a", "so"), u}, []string{u, block("assistant", "so"), u}, "dropped"},
		{"nothing but a result of nobody", wire.Messages, []string{u, block("assistant", "-a"), u}, []string{u, u}, "dropped"},
		{"a result of nobody behind a thought", wire.Messages, []string{u, block("assistant", "so", "~", "-a"), u}, []string{u, block("assistant", "so"), u}, "dropped"},
		{"asked in a turn that ended", wire.Messages, []string{u, block("assistant", "~", "+a"), u}, []string{u, strings.Replace(block("assistant", "~", "+a"), "]}", ","+lost+"]}", 1), u}, "synthesised"},
		{"a script that was left", wire.Messages, []string{u, block("assistant", "+a", "!1"), block("user", "=1", "stop")}, []string{u, block("assistant", "+a", lost, "!1"), block("user", "=1", "stop")}, "synthesised"},
		{"found too late", wire.Messages, []string{u, block("assistant", "+a"), u, block("assistant", "-a", "so"), u}, []string{u, block("assistant", "+a", "-a"), u, block("assistant", "so"), u}, "moved"},
		{"found once more, in another turn", wire.Messages, []string{u, block("assistant", "+a", "-a"), u, block("assistant", "-a", "so"), u}, []string{u, block("assistant", "+a", "-a"), u, block("assistant", "so"), u}, "duplicate"},
		{"a server's tool", wire.Messages, []string{u, block("assistant", `{"type":"mcp_tool_use","id":"m","name":"n","server_name":"s","input":{}}`), u}, []string{u, block("assistant", `{"type":"mcp_tool_use","id":"m","name":"n","server_name":"s","input":{}}`, `{"type":"mcp_tool_result","tool_use_id":"m","is_error":true,"content":[{"type":"text","text":"`+repair.Note+`"}]}`), u}, "synthesised"},
		{"a search for tools", wire.Messages, []string{u, block("assistant", `{"type":"server_tool_use","id":"m","name":"tool_search_tool_bm25","input":{}}`), u}, []string{u, block("assistant", `{"type":"server_tool_use","id":"m","name":"tool_search_tool_bm25","input":{}}`, `{"type":"tool_search_tool_result","tool_use_id":"m","content":{"type":"tool_search_tool_result_error","error_code":"unavailable"}}`), u}, "synthesised"},
		{"a tool of tomorrow", wire.Messages, []string{u, block("assistant", "so", "~", `{"type":"panel_use","id":"m"}`), u}, []string{u, block("assistant", "so"), u}, "dropped"},
		{"calls and scripts", wire.Messages, []string{u, block("assistant", "+a", "!1"), u}, []string{u, block("assistant", "+a", lost, "!1"), block("user", `{"type":"tool_result","tool_use_id":"1","content":"`+repair.Note+`","is_error":true}`), u}, "synthesised synthesised"},

		{"a program", wire.Responses, []string{iu, item("program", "p"), ia, item("program_output", "p"), iu}, nil, ""},
		{"a program that was left", wire.Responses, []string{iu, item("program", "p"), iu}, nil, ""},
		{"an output of no program", wire.Responses, []string{iu, item("program_output", "p"), iu}, []string{iu, iu}, "dropped"},
		{"an approval", wire.Responses, []string{iu, item("mcp_approval_request", "r"), item("mcp_approval_response", "r"), `{"type":"mcp_call","id":"m","approval_request_id":"r"}`}, nil, ""},
		{"an approval of nothing", wire.Responses, []string{iu, item("mcp_approval_response", "r"), iu}, []string{iu, iu}, "dropped"},
		{"a request that nobody answered", wire.Responses, []string{iu, item("mcp_approval_request", "r"), iu, ia}, []string{iu, item("mcp_approval_request", "r"), denied, iu, ia}, "synthesised"},
		{"a request that waits", wire.Responses, []string{iu, item("mcp_approval_request", "r")}, nil, ""},
		{"an approval behind words", wire.Responses, []string{iu, item("mcp_approval_request", "r"), iu, item("mcp_approval_response", "r")}, nil, ""},
		{"a call that was allowed, without the answer", wire.Responses, []string{iu, item("mcp_approval_request", "r"), `{"type":"mcp_call","id":"m","approval_request_id":"r"}`, iu}, nil, ""},
		{"a request that may be answered elsewhere", wire.Responses, []string{`{"type":"item_reference","id":"x"}`, item("mcp_approval_request", "r"), iu}, nil, ""},
		{"a request of tomorrow", wire.Responses, []string{iu, item("panel_request", "r"), iu}, nil, ""},
		{"a call that was approved once", wire.Responses, []string{iu, `{"type":"mcp_call","id":"m","approval_request_id":"r"}`, ia}, nil, ""},
		{"thoughts about an output of no program", wire.Responses, []string{iu, `{"type":"reasoning","id":"rs","summary":[]}`, item("program_output", "p"), iu}, []string{iu, iu}, "reasoning dropped"},

		{"a search in order", wire.Gemini, []string{gu, parts("model", "+a", "-a", "so"), gu}, nil, ""},
		{"a search over borders", wire.Gemini, []string{gu, parts("model", "+a", "!1"), parts("user", "=1"), parts("model", "-a", "so"), gu}, nil, ""},
		{"a search under way", wire.Gemini, []string{gu, parts("model", "+a", "!1"), parts("user", "=1")}, nil, ""},
		{"a search in pieces", wire.Gemini, []string{gu, parts("model", "+a"), parts("model", "-a", "so"), gu}, nil, ""},
		{"code without ids", wire.Gemini, []string{gu, parts("model", `{"executableCode":{"language":"PYTHON","code":"1"}}`), gu, parts("model", `{"codeExecutionResult":{"outcome":"OUTCOME_OK"}}`), gu}, nil, ""},
		{"half a search", wire.Gemini, []string{gu, parts("model", "+a", "so"), gu}, []string{gu, parts("model", "so"), gu}, "dropped"},
		{"nothing but half a search", wire.Gemini, []string{gu, parts("model", "+a"), gu}, []string{gu, gu}, "dropped"},
		{"a call beside half a search", wire.Gemini, []string{gu, parts("model", "+a", "!1"), parts("user", "=1", "stop")}, []string{gu, parts("model", "!1"), parts("user", "=1", "stop")}, "dropped"},
		{"what was found for nobody", wire.Gemini, []string{gu, parts("model", "-a", "so"), gu}, []string{gu, parts("model", "so"), gu}, "dropped"},
		{"a search that came too late", wire.Gemini, []string{gu, parts("model", "+a", "so"), gu, parts("model", "-a", "so"), gu}, []string{gu, parts("model", "+a", "-a", "so"), gu, parts("model", "so"), gu}, "moved"},
		{"a tool of Google's tomorrow", wire.Gemini, []string{gu, parts("model", `{"panelCall":{"id":"p"}}`, "so"), gu}, []string{gu, parts("model", "so"), gu}, "dropped"},

		{"history elsewhere", wire.Responses, []string{`{"type":"item_reference","id":"x"}`, item("program_output", "p"), iu}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := body(c.d, strings.Join(c.before, ","))
			next, actions := fix(t, c.d, text, repair.Options{})
			want := c.after
			if want == nil {
				want = c.before
			}
			if got, want := compact(t, next.Body), compact(t, body(c.d, strings.Join(want, ","))); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got := kinds(actions); got != c.actions {
				t.Errorf("actions %q, want %q", got, c.actions)
			}
			valid(t, c.d, next, text)
		})
	}
}

// What was sent before is not changed: what it asked is answered behind it.
func TestServedPairsOfWhatWasSent(t *testing.T) {
	const lost = `{"type":"web_search_tool_result","tool_use_id":"a","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}`
	u := block("user", "u")
	for _, c := range []struct {
		name              string
		sent, more, after []string
		actions           string
	}{
		{"a turn that was paused", []string{u, block("assistant", "~", "+a")}, []string{u}, []string{block("assistant", lost), u}, "synthesised"},
		{"a script that was left", []string{u, block("assistant", "+a", "!1"), block("user", "=1")}, []string{u}, []string{block("assistant", lost), u}, "synthesised"},
		{"a script and its call that were left", []string{u, block("assistant", "+a", "!1")}, []string{u}, []string{block("user", `{"type":"tool_result","tool_use_id":"1","content":"`+repair.Note+`","is_error":true}`), block("assistant", lost), u}, "synthesised synthesised"},
		{"found too late", []string{u, block("assistant", "+a")}, []string{u, block("assistant", "-a", "so"), u}, []string{block("assistant", "-a"), u, block("assistant", "so"), u}, "moved"},
		{"found after it was told that there is nothing", []string{u, block("assistant", "+a"), block("assistant", lost), u}, []string{block("assistant", "-a", "so"), u}, []string{block("assistant", "so"), u}, "duplicate"},
		{"a tool of tomorrow that was left", []string{u, block("assistant", "so", `{"type":"panel_use","id":"m"}`)}, []string{u}, nil, "frozen"},
		{"sent with a hole", []string{u, block("assistant", "+a", "so"), u, block("assistant", "-b", "so")}, []string{u}, []string{u}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := body(wire.Messages, strings.Join(append(slices.Clone(c.sent), c.more...), ","))
			if c.actions == "frozen" {
				if _, _, err := repair.Repair(parse(t, wire.Messages, text), repair.Options{Frozen: len(c.sent)}); !errors.Is(err, repair.ErrFrozen) {
					t.Fatal(err)
				}
				return
			}
			next, actions := fix(t, wire.Messages, text, repair.Options{Frozen: len(c.sent)})
			want := body(wire.Messages, strings.Join(append(slices.Clone(c.sent), c.after...), ","))
			if got, want := compact(t, next.Body), compact(t, want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got := kinds(actions); got != c.actions {
				t.Errorf("actions %q, want %q", got, c.actions)
			}
			if c.actions != "" {
				valid(t, wire.Messages, next, text)
			}
		})
	}
}

// conversation makes a valid history with scripts at the provider, of messages that are made by block or parts.
func conversation(rng *rand.Rand, block func(role string, forms ...string) string, model string) []string {
	list := []string{block("user", "start")}
	id := 0
	next := func() string { id++; return fmt.Sprint(id) }
	for turn := range 1 + rng.IntN(4) {
		switch s := next(); rng.IntN(4) {
		case 0:
			list = append(list, block(model, "~", "+"+s, "-"+s, fmt.Sprint("answer ", turn)))
		case 1:
			k := next()
			list = append(list, block(model, "~", "+"+s, "!"+k), block("user", "="+k))
			for range rng.IntN(3) {
				k = next()
				list = append(list, block(model, "!"+k), block("user", "="+k))
			}
			list = append(list, block(model, "-"+s, fmt.Sprint("answer ", turn)))
		case 2:
			list = append(list, block(model, "+"+s), block(model, "-"+s, fmt.Sprint("answer ", turn)))
		default:
			list = append(list, block(model, "!"+s), block("user", "="+s, "and"), block(model, fmt.Sprint("answer ", turn)))
		}
		list = append(list, block("user", fmt.Sprint("question ", turn)))
	}
	return list
}

func FuzzServedPairs(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(servedPairs)
}

func TestRandomServedPairs(t *testing.T) {
	for seed := range uint64(400) {
		servedPairs(t, seed)
	}
}

// servedPairs holds the repair of random histories, sound and harmed.
func servedPairs(t *testing.T, seed uint64) {
	randomPairs(t, seed, wire.Messages, block, "assistant")
	randomPairs(t, seed, wire.Gemini, parts, "model")
}

func randomPairs(t *testing.T, seed uint64, d wire.Dialect, block func(role string, forms ...string) string, model string) {
	rng := rand.New(rand.NewPCG(seed, 11))
	list := conversation(rng, block, model)
	sound := body(d, strings.Join(list, ","))
	if next, actions := fix(t, d, sound, repair.Options{}); string(next.Body) != string(sound) {
		t.Fatalf("seed %d: a sound history: %+v\n%s", seed, actions, sound)
	}
	text := body(d, strings.Join(harm(rng, slices.Clone(list)), ","))
	next, _ := fix(t, d, text, repair.Options{})
	valid(t, d, next, text)
	if t.Failed() {
		t.Fatalf("seed %d\nbefore %s\nafter  %s", seed, text, next.Body)
	}
	// A part of it was sent, the rest is harmed.
	sent := 1 + rng.IntN(len(list)-1)
	text = body(d, strings.Join(append(slices.Clone(list[:sent]), harm(rng, slices.Clone(list[sent:]))...), ","))
	r := parse(t, d, text)
	next, _, err := repair.Repair(r, repair.Options{Frozen: sent})
	if errors.Is(err, repair.ErrFrozen) {
		return
	}
	if err != nil || !strings.HasPrefix(string(next.Body), strings.TrimSuffix(string(body(d, strings.Join(list[:sent], ","))), "]}")) {
		t.Fatalf("seed %d: %v\nbefore %s\nafter  %s", seed, err, text, next.Body)
	}
	valid(t, d, next, text)
	if t.Failed() {
		t.Fatalf("seed %d, %d were sent\nbefore %s\nafter  %s", seed, sent, text, next.Body)
	}
}
