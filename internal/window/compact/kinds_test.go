package compact_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A mixture is a conversation of which is known what must stay.
type mixture struct {
	d        wire.Dialect
	r        *rand.Rand
	messages []string
	kept     []declaration // oldest first
	turns    int
}

// A declaration is messages that declare something, of which no later one says the same.
type declaration struct {
	kind     string
	messages []string
	turn     int // bytes of all that was made in its turn
}

func (k *mixture) say(role, text string) {
	k.messages = append(k.messages, string(wire.TextMessage(k.d, map[string]wire.Role{"user": wire.RoleUser, "assistant": wire.RoleAssistant}[role], text)))
}

// turn adds one: what the user says, a call and its result, a kind if there is one, the model's answer.
func (k *mixture) turn(kind *transcripts.Kind) {
	k.turns++
	id := fmt.Sprintf("%d_%x", k.turns, k.r.Uint32())
	k.say("user", fmt.Sprintf("Wish %d: look at file %s.", k.turns, id))
	if k.r.IntN(2) == 0 {
		out, _ := json.Marshal(log(k.r, 200+k.r.IntN(4000)))
		switch k.d {
		case wire.Gemini:
			k.messages = append(k.messages, fmt.Sprintf(`{"role":"model","parts":[{"functionCall":{"id":"plain_%s","name":"read","args":{}}}]}`, id),
				fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"id":"plain_%s","name":"read","response":{"output":%s}}}]}`, id, out))
			k.say("assistant", "Read.")
			k.say("user", "Go on.")
		case wire.Messages:
			k.messages = append(k.messages, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":"plain_%s","name":"read","input":{}}]}`, id),
				fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":"plain_%s","content":%s}]}`, id, out))
			k.say("assistant", "Read.")
			k.say("user", "Go on.")
		default:
			k.messages = append(k.messages, fmt.Sprintf(`{"type":"function_call","call_id":"plain_%s","name":"read","arguments":"{}"}`, id),
				fmt.Sprintf(`{"type":"function_call_output","call_id":"plain_%s","output":%s}`, id, out))
		}
	}
	if kind != nil {
		made, declares := kind.Turn(id, strings.TrimSpace(transcripts.Text(transcripts.English, k.r, 20+k.r.IntN(600))))
		k.messages = append(k.messages, made...)
		if kind.Replaced {
			k.kept = slices.DeleteFunc(k.kept, func(m declaration) bool { return m.kind == kind.Name })
		}
		if kind.Declares {
			k.kept = append(k.kept, declaration{kind.Name, declares, len(strings.Join(made, ","))})
		}
	}
	k.say("assistant", fmt.Sprintf("Turn %d is done.", k.turns))
}

func (k *mixture) request(t testing.TB) *wire.Request {
	t.Helper()
	list := map[wire.Dialect]string{wire.Messages: "messages", wire.Responses: "input", wire.Gemini: "contents"}[k.d]
	b := []byte(`{"model":"m","` + list + `":[` + strings.Join(k.messages, ",") + `]}`)
	if err := wire.Validate(k.d, b); err != nil {
		t.Fatalf("the conversation itself: %v\n%.600s", err, b)
	}
	return parse(t, k.d, b)
}

// ids counts the ids that hold pairs together, wherever they stand.
func ids(t testing.TB, body []byte) map[string]int {
	t.Helper()
	found := map[string]int{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for key, e := range v {
				id, ok := e.(string)
				switch key {
				case "id", "call_id", "tool_use_id", "approval_request_id", "tool_id", "caller_id":
					if ok {
						found[id]++
					}
				}
				walk(e)
			}
		}
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	return found
}

// declared holds that what was declared is there. Where it fills most of what fits by itself, only the newest needs to be.
func (k *mixture) declared(t *testing.T, body []byte, limit int) {
	t.Helper()
	size := 0
	if limit < 800 {
		return // the task, the newest words and the running turn take that
	}
	for _, d := range k.kept {
		size += d.turn / 4
	}
	for n, d := range k.kept {
		for _, m := range d.messages {
			if (size < limit/4 || n == len(k.kept)-1 && d.turn/4 < limit/8) && !bytes.Contains(body, []byte(m)) {
				t.Fatalf("%d tokens of declarations, %d fit; gone: %s\n%.600s", size, limit, m, body)
			}
		}
	}
}

