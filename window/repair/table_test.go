package repair_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Lists are written in a short form: each word is a message (a content, an item).
//
//	u:x          the user says x            s:x  the system says x
//	a:x          the model says x
//	c:1,2        the model calls 1 and 2    c!1  the same, with words first
//	t:1=x        a tool message, user message or content with the result x of 1
//	t:1=x,2=y    two of them; t:1=x,-z with the words z behind, t:-z,1=x before
//	n:1          as t, with the note
//	r            Responses: a reasoning item
//
// In Responses each call and result is an item of its own.
func list(d wire.Dialect, text string) string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		out = append(out, message(d, word)...)
	}
	return strings.Join(out, ",")
}

func message(d wire.Dialect, word string) []string {
	kind, rest := word[:1], strings.TrimLeft(word[1:], ":")
	switch kind {
	case "u":
		return []string{string(wire.TextMessage(d, wire.RoleUser, rest))}
	case "s":
		return []string{string(wire.TextMessage(d, wire.RoleSystem, rest))}
	case "a":
		return []string{string(wire.TextMessage(d, wire.RoleAssistant, rest))}
	case "r":
		return []string{`{"type":"reasoning","summary":[],"encrypted_content":"xyz` + rest + `"}`}
	case "c":
		talk := strings.HasPrefix(rest, "!")
		return calls(d, strings.Split(strings.TrimPrefix(rest, "!"), ","), talk)
	}
	var parts []string
	for one := range strings.SplitSeq(rest, ",") {
		if said, ok := strings.CutPrefix(one, "-"); ok {
			parts = append(parts, string(wire.TextElement(d, wire.RoleUser, said)))
			continue
		}
		id, value, _ := strings.Cut(one, "=")
		if kind == "n" {
			value = repair.Note
		}
		part := wire.Part{CallID: id, Name: "tool_" + id, Type: "function_call"}
		if d == wire.Gemini {
			part.CallID, part.Name = "", id
		}
		parts = append(parts, string(wire.ResultElement(d, part, value, kind == "n")))
	}
	switch d {
	case wire.Messages, wire.Converse:
		return []string{`{"role":"user","content":[` + strings.Join(parts, ",") + `]}`}
	case wire.Gemini:
		return []string{`{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`}
	}
	return parts
}

func calls(d wire.Dialect, ids []string, talk bool) []string {
	var parts []string
	for _, id := range ids {
		name, _, _ := strings.Cut(id, "_")
		switch d {
		case wire.Chat:
			parts = append(parts, `{"id":"`+id+`","type":"function","function":{"name":"tool_`+name+`","arguments":"{}"}}`)
		case wire.Responses:
			parts = append(parts, `{"type":"function_call","call_id":"`+id+`","name":"tool_`+name+`","arguments":"{}"}`)
		case wire.Messages:
			parts = append(parts, `{"type":"tool_use","id":"`+id+`","name":"tool_`+name+`","input":{}}`)
		case wire.Converse:
			parts = append(parts, `{"toolUse":{"toolUseId":"`+id+`","name":"tool_`+name+`","input":{}}}`)
		case wire.Gemini:
			parts = append(parts, `{"functionCall":{"name":"`+id+`","args":{}}}`)
		}
	}
	all := strings.Join(parts, ",")
	switch d {
	case wire.Chat:
		content := "null"
		if talk {
			content = `"so"`
		}
		return []string{`{"role":"assistant","content":` + content + `,"tool_calls":[` + all + `]}`}
	case wire.Messages:
		if talk {
			all = `{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"text","text":"so"},` + all
		}
		return []string{`{"role":"assistant","content":[` + all + `]}`}
	case wire.Converse:
		if talk {
			all = `{"reasoningContent":{"reasoningText":{"text":"hm","signature":"sig"}}},{"text":"so"},` + all
		}
		return []string{`{"role":"assistant","content":[` + all + `]}`}
	case wire.Gemini:
		if talk {
			all = `{"text":"so"},` + all
		}
		return []string{`{"role":"model","parts":[` + all + `]}`}
	}
	return parts
}

