package repair_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/testing/transcripts"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// untouched tells that a list needs no repair.
func untouched(t *testing.T, what string, d wire.Dialect, list string) {
	t.Helper()
	r := parse(t, d, body(d, list))
	if next, actions, err := repair.Repair(r, repair.Options{}); err != nil || next != r || actions != nil {
		t.Errorf("%s: %+v, %v\n%s", what, actions, err, next.Body)
	}
}

func repaired(t *testing.T, what string, d wire.Dialect, list, want, actions string) {
	t.Helper()
	next, did := fix(t, d, body(d, list), repair.Options{})
	if got := string(next.Body); got != string(body(d, want)) {
		t.Errorf("%s:\n got %s\nwant %s", what, got, body(d, want))
	}
	if kinds(did) != actions {
		t.Errorf("%s: %q, want %q", what, kinds(did), actions)
	}
}

// The requests of real clients, as they were recorded, are in order.
func TestRecordedRequests(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "wire", "testdata", "recorded", "*.json*"))
	seen := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Ext(name) == ".zst" {
			if text, err = wire.Decode("zstd", text, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range dialects {
			r, err := wire.Parse(d, text)
			if err != nil || len(r.Messages) == 0 || wire.Validate(d, text) != nil {
				continue // of another dialect
			}
			seen++
			if next, actions, err := repair.Repair(r, repair.Options{}); err != nil || next != r {
				t.Errorf("%s as %s: %+v, %v", filepath.Base(name), d, actions, err)
			}
		}
	}
	if seen < 4 {
		t.Errorf("only %d recorded requests were looked at", seen)
	}
}

// Qwen Code over Gemini: responses have ids that no call has.
func TestGeminiForeignIDs(t *testing.T) {
	const (
		call   = `{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}},{"functionCall":{"name":"ls","args":{}}}]}`
		first  = `{"functionResponse":{"id":"read-17-a","name":"read","response":{"output":"r"}}}`
		second = `{"functionResponse":{"id":"ls-17-b","name":"ls","response":{"output":"l"}}}`
		ask    = `{"role":"user","parts":[{"text":"x"}]}`
	)
	turn := func(parts string) string { return `{"role":"user","parts":[` + parts + `]}` }
	untouched(t, "as sent", wire.Gemini, ask+","+call+","+turn(first+","+second)+","+ask)
	repaired(t, "out of order", wire.Gemini, ask+","+call+","+turn(second+","+first)+","+ask, ask+","+call+","+turn(first+","+second)+","+ask, "moved moved")
	repaired(t, "in two contents", wire.Gemini, ask+","+call+","+turn(first)+","+turn(second)+","+ask, ask+","+call+","+turn(first+","+second)+","+ask, "moved")
	withIDs := strings.ReplaceAll(strings.ReplaceAll(call, `{"name":"read"`, `{"id":"c1","name":"read"`), `{"name":"ls"`, `{"id":"c2","name":"ls"`)
	untouched(t, "calls have other ids", wire.Gemini, ask+","+withIDs+","+turn(first+","+second)+","+ask)
	// With the calls' own ids the order is free.
	own := strings.NewReplacer("read-17-a", "c1", "ls-17-b", "c2")
	untouched(t, "own ids, any order", wire.Gemini, ask+","+withIDs+","+turn(own.Replace(second+","+first))+","+ask)
	// The function role of the first API, and one part where an array is meant.
	untouched(t, "function role", wire.Gemini, ask+`,{"role":"model","parts":{"functionCall":{"name":"read"}}},{"role":"function","parts":`+first+`}`)
}

// Claude Code: the system speaks in between, thinking with signatures, cache marks.
func TestMessagesAsClaudeSends(t *testing.T) {
	const (
		ask    = `{"role":"user","content":"x"}`
		think  = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
		call   = `{"role":"assistant","content":[` + think + `,{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]}`
		result = `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"r"}],"is_error":false,"cache_control":{"type":"ephemeral"}}`
		system = `{"role":"system","content":"be brief"}`
	)
	untouched(t, "system between turns", wire.Messages, ask+","+call+`,{"role":"user","content":[`+result+`]},`+system+","+ask)
	untouched(t, "system first", wire.Messages, system+","+ask)
	repaired(t, "system between call and result", wire.Messages,
		ask+","+call+","+system+`,{"role":"user","content":[`+result+`,{"type":"text","text":"w"}]}`,
		ask+","+call+`,{"role":"user","content":[`+result+`]},`+system+`,{"role":"user","content":[{"type":"text","text":"w"}]}`, "moved")
	repaired(t, "the model before the user, behind the system", wire.Messages,
		system+`,{"role":"assistant","content":"y"},`+ask,
		system+`,{"role":"user","content":"[The beginning of this conversation is not part of it any more.]"},{"role":"assistant","content":"y"},`+ask, "inserted")
}

