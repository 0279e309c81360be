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
		{"a call that was approved once", wire.Responses, []string{iu, `{"type":"mcp_call","id":"m","approval_request_id":"r"}`, ia}, nil, ""},
		{"thoughts about an output of no program", wire.Responses, []string{iu, `{"type":"reasoning","id":"rs","summary":[]}`, item("program_output", "p"), iu}, []string{iu, iu}, "reasoning dropped"},
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
		{"sent with a hole", []string{u, block("assistant", "+a", "so"), u, block("assistant", "-b", "so")}, []string{u}, []string{u}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := body(wire.Messages, strings.Join(append(slices.Clone(c.sent), c.more...), ","))
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

// conversation makes a valid history with scripts at the provider.
func conversation(rng *rand.Rand) []string {
	list := []string{block("user", "start")}
	id := 0
	next := func() string { id++; return fmt.Sprint(id) }
	for turn := range 1 + rng.IntN(4) {
		switch s := next(); rng.IntN(4) {
		case 0:
			list = append(list, block("assistant", "~", "+"+s, "-"+s, fmt.Sprint("answer ", turn)))
		case 1:
			k := next()
			list = append(list, block("assistant", "~", "+"+s, "!"+k), block("user", "="+k))
			for range rng.IntN(3) {
				k = next()
				list = append(list, block("assistant", "!"+k), block("user", "="+k))
			}
			list = append(list, block("assistant", "-"+s, fmt.Sprint("answer ", turn)))
		case 2:
			list = append(list, block("assistant", "+"+s), block("assistant", "-"+s, fmt.Sprint("answer ", turn)))
		default:
			list = append(list, block("assistant", "!"+s), block("user", "="+s, "and"), block("assistant", fmt.Sprint("answer ", turn)))
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

// servedPairs holds the repair of a random history, sound and harmed.
func servedPairs(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 11))
	list := conversation(rng)
	sound := body(wire.Messages, strings.Join(list, ","))
	if next, actions := fix(t, wire.Messages, sound, repair.Options{}); string(next.Body) != string(sound) {
		t.Fatalf("seed %d: a sound history: %+v\n%s", seed, actions, sound)
	}
	text := body(wire.Messages, strings.Join(harm(rng, slices.Clone(list)), ","))
	next, _ := fix(t, wire.Messages, text, repair.Options{})
	valid(t, wire.Messages, next, text)
	if t.Failed() {
		t.Fatalf("seed %d\nbefore %s\nafter  %s", seed, text, next.Body)
	}
	// A part of it was sent, the rest is harmed.
	sent := 1 + rng.IntN(len(list)-1)
	text = body(wire.Messages, strings.Join(append(slices.Clone(list[:sent]), harm(rng, slices.Clone(list[sent:]))...), ","))
	r := parse(t, wire.Messages, text)
	next, _, err := repair.Repair(r, repair.Options{Frozen: sent})
	if errors.Is(err, repair.ErrFrozen) {
		return
	}
	if err != nil || !strings.HasPrefix(string(next.Body), strings.TrimSuffix(string(body(wire.Messages, strings.Join(list[:sent], ","))), "]}")) {
		t.Fatalf("seed %d: %v\nbefore %s\nafter  %s", seed, err, text, next.Body)
	}
	valid(t, wire.Messages, next, text)
	if t.Failed() {
		t.Fatalf("seed %d, %d were sent\nbefore %s\nafter  %s", seed, sent, text, next.Body)
	}
}