// A case holds for the dialects that are named, by their first letters: c, r, m, g.
var cases = []struct {
	what, in      string
	before, after string
	actions       string
}{
	{"nothing to do", "crmg", "u:x c:1 t:1=r a:y u:z", "u:x c:1 t:1=r a:y u:z", ""},
	{"parallel calls", "crmg", "u:x c!1,2 t:1=r,2=s a:y", "u:x c!1,2 t:1=r,2=s a:y", ""},
	{"in another order", "crm", "u:x c:1,2 t:2=s,1=r a:y", "u:x c:1,2 t:2=s,1=r a:y", ""},
	{"Gemini goes by order", "g", "u:x c:1,2 t:2=s,1=r a:y", "u:x c:1,2 t:1=r,2=s a:y", "moved moved"},
	{"names alike keep their order", "g", "u:x c:1,1 t:1=s,1=r a:y", "u:x c:1,1 t:1=s,1=r a:y", ""},

	{"a missing result", "crmg", "u:x c:1 u:y", "u:x c:1 n:1 u:y", "synthesised"},
	{"one of two missing", "crmg", "u:x c:1,2 t:1=r u:y", "u:x c:1,2 t:1=r n:2 u:y", "synthesised"},
	{"the other missing", "crm", "u:x c:1,2 t:2=r u:y", "u:x c:1,2 t:2=r n:1 u:y", "synthesised"},
	{"the first missing", "g", "u:x c:1,2 t:2=r u:y", "u:x c:1,2 n:1 t:2=r u:y", "synthesised"},
	{"both missing", "crmg", "u:x c:1,2 u:y", "u:x c:1,2 n:1,2 u:y", "synthesised synthesised"},
	{"before words of the model", "crmg", "u:x c:1 a:y u:z", "u:x c:1 n:1 a:y u:z", "synthesised"},

	{"the open last turn", "crmg", "u:x c:1", "u:x c:1", ""},
	{"the open last turn, two calls", "crmg", "u:x c!1,2", "u:x c!1,2", ""},
	{"a result has come: no longer open", "crmg", "u:x c:1,2 t:1=r", "u:x c:1,2 t:1=r n:2", "synthesised"},
	{"an earlier hole, and open", "crmg", "u:x c:1 u:y c:2", "u:x c:1 n:1 u:y c:2", "synthesised"},
	{"calls in a row, then the end", "r", "u:x r c:1 a:y", "u:x r c:1 a:y", ""},

	{"a result without a call", "crmg", "u:x t:1=r u:y", "u:x u:y", "dropped"},
	{"words beside it stay", "mg", "u:x t:1=r,-w u:y", "u:x t:-w u:y", "dropped"},
	{"the beginning was cut off", "crg", "t:1=r a:y u:z", "a:y u:z", "dropped"},
	{"the beginning was cut off", "m", "t:1=r a:y u:z", "u:@beginning a:y u:z", "dropped inserted"},
	{"nothing is left", "crmg", "t:1=r", "u:@orphans", "dropped inserted"},
	{"calls first", "g", "c:1 t:1=r a:y", "u:@beginning c:1 t:1=r a:y", "inserted"},
	{"calls after the model's words", "g", "u:x a:y c:1 t:1=r a:z", "u:x a:y u:@between c:1 t:1=r a:z", "inserted"},

	{"a late result", "cmg", "u:x c:1 u:y t:1=r a:z", "u:x c:1 t:1=r u:y a:z", "moved"},
	{"a late result may be late", "r", "u:x c:1 u:y t:1=r a:z", "u:x c:1 u:y t:1=r a:z", ""},
	{"a very late one", "cmg", "u:x c:1 a:y u:z c:2 t:2=s t:1=r a:w", "u:x c:1 t:1=r a:y u:z c:2 t:2=s a:w", "moved"},
	{"behind the system's words", "cm", "u:x c:1 s:y t:1=r a:z", "u:x c:1 t:1=r s:y a:z", "moved"},
	{"a late one beside words", "mg", "u:x c:1 u:y t:1=r,-w a:z", "u:x c:1 t:1=r u:y t:-w a:z", "moved"},
	{"an early result", "crm", "u:x t:1=r c:1 a:z u:w", "u:x c:1 t:1=r a:z u:w", "moved"},
	{"an early result is not the open call's", "crm", "u:x t:1=r u:y c:1", "u:x u:y c:1", "dropped"},
	{"half late", "cm", "u:x c:1,2 t:2=s u:y t:1=r a:z", "u:x c:1,2 t:2=s t:1=r u:y a:z", "moved"},
	{"crossed over", "cm", "u:x c:1 t:2=s c:2 t:1=r a:z", "u:x c:1 t:1=r c:2 t:2=s a:z", "moved moved"},

	{"a second result", "crm", "u:x c:1 t:1=r,1=r a:y", "u:x c:1 t:1=r a:y", "duplicate"},
	{"a second result that says more", "crm", "u:x c:1 t:1=r,1=q a:y", "u:x c:1 t:1=r@nq a:y", "joined"},
	{"a third and a fourth", "cr", "u:x c:1 t:1=r,1=q,1=r a:y u:z t:1=p a:w", "u:x c:1 t:1=r@nq@np a:y u:z a:w", "joined duplicate joined"},
	{"a first one that has to move", "cm", "u:x c:1 u:y t:1=r,1=q a:z", "u:x c:1 t:1=r@nq u:y a:z", "moved joined"},
	{"a second result", "g", "u:x c:1 t:1=r,1=q a:y", "u:x c:1 t:1=r a:y", "dropped"},
	{"a second result, late", "crm", "u:x c:1 t:1=r a:y u:z t:1=r a:w", "u:x c:1 t:1=r a:y u:z a:w", "duplicate"},
	{"a second result, late, that says more", "crm", "u:x c:1 t:1=r a:y u:z t:1=q a:w", "u:x c:1 t:1=r@nq a:y u:z a:w", "joined"},
	{"whose second result, nobody knows", "c", "u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w t:1=q u:v", "u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w u:v", "duplicate"},
	{"an id again", "cr", "u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w", "u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w", ""},
	{"an id again", "m", "u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w", "u:x c:1 t:1=r a:y u:z c:1_2 t:1_2=s a:w", "renamed"},
	{"an id again, the first unanswered", "c", "u:x c:1 u:z c:1 t:1=s a:w", "u:x c:1 n:1 u:z c:1 t:1=s a:w", "synthesised"},
	{"an id again, the first unanswered", "r", "u:x c:1 u:z c:1 t:1=s a:w", "u:x c:1 n:1 u:z c:1 t:1=s a:w", "synthesised"},
	{"an id again, the second unanswered", "c", "u:x c:1 t:1=s u:z c:1 u:w", "u:x c:1 t:1=s u:z c:1 n:1 u:w", "synthesised"},
	{"an id three times", "m", "u:x c:1 t:1=r c:1 t:1=s c:1 t:1=t a:w", "u:x c:1 t:1=r c:1_2 t:1_2=s c:1_3 t:1_3=t a:w", "renamed renamed"},
	{"a number that is taken", "m", "u:x c:1 t:1=r c:1_2 t:1_2=s c:1 t:1=t a:w", "u:x c:1 t:1=r c:1_2 t:1_2=s c:1_3 t:1_3=t a:w", "renamed"},
	{"a copy of a call", "crm", "u:x c:1,1 t:1=r a:y", "u:x c:1 t:1=r a:y", "duplicate"},
	{"a call twice, with two results", "cmr", "u:x c:1,1 t:1=r,1=s a:y", "u:x c:1,1_2 t:1=r,1_2=s a:y", "renamed"},

	{"results behind words", "m", "u:x c:1 t:-w,1=r a:y", "u:x c:1 t:1=r,-w a:y", "moved"},
	{"some results behind words", "m", "u:x c:1,2 t:2=s,-w,1=r a:y", "u:x c:1,2 t:2=s,1=r,-w a:y", "moved"},
	{"results in two messages", "m", "u:x c:1,2 t:1=r t:2=s a:y", "u:x c:1,2 t:1=r,2=s a:y", "moved"},
	{"results in two contents", "g", "u:x c:1,2 t:1=r t:2=s a:y", "u:x c:1,2 t:1=r,2=s a:y", "moved"},
	{"thoughts are not touched", "m", "u:x c!1 u:y", "u:x c!1 n:1 u:y", "synthesised"},

	{"thoughts that led to nothing", "r", "u:x r u:y", "u:x u:y", "reasoning"},
	{"two of them", "r", "u:x r:1 r:2 u:y", "u:x u:y", "reasoning reasoning"},
	{"at the end they are open", "r", "u:x r", "u:x r", ""},
	{"thoughts before a call", "r", "u:x r c:1 u:y", "u:x r c:1 n:1 u:y", "synthesised"},
	{"thoughts before an orphan", "r", "u:x r t:1=r", "u:x r", "dropped"},
}