func TestChatForms(t *testing.T) {
	const ask = `{"role":"user","content":"x"}`
	untouched(t, "legacy function_call", wire.Chat,
		ask+`,{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"r"},`+ask)
	untouched(t, "legacy without its result", wire.Chat, ask+`,{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},`+ask)
	repaired(t, "custom tools, empty calls", wire.Chat,
		ask+`,{"role":"assistant","tool_calls":[],"content":"y"},{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":"i"}}]},{"role":"developer","content":"d"},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]}`,
		ask+`,{"role":"assistant","content":"y"},{"role":"assistant","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"f","input":"i"}}]},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]},{"role":"developer","content":"d"}`,
		"emptied moved")
}

func TestResponsesForms(t *testing.T) {
	const (
		ask    = `{"role":"user","content":"x"}`
		screen = `{"type":"computer_call","call_id":"c1","action":{"type":"screenshot"}}`
		custom = `{"type":"custom_tool_call","call_id":"p1","name":"apply_patch","input":"*** Begin"}`
		shell  = `{"type":"local_shell_call","call_id":"s1","action":{"type":"exec","command":["ls"]},"status":"completed"}`
		think  = `{"type":"reasoning","summary":[],"encrypted_content":"x"}`
	)
	note := func(kind, id string) string {
		return `{"type":"` + kind + `","call_id":"` + id + `","output":"` + repair.Note + `"}`
	}
	repaired(t, "custom and shell calls", wire.Responses, ask+","+custom+","+ask+","+shell+","+ask,
		ask+","+custom+","+note("custom_tool_call_output", "p1")+","+ask+","+shell+","+note("function_call_output", "s1")+","+ask, "synthesised synthesised")
	repaired(t, "an output of another kind", wire.Responses, ask+","+custom+`,{"type":"function_call_output","call_id":"p1","output":"r"},`+ask,
		ask+","+custom+","+note("custom_tool_call_output", "p1")+","+ask, "synthesised duplicate")
	repaired(t, "a call for the screen can't have a text", wire.Responses, ask+","+think+","+screen+","+ask, ask+","+ask, "reasoning dropped")
	untouched(t, "an answered one", wire.Responses, ask+","+think+","+screen+`,{"type":"computer_call_output","call_id":"c1","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,AA"}},`+ask)
	untouched(t, "calls that run at the provider", wire.Responses, ask+","+think+`,{"type":"web_search_call","id":"ws_1","status":"completed"},`+ask)
	untouched(t, "a search by the provider", wire.Responses, ask+`,{"type":"tool_search_call","call_id":"q1","execution":"server","arguments":{}},`+ask)
	repaired(t, "a search by the client", wire.Responses, ask+`,{"type":"tool_search_call","call_id":"q1","execution":"client","arguments":{}},`+ask,
		ask+`,{"type":"tool_search_call","call_id":"q1","execution":"client","arguments":{}},{"type":"tool_search_output","call_id":"q1","status":"completed","execution":"client","tools":[]},`+ask, "synthesised")
	// Codex asks the provider to compact, which refuses what is not paired.
	repaired(t, "compaction", wire.Responses, ask+","+custom+`,{"type":"compaction_trigger"}`,
		ask+","+custom+","+note("custom_tool_call_output", "p1")+`,{"type":"compaction_trigger"}`, "synthesised")
	r := parse(t, wire.Responses, []byte(`{"previous_response_id":"resp_1","input":[{"type":"function_call_output","call_id":"c9","output":"r"}]}`))
	if next, actions, err := repair.Repair(r, repair.Options{}); err != nil || next != r || actions != nil {
		t.Errorf("calls that the provider keeps: %+v, %v", actions, err)
	}
	// An agent's own request for a summary has the same hole as the requests before it.
	own := list(wire.Messages, "u:x c:1 u:y") + `,{"role":"user","content":"Your task is to create a detailed summary of the conversation so far."}`
	r = parse(t, wire.Messages, body(wire.Messages, own))
	if next, actions, err := repair.Repair(r, repair.Options{}); r.Bypass != wire.Summarising || err != nil || next == r || kinds(actions) != "synthesised" {
		t.Errorf("own compaction (%s): %+v, %v", r.Bypass, actions, err)
	}
	plain := parse(t, wire.Responses, []byte(`{"input":"x"}`))
	if next, _, err := repair.Repair(plain, repair.Options{}); err != nil || next != plain {
		t.Errorf("an input that is one string: %v", err)
	}
}