// squeeze compacts to random goals and holds what comes of it; it returns the last view that came of it.
func (k *mixture) squeeze(t *testing.T, v *compact.View, least int) *compact.View {
	t.Helper()
	before := quarter(v.Request).Total
	limit := before * (least + k.r.IntN(100-least)) / 100
	goal := compact.Goal{Target: limit * (40 + k.r.IntN(50)) / 100, Limit: limit, Strict: k.r.IntN(2) == 0}
	c := compact.New(compact.Options{Style: compact.Style(k.r.IntN(2) * 2), MinMessages: 1 + k.r.IntN(4), WholeResults: k.r.IntN(4) == 0})
	res, err := c.Compact(t.Context(), v, quarter, goal)
	if _, ok := errors.AsType[*compact.DoesNotFit](err); ok {
		return v
	}
	if err != nil {
		t.Fatal(err)
	}
	body := res.Request.Body
	if err := wire.Validate(k.d, body); err != nil {
		t.Fatalf("%v, %v\n%.600s", err, res.Rungs, body)
	}
	settled(t, v.Client, res.Request)
	k.declared(t, body, limit)
	was := ids(t, v.Client.Body)
	for id, n := range ids(t, body) {
		if n != was[id] {
			t.Fatalf("%d of %d parts with the id %s are left, %v\n%.600s", n, was[id], id, res.Rungs, body)
		}
	}
	if bytes.Contains(body, []byte(`"high"}},{"type":"configuration_update"`)) {
		t.Fatalf("two updates of the configuration stand side by side\n%.600s", body)
	}
	chain := make([][16]byte, len(v.Client.Messages))
	made := compact.Checkpoint(v, &res, chain)
	if made == nil {
		return v
	}
	next, err := compact.Replay(v.Client, made)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Each kind alone, in thirty turns: what is made of them is whole, and what declares tools is left.
func TestEveryKindIsKeptOrCutAsAUnit(t *testing.T) {
	for _, d := range []wire.Dialect{wire.Messages, wire.Responses, wire.Gemini} {
		for _, kind := range transcripts.Kinds(d) {
			t.Run(d.String()+"/"+kind.Name, func(t *testing.T) {
				for seed := range uint64(5) {
					k := &mixture{d: d, r: rand.New(rand.NewPCG(seed, 21))}
					for turn := range 30 {
						with := &kind
						if turn == 0 || k.r.IntN(3) > 0 {
							with = nil
						}
						k.turn(with)
					}
					k.squeeze(t, k.squeeze(t, view(t, k.request(t)), 40), 75)
				}
			})
		}
	}
}

// All kinds together, compacted again and again while the conversation grows.
func FuzzKinds(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed, uint8(seed*5))
	}
	f.Fuzz(func(t *testing.T, seed uint64, turns uint8) {
		for _, d := range []wire.Dialect{wire.Messages, wire.Responses, wire.Gemini} {
			all := transcripts.Kinds(d)
			k := &mixture{d: d, r: rand.New(rand.NewPCG(seed, uint64(turns)))}
			for range 1 + turns%40 {
				var kind *transcripts.Kind
				if k.r.IntN(2) == 0 {
					kind = &all[k.r.IntN(len(all))]
				}
				k.turn(kind)
			}
			v := view(t, k.request(t))
			for range 3 {
				v = k.squeeze(t, v, 70)
			}
		}
	})
}

func TestKindsTogether(t *testing.T) {
	for seed := range uint64(20) {
		for _, d := range []wire.Dialect{wire.Messages, wire.Responses, wire.Gemini} {
			all := transcripts.Kinds(d)
			k := &mixture{d: d, r: rand.New(rand.NewPCG(seed, 22))}
			for range 5 + k.r.IntN(40) {
				var kind *transcripts.Kind
				if k.r.IntN(3) == 0 {
					kind = &all[k.r.IntN(len(all))]
				}
				k.turn(kind)
			}
			k.squeeze(t, k.squeeze(t, view(t, k.request(t)), 60), 75)
		}
	}
}