func TestRules(t *testing.T) {
	letters := map[wire.Dialect]string{wire.Chat: "c", wire.Responses: "r", wire.Messages: "m", wire.Gemini: "g", wire.Converse: "m"}
	markers := strings.NewReplacer(
		"@n", `\n`,
		"@beginning", "[The beginning of this conversation is not part of it any more.]",
		"@between", "[No message of the user was recorded here.]",
		"@orphans", "[Only results of tools that belonged to no call were here.]")
	for _, c := range cases {
		for _, d := range dialects {
			if !strings.Contains(c.in, letters[d]) {
				continue
			}
			in := body(d, list(d, c.before))
			// Notes behind results of the same message are of that message.
			after := c.after
			if d.Rules().Results.Together() {
				after = joinNotes(after)
			}
			want := markers.Replace(string(body(d, expand(d, after))))
			next, actions := fix(t, d, in, repair.Options{})
			if got := compact(t, next.Body); got != compact(t, []byte(want)) {
				t.Errorf("%s: %s\n got %s\nwant %s", d, c.what, got, want)
			}
			if kinds(actions) != c.actions {
				t.Errorf("%s: %s: %q, want %q", d, c.what, kinds(actions), c.actions)
			}
			valid(t, d, next, in)
		}
	}
}

// Where an id may be used once in a history, later calls get another, and so do their results.
func TestUniqueIDs(t *testing.T) {
	o := repair.Options{UniqueIDs: true}
	for _, d := range []wire.Dialect{wire.Chat, wire.Responses} {
		for before, after := range map[string]string{
			"u:x c:1 t:1=r a:y u:z c:2 t:2=s a:w":           "u:x c:1 t:1=r a:y u:z c:2 t:2=s a:w",
			"u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w":           "u:x c:1 t:1=r a:y u:z c:1_2 t:1_2=s a:w",
			"u:x c:1,2 t:1=r,2=s c:2,1 t:2=t,1=u a:w":       "u:x c:1,2 t:1=r,2=s c:2_2,1_2 t:2_2=t,1_2=u a:w",
			"u:x c:1 t:1=r c:1 t:1=s c:1_2 t:1_2=t c:1 u:y": "u:x c:1 t:1=r c:1_3 t:1_3=s c:1_2 t:1_2=t c:1_4 n:1_4 u:y",
		} {
			in := body(d, list(d, before))
			next, _ := fix(t, d, in, o)
			if want := body(d, list(d, after)); compact(t, next.Body) != compact(t, want) {
				t.Errorf("%s: %s\n got %s\nwant %s", d, before, next.Body, want)
			}
			valid(t, d, next, in)
			if _, actions := fix(t, d, body(d, list(d, "u:x c:1 t:1=r a:y u:z c:1 t:1=s a:w")), repair.Options{}); len(actions) > 0 {
				t.Errorf("%s: without a refusal %v", d, actions)
			}
		}
	}
}

// joinNotes writes "t:1=r n:2" as one message, "+" between.
func joinNotes(text string) string {
	words := strings.Fields(text)
	var out []string
	for _, w := range words {
		if n := len(out); n > 0 && isResult(w) && isResult(out[n-1]) {
			out[n-1] += "+" + w
			continue
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func isResult(word string) bool {
	return strings.HasPrefix(word, "t:") && !strings.HasPrefix(word, "t:-") || strings.HasPrefix(word, "n:")
}

// expand is list, with messages whose parts are joined by "+".
func expand(d wire.Dialect, text string) string {
	var out []string
	for word := range strings.FieldsSeq(text) {
		pieces := strings.Split(word, "+")
		if len(pieces) == 1 {
			out = append(out, list(d, word))
			continue
		}
		var parts []string
		head := ""
		for _, piece := range pieces {
			one := list(d, piece)
			at := strings.IndexByte(one, '[') + 1
			head = one[:at]
			parts = append(parts, one[at:len(one)-2])
		}
		out = append(out, head+strings.Join(parts, ",")+"]}")
	}
	return strings.Join(out, ",")
}