func TestLongIDs(t *testing.T) {
	long, other := strings.Repeat("call.", 20)+"1", strings.Repeat("call.", 20)+"2"
	for _, d := range []wire.Dialect{wire.Chat, wire.Messages, wire.Responses} {
		in := body(d, list(d, "u:x c:"+long+","+other+" t:"+other+"=s,"+long+"=r u:y c:"+long+"_ u:z c:"+long+"_"))
		next, actions := fix(t, d, in, repair.Options{MaxID: repair.BedrockMaxID})
		if kinds(actions) != "renamed renamed renamed synthesised" {
			t.Errorf("%s: %q", d, kinds(actions))
		}
		ids := map[string]int{}
		for i := range next.Messages {
			for j := range next.Messages[i].Parts {
				if p := &next.Messages[i].Parts[j]; p.CallID != "" && i < len(next.Messages)-1 {
					ids[p.CallID]++
					if utf8.RuneCountInString(p.CallID) > repair.BedrockMaxID || !strings.HasPrefix(p.CallID, "call_call_") {
						t.Errorf("%s: id %q", d, p.CallID)
					}
				}
			}
		}
		if len(ids) != 3 {
			t.Errorf("%s: ids %v, want three with a result each", d, ids)
		}
		if last := next.Messages[len(next.Messages)-1].Parts[0]; last.CallID != long+"_" {
			t.Errorf("%s: the open call is %q", d, last.CallID)
		}
		if got := results(next); len(got) != 2 {
			t.Errorf("%s: %v", d, got)
		}
		again, _ := fix(t, d, in, repair.Options{MaxID: repair.BedrockMaxID})
		if string(again.Body) != string(next.Body) {
			t.Errorf("%s: not always the same", d)
		}
		if d == wire.Messages {
			closed := next.Draft()
			closed.DropMessages(len(next.Messages)-1, len(next.Messages))
			r, err := closed.Build()
			if err == nil {
				err = wire.ValidateBedrock(r.Body)
			}
			if err != nil {
				t.Error(err)
			}
		}
		small, _ := fix(t, d, in, repair.Options{MaxID: 1})
		for id := range results(small) {
			if len(id) > 24 {
				t.Errorf("%s: id %q", d, id)
			}
		}
	}
	// Without a limit Messages still takes only some characters; the others take all.
	for _, d := range dialects {
		if d == wire.Gemini {
			continue
		}
		next, actions := fix(t, d, body(d, list(d, "u:x c:fn.bash:0 t:fn.bash:0=r u:y")), repair.Options{})
		want := ""
		if d == wire.Messages {
			want = "renamed"
			valid(t, d, next, next.Body)
		}
		if kinds(actions) != want {
			t.Errorf("%s: %q, want %q", d, kinds(actions), want)
		}
	}
}

func TestActionsTellWhatWasLost(t *testing.T) {
	orphan := `{"role":"tool","tool_call_id":"nobody","content":"long ago"}`
	_, actions := fix(t, wire.Chat, body(wire.Chat, `{"role":"user","content":"x"},`+orphan), repair.Options{})
	if len(actions) != 1 || actions[0] != (repair.Action{Kind: repair.Dropped, Message: 1, CallID: "nobody", Bytes: len(orphan)}) {
		t.Errorf("%+v", actions)
	}
}

// session has so many calls with results of 3 KB.
func session(d wire.Dialect, calls int) []byte {
	var b strings.Builder
	for i := range calls {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26%26))
		b.WriteString(list(d, "u:go c:call_"+id+" t:call_"+id+"="+strings.Repeat("x", 2800)+" a:done") + ",")
	}
	return body(d, b.String()+list(d, "u:end"))
}

func BenchmarkInOrder(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.String(), func(b *testing.B) {
			r := parse(b, d, session(d, 100))
			b.SetBytes(int64(len(r.Body)))
			b.ReportAllocs()
			for b.Loop() {
				if next, _, err := repair.Repair(r, repair.Options{}); err != nil || next != r {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRepair(b *testing.B) {
	for _, d := range dialects {
		b.Run(d.String(), func(b *testing.B) {
			text, _, _ := transcripts.Broken(d, 7)
			r := parse(b, d, text)
			for b.Loop() {
				if _, _, err := repair.Repair(r, repair.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