// kindOf finds a kind by its name.
func kindOf(t *testing.T, d wire.Dialect, name string) *transcripts.Kind {
	t.Helper()
	all := transcripts.Kinds(d)
	i := slices.IndexFunc(all, func(k transcripts.Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no kind %s of %s", name, d)
	}
	return &all[i]
}

// A client that finds the same tools every turn does not fill the window with them.
func TestTheNewestDeclarationOfAToolWins(t *testing.T) {
	for _, c := range []struct {
		d    wire.Dialect
		kind string
	}{
		{wire.Messages, "tool_reference"},
		{wire.Messages, "tool_search_tool_result"},
		{wire.Responses, "tool_search_output"},
		{wire.Responses, "mcp_list_tools"},
		{wire.Responses, "configuration_update"},
	} {
		k := &mixture{d: c.d, r: rand.New(rand.NewPCG(5, 5))}
		for range 30 {
			k.turn(nil)
			made, _ := kindOf(t, c.d, c.kind).Turn("same", "words")
			list := strings.Join(made, ",")
			for _, prefix := range []string{"call_", "toolu_", "srv_", "mcpl_", "DECL_"} { // pairs have ids of their own, tools have not
				if prefix != "DECL_" || c.kind == "configuration_update" {
					list = strings.ReplaceAll(list, prefix+"same", fmt.Sprintf("%s%d", prefix, k.turns))
				}
			}
			k.messages = append(k.messages, list)
			k.say("assistant", "Found.")
		}
		r := k.request(t)
		size := quarter(r).Total
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: size / 20, Limit: size / 3})
		if n := bytes.Count(res.Request.Body, []byte("DECL_")) / bytes.Count([]byte(kindText(t, c.d, c.kind)), []byte("DECL_")); n < 1 || n > 3 {
			t.Errorf("%s: %d of 30 are left, %v", c.kind, n, res.Rungs)
		}
		if !bytes.Contains(res.Request.Body, r.Raw(r.Messages[len(r.Messages)-2].Span)) {
			t.Errorf("%s: the newest is gone", c.kind)
		}
	}
}

func kindText(t *testing.T, d wire.Dialect, name string) string {
	made, _ := kindOf(t, d, name).Turn("", "")
	return strings.Join(made, "")
}

// Declarations never make a request impossible to fit: the oldest go at last.
func TestDeclarationsAloneDoNotFillTheWindow(t *testing.T) {
	for _, c := range []struct {
		d    wire.Dialect
		kind string
	}{
		{wire.Messages, "tool_reference"},
		{wire.Messages, "tool_definition"},
		{wire.Messages, "mid_conv_system"},
		{wire.Responses, "tool_search_output"},
		{wire.Responses, "additional_tools"},
	} {
		k := &mixture{d: c.d, r: rand.New(rand.NewPCG(6, 6))}
		k.turn(nil)
		for range 200 {
			k.turn(kindOf(t, c.d, c.kind))
		}
		r := k.request(t)
		limit := quarter(r).Total / 12
		res := run(t, compact.New(compact.Options{}), r, compact.Goal{Target: limit / 2, Limit: limit})
		left := 0
		for _, d := range k.kept {
			if bytes.Contains(res.Request.Body, []byte(d.messages[0])) {
				left++
			}
		}
		if newest := k.kept[len(k.kept)-1]; res.After > limit || left < 2 || !bytes.Contains(res.Request.Body, []byte(newest.messages[0])) {
			t.Errorf("%s: %d of %d tokens, %d fit, %d declarations are left, %v", c.kind, res.After, res.Before, limit, left, res.Rungs)
		}
	}
}

// What a script at the provider printed is in a summary, as what a tool of the client printed is; what nobody can read is not.
func TestSummariesKnowWhatTheProviderFound(t *testing.T) {
	for d, found := range map[wire.Dialect]string{
		wire.Messages:  `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"code_execution","input":{}},{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"code_execution_result","stdout":"one\ntwo\n","stderr":"psycopg2.errors.UndefinedTable: relation \"orders_2031\" does not exist\n","return_code":1}},{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","title":"t","encrypted_content":"SEALED"}]}]}`,
		wire.Responses: `{"type":"program","id":"p","call_id":"c","code":"1","fingerprint":"f"},{"type":"program_output","id":"q","call_id":"c","result":"psycopg2.errors.UndefinedTable: relation \"orders_2031\" does not exist","fingerprint":"SEALED"}`,
		wire.Gemini:    `{"role":"model","parts":[{"executableCode":{"id":"a","language":"PYTHON","code":"1"},"thoughtSignature":"SEALED"},{"codeExecutionResult":{"id":"a","outcome":"OUTCOME_FAILED","output":"psycopg2.errors.UndefinedTable: relation \"orders_2031\" does not exist"},"thoughtSignature":"SEALED"}]}`,
	} {
		k := &mixture{d: d, r: rand.New(rand.NewPCG(8, 8))}
		k.turn(nil)
		k.messages = append(k.messages, found)
		for range 20 {
			k.turn(nil)
		}
		r := k.request(t)
		size := quarter(r).Total
		res := run(t, compact.New(compact.Options{WholeResults: true}), r, compact.Goal{Target: size / 4, Limit: size / 2})
		if b := string(res.Request.Body); strings.Contains(b, `"program"`) || strings.Contains(b, "server_tool_use") || strings.Contains(b, "executableCode") || !strings.Contains(b, "orders_2031") || strings.Contains(b, "SEALED") {
			t.Errorf("%s, %v: %.2000s", d, res.Rungs, b)
		}
	}
}
