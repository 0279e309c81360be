package mend_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/window/wire"
)

func TestLearn(t *testing.T) {
	for words, check := range map[string]func(mend.Options) bool{
		"messages: text content blocks must contain non-whitespace text":                                 func(o mend.Options) bool { return o.NoBlank },
		"This model does not support assistant message prefill.":                                         func(o mend.Options) bool { return o.NoPrefill },
		"Could not process image":                                                                        func(o mend.Options) bool { return o.Decode },
		"Too much media: 0 document pages + 120 images > 100":                                            func(o mend.Options) bool { return o.MaxImages == 100 },
		"Too many images in request: 11 images provided, but the model supports a maximum of 10 images.": func(o mend.Options) bool { return o.MaxImages == 10 },
		"At most 5 image(s) may be provided in one request.":                                             func(o mend.Options) bool { return o.MaxImages == 5 },
		"At most 0 image(s) may be provided in one request.":                                             func(o mend.Options) bool { return o.NoImages && o.MaxImages == 0 },
		"Unexpected role 'system' after role 'assistant'":                                                func(o mend.Options) bool { return o.SystemFirst },
		"messages.6.assistant.tool_calls.0.name: extra inputs are not permitted\nmessages.6.assistant.reasoning_content: extra inputs are not permitted\nmessages.8.user.name: extra inputs are not permitted": func(o mend.Options) bool { return slices.Equal(o.NoFields, []string{"assistant.reasoning_content"}) },
		"Unexpected item type in content.": func(o mend.Options) bool { return o.NoReferences },
		"Too many images":                  func(o mend.Options) bool { return o.MaxImages == 100 },
		"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant": func(o mend.Options) bool { return o.NoPrefill },
	} {
		o, ok := mend.Learn(mend.Options{}, words)
		if !ok || !check(o) {
			t.Errorf("%q taught %+v, %v", words, o, ok)
		}
		if _, again := mend.Learn(o, words); again {
			t.Errorf("%q teaches the same twice: it would be tried in a loop", words)
		}
	}
	if _, ok := mend.Learn(mend.Options{}, "Overloaded"); ok {
		t.Error("an overloaded provider teaches nothing")
	}
	o, _ := mend.Learn(mend.Options{}, "non-whitespace text")
	next, _ := fix(t, wire.Messages, messages(hello, `{"role":"assistant","content":[{"type":"text","text":"\n"},{"type":"tool_use","id":"t1","name":"sh","input":{}}]}`, returned(`"x"`)), o)
	if string(next.Body) != messages(hello, using, returned(`"x"`)) {
		t.Errorf("gave %s", next.Body)
	}
}

// A message of the system stays where it stands, and gets a role that is taken.
func TestRolesThatAreRefused(t *testing.T) {
	as := func(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }
	first, none, developer := mend.Options{SystemFirst: true}, mend.Options{NoSystem: true}, mend.Options{NoDeveloper: true}
	both := mend.Options{SystemFirst: true, NoDeveloper: true}
	prompt := `{"system":"s",` + messages(hello)[1:]
	for _, c := range []struct {
		name          string
		d             wire.Dialect
		o             mend.Options
		before, after string // after is "" for what stays
	}{
		{"the first", wire.Chat, first, chat("m", as("system", "s"), hello, said, then), ""},
		{"a second", wire.Chat, first, chat("m", as("system", "s"), as("system", "t"), hello), chat("m", as("system", "s"), as("user", "t"), hello)},
		{"one among others", wire.Chat, first, chat("m", hello, said, as("system", "s"), then), chat("m", hello, said, as("user", "s"), then)},
		{"blocks", wire.Chat, first, chat("m", hello, said, `{"content":[{"type":"text","text":"s"}],"role":"system"}`), chat("m", hello, said, `{"content":[{"type":"text","text":"s"}],"role":"user"}`)},
		{"a developer among others", wire.Chat, first, chat("m", as("developer", "s"), hello, as("developer", "t")), chat("m", as("developer", "s"), hello, as("user", "t"))},
		{"no developer", wire.Chat, developer, chat("m", as("developer", "s"), hello, as("developer", "t")), chat("m", as("system", "s"), hello, as("system", "t"))},
		{"both", wire.Chat, both, chat("m", as("developer", "s"), hello, as("developer", "t")), chat("m", as("system", "s"), hello, as("user", "t"))},
		{"in Messages", wire.Messages, first, messages(hello, said, then, as("system", "s")), messages(hello, said, then, as("user", "s"))},
		{"in Messages, beside a prompt", wire.Messages, first, strings.Replace(prompt, hello, as("system", "t")+","+hello, 1), strings.Replace(prompt, hello, as("user", "t")+","+hello, 1)},
		{"none in Messages", wire.Messages, none, messages(as("system", "s"), hello), messages(as("user", "s"), hello)},
		{"in Responses", wire.Responses, first, `{"instructions":"s",` + input(as("developer", "t"), hello)[1:], `{"instructions":"s",` + input(as("user", "t"), hello)[1:]},
		{"tools in the input", wire.Responses, first, input(hello, `{"type":"additional_tools","tools":[]}`, then), ""},
		{"one that was sent before", wire.Chat, mend.Options{SystemFirst: true, From: 4}, chat("m", hello, said, as("system", "s"), then), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, actions := fix(t, c.d, c.before, c.o)
			if _, before := mend.First(actions); before != (c.o.From > 0) {
				t.Errorf("a message that was sent before has to change: %v", before)
			}
			if want := cmp.Or(c.after, c.before); string(next.Body) != want {
				t.Errorf("%v\ngave %s\nwant %s", actions, next.Body, want)
			}
		})
	}
}

// Where a result may not refer to a tool, a line names it, with the mark that the reference had; what may be referred to stays.
func TestReferencesToTools(t *testing.T) {
	mark := `,"cache_control":{"type":"ephemeral"}`
	body := func(tools string, blocks ...string) string {
		return `{"tools":[` + tools + `],` + messages(hello, using, returned(`[`+strings.Join(blocks, ",")+`]`))[1:]
	}
	refer := func(name, more string) string {
		return fmt.Sprintf(`{"type":"tool_reference","tool_name":%q%s}`, name, more)
	}
	line := func(name, more string) string {
		return fmt.Sprintf(`{"type":"text","text":"[The tool %s was found.]"%s}`, name, more)
	}
	word, sh := `{"type":"text","text":"x"}`, `{"name":"a","input_schema":{"type":"object"}}`
	for _, c := range []struct {
		name          string
		o             mend.Options
		before, after string
	}{
		{"any", mend.Options{NoReferences: true}, body(sh, word, refer("a", ""), refer("b", mark)), body(sh, word, line("a", ""), line("b", mark))},
		{"no name", mend.Options{NoReferences: true}, body("", `{"type":"tool_reference"}`), body("", line("(none)", ""))},
		{"one that is lost", mend.Options{NoLostTools: true}, body(sh, refer("a", ""), refer("b", "")), body(sh, refer("a", ""), line("b", ""))},
		{"beside a set of tools", mend.Options{NoLostTools: true}, body(sh+`,{"type":"mcp_toolset","mcp_server_name":"m"}`, refer("b", "")), ""},
		{"sent before", mend.Options{NoReferences: true, From: 3}, body(sh, refer("b", "")), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, actions := fix(t, wire.Messages, c.before, c.o)
			if want := cmp.Or(c.after, c.before); string(next.Body) != want {
				t.Errorf("%v\ngave %s\nwant %s", actions, next.Body, want)
			}
		})
	}
}
