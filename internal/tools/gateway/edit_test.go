package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
)

const listing = `{"tools":[
 {"name":"zeta", "x": 1.50, "inputSchema":{"type":"object"}, "outputSchema":{"type":"object"},"é":"\u00e9"},
 {"outputSchema":{},"name":"list_pods","description":"List <all>","inputSchema":{"type":"object","properties":{ "ns":{} } },"annotations":{"readOnlyHint":true}},
 {"name":"delete_pod","annotations":{"readOnlyHint":false}},
 {"name":"alpha","annotations":{"readOnlyHint":true}}
],"nextCursor":"c","ttlMs":5}`

func editedText(t *testing.T, s Settings, added ...string) string {
	t.Helper()
	tools, next, err := parseTools([]byte(listing))
	if err != nil || next != "c" {
		t.Fatalf("next %q, %v", next, err)
	}
	var raw [][]byte
	for _, a := range added {
		raw = append(raw, []byte(a))
	}
	return string(editList(tools, &s, raw, false, nil).array)
}

func TestListsAreEditedAsBytes(t *testing.T) {
	alpha, deletes := `{"name":"alpha","annotations":{"readOnlyHint":true}}`, `{"name":"delete_pod","annotations":{"readOnlyHint":false}}`
	pods := `{"name":"list_pods","description":"List <all>","inputSchema":{"type":"object","properties":{ "ns":{} } },"annotations":{"readOnlyHint":true}}`
	zeta := `{"name":"zeta", "x": 1.50, "inputSchema":{"type":"object"}, "outputSchema":{"type":"object"},"é":"\u00e9"}`
	podsKept := `{"outputSchema":{},` + pods[1:]
	join := func(parts ...string) string { return "[" + strings.Join(parts, ",") + "]" }
	for name, c := range map[string]struct {
		set   Settings
		added []string
		want  string
	}{
		"plain":     {Settings{}, nil, join(zeta, pods, deletes, alpha)},
		"added":     {Settings{}, []string{`{"name":"a"}`}, join(zeta, pods, deletes, alpha, `{"name":"a"}`)},
		"uncapped":  {Settings{Limits: Limits{Cap: -1, MaxItems: -1}}, nil, join(zeta, podsKept, deletes, alpha)},
		"read only": {Settings{ReadOnly: true}, nil, join(pods, alpha)},
		"denied":    {Settings{Deny: []string{"*pod*"}}, nil, join(zeta, alpha)},
		"allowed":   {Settings{Allow: []string{"*pod*"}, Deny: []string{"delete_*"}}, []string{`{"name":"a"}`}, join(pods, `{"name":"a"}`)},
		"none":      {Settings{Allow: []string{"nothing"}}, []string{`{"name":"a"}`}, join(`{"name":"a"}`)},
	} {
		if got := editedText(t, c.set, c.added...); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func TestTheListGoesIntoTheServersOwnAnswer(t *testing.T) {
	message := `{"jsonrpc":"2.0", "id" : 7,"result":` + listing + `,"z":null}`
	head, err := jsonrpc.Scan([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	for cursor, end := range map[string]string{"": `"ttlMs":5`, "d": `"nextCursor":"d","ttlMs":5`} {
		got, err := listResponse([]byte(message), head.Result, []byte(`[]`), cursor, false)
		if want := `{"jsonrpc":"2.0", "id" : 7,"result":{"tools":[],` + end + `},"z":null}`; err != nil || string(got) != want {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
	got, err := listResponse([]byte(message), head.Result, []byte(`[]`), "", true)
	if err != nil || !strings.Contains(string(got), `"ttlMs":5,"resultType":"complete","cacheScope":"private"}`) {
		t.Errorf("%v %s", err, got)
	}
}

func TestPatternsOfNames(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true},
		{"*", "a/b", true},
		{"a*", "abc", true},
		{"a*", "ba", false},
		{"*a", "aaa", true},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "axxbyy", false},
		{"abc", "abc", true},
		{"abc", "abcd", false},
		{"", "", true},
		{"", "a", false},
		{"[a]", "a", false},
		{"[a]", "[a]", true},
		{"a?", "ab", false},
		{"**x", "x", true},
		{strings.Repeat("*a", 40), strings.Repeat("a", 39), false},
	} {
		if got := matchGlob(c.pattern, c.name); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.name, got)
		}
	}
}

func TestProfilesByTheNamesThatClientsGive(t *testing.T) {
	for name, want := range map[string]limit.Bytes{
		"Visual Studio Code": 8192, "Visual Studio Code - Insiders": 8192, "codex-mcp-client": 10000, "gemini-cli-mcp-client": 40000,
		"gemini-cli-mcp-client-github": 40000, "claude-code": 50000, "claude-ai": 50000, "claude-ai (via mcp-remote 0.1.37)": 50000,
		"cursor-vscode": result.DefaultMaxText, "Cursor": result.DefaultMaxText, "goose-cli": 50000, "goose-desktop": 50000, "opencode": 50000,
		"Cline": result.DefaultMaxText, "mcp-inspector": 50000, "inspector-client": 50000, "": result.DefaultMaxText,
		"something else": result.DefaultMaxText, strings.Repeat("claude-code", 1000): result.DefaultMaxText,
	} {
		if got := ProfileOf(name); got.Cap != want {
			t.Errorf("%.40s: %d, want %d", name, got.Cap, want)
		}
	}
}

// A model chooses by these texts alone.
func TestDescriptionsSayWhatAModelNeeds(t *testing.T) {
	for _, n := range []result.Names{result.DefaultNames, namesFor(func(name string) bool { return name == "result_query" })} {
		texts := map[string]string{}
		for _, raw := range addedTools(n) {
			var tool struct {
				Name, Title, Description string
				InputSchema              struct {
					Properties map[string]struct{ Description string }
					Required   []string
				}
				Annotations struct{ ReadOnlyHint bool }
			}
			if err := json.Unmarshal(raw, &tool); err != nil {
				t.Fatalf("%v: %s", err, raw)
			}
			if len(tool.Description) > MaxDescription {
				t.Errorf("%s has a description of %d bytes, more than %d", tool.Name, len(tool.Description), MaxDescription)
			}
			if !tool.Annotations.ReadOnlyHint || tool.InputSchema.Required[0] != "handle" {
				t.Errorf("%s: %+v", tool.Name, tool)
			}
			example := regexp.MustCompile(`\{"handle".*\}`).FindString(tool.Description)
			var arguments map[string]any
			if err := json.Unmarshal([]byte(example), &arguments); err != nil {
				t.Errorf("%s: the example %q is no JSON: %v", tool.Name, example, err)
			}
			for key := range arguments {
				if _, ok := tool.InputSchema.Properties[key]; !ok {
					t.Errorf("%s: the example has %s, which is no argument", tool.Name, key)
				}
			}
			texts[tool.Name] = tool.Description
		}
		for tool, needs := range map[string][]string{
			n.Page:   {"large tool result", "handle comes from", "notice", n.Search + " first"},
			n.Search: {"before reading pages", "1000", "regular expression", "handle comes from", "narrow", n.Page},
			n.Query:  {"jq", "JSON", "handle comes from", "for plain text use " + n.Search, "count", "select("},
		} {
			for _, need := range needs {
				if !strings.Contains(texts[tool], need) {
					t.Errorf("%s does not say %q: %s", tool, need, texts[tool])
				}
			}
		}
	}
}

func TestValuesAreComparedByWhatTheySay(t *testing.T) {
	same := func(a, b string) bool {
		x, ok := canonical(nil, []byte(a), 0)
		y, also := canonical(nil, []byte(b), 0)
		return ok && also && bytes.Equal(x, y)
	}
	base := `{"name":"t","arguments":{"a":1,"b":[1,{"c":"é"}]}}`
	for _, b := range []string{
		`{ "arguments":{"b":[1, {"c":"\u00e9"}],"a":1},"name":"t"}`,
	} {
		if !same(base, b) {
			t.Errorf("%s is another value", b)
		}
	}
	for _, b := range []string{
		`{"name":"t","arguments":{"a":1.0,"b":[1,{"c":"é"}]}}`, `{"name":"t","arguments":{"a":"1","b":[1,{"c":"é"}]}}`,
		`{"name":"t","arguments":{"a":1,"b":[{"c":"é"},1]}}`, `{"name":"u","arguments":{"a":1,"b":[1,{"c":"é"}]}}`,
		`{"name":"t","arguments":{"a":1,"b":[1,{"c":"é"}]},"inputResponses":{}}`, `{"name":"t","arguments":{"a":1,"a":1,"b":[1,{"c":"é"}]}}`,
	} {
		if same(base, b) {
			t.Errorf("%s is the same value", b)
		}
	}
	deep := `{"name":"t","arguments":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`
	if _, ok := canonical(nil, []byte(deep), 0); ok {
		t.Error("a value nested without bound is compared")
	}
}

func TestResourceTemplatesFit(t *testing.T) {
	var m resourceMap
	m.addEntry([]byte(`{"uri":"a://1"}`), 0)
	m.addEntry([]byte(`{"uriTemplate":"a://{x}"}`), 1)
	m.addEntry([]byte(`{"uriTemplate":"a://deep/{x}/end"}`), 2)
	for uri, want := range map[string]int{"a://1": 0, "a://2": 1, "a://deep/y/end": 2, "a://deep/y": 1} {
		if got, ok := m.find(uri); !ok || got != want {
			t.Errorf("%s: %d %v", uri, got, ok)
		}
	}
	if _, ok := m.find("b://1"); ok {
		t.Error("what nobody has was found")
	}
	for i := range maxPaths + 100 {
		m.addEntry(fmt.Appendf(nil, `{"uri":"a://%d"}`, i), 0)
		m.addEntry(fmt.Appendf(nil, `{"uriTemplate":"a://%d/{x}"}`, i), 0)
	}
	if len(m.by) > maxPaths || len(m.templates) > maxTemplates {
		t.Errorf("%d resources and %d templates are remembered", len(m.by), len(m.templates))
	}
}

// FuzzEdit holds that a list that is JSON stays JSON, that tools nobody edits keep their
// bytes, and that nothing that is not allowed is left in it.
func FuzzEdit(f *testing.F) {
	f.Add([]byte(listing), true, "*pod*")
	f.Add([]byte(`{"tools":[{"name":"a","inputSchema":{"properties":{}}},[],1,"x",{"name":1},{}]}`), true, "a")
	f.Add([]byte(`{"tools":[{"name":"list_a","annotations":{"readOnlyHint":true},"outputSchema":1,"inputSchema":{"type":"object"}}]}`), true, "")
	f.Add([]byte(`{"tools":[{"name":"a","outputSchema":{"type":"object","required":["a"],"oneOf":[{"additionalProperties":false,"patternProperties":{"x":{"minItems":1}}}],"$defs":{"x":{"not":{}}}}}]}`), false, "b*")
	f.Add([]byte(`{"tools":[{"outputSchema":1,"outputSchema":2,"name":"a"}],"tools":[]}`), false, "b*")
	f.Fuzz(func(t *testing.T, page []byte, added bool, deny string) {
		tools, _, err := parseTools(page)
		if err != nil {
			return
		}
		s := Settings{Deny: []string{deny}}
		var ours [][]byte
		if added {
			ours = addedTools(result.DefaultNames)
		}
		got := editList(tools, &s, ours, false, nil).array
		if !json.Valid(page) {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%s became %s", page, got)
		}
		var list []json.RawMessage
		if err := json.Unmarshal(got, &list); err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools {
			plain := !bytes.Contains(tool.raw, []byte("Schema")) && !bytes.Contains(tool.raw, []byte(`\u`))
			if shown := bytes.Contains(got, tool.raw); plain && s.allows(tool.name) && tool.name != "" && !shown {
				t.Fatalf("%s is not in %s", tool.raw, got)
			}
		}
		for i, raw := range list[:len(list)-len(ours)] {
			var v struct{ Name string }
			if json.Unmarshal(raw, &v) == nil && v.Name != "" && matchGlob(deny, v.Name) && !strings.Contains(string(raw), `"NAME`) && exactName(raw, v.Name) {
				t.Fatalf("tool %d, %s, is denied", i, raw)
			}
		}
		traits := traitsOf(tools, &s)
		if len(traits) > len(tools) {
			t.Fatal("more is remembered than there was")
		}
	})
}

// exactName says that a tool has its name under that very key: encoding/json also takes
// keys in other cases.
func exactName(raw []byte, name string) bool {
	var m map[string]json.RawMessage
	var got string
	return json.Unmarshal(raw, &m) == nil && json.Unmarshal(m["name"], &got) == nil && got == name
}

// FuzzArguments holds that whatever a model writes is read or refused with words.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"handle":"r_x","page":"2","page_size":2.0,"refresh":"true"}`))
	f.Add([]byte(`{"page":1e400,"handle":[],"refresh":0}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := readArguments(raw, "handle", "page", "refresh")
		if err != nil {
			return
		}
		if _, err := a.number("page", 1); err != nil && err.Error() == "" {
			t.Error("refused without a word")
		}
		_, _ = a.text("handle", true)
		_, _ = a.flag("refresh")
		var compact bytes.Buffer
		if json.Compact(&compact, raw) == nil {
			once, ok := canonical(nil, raw, 0)
			again, also := canonical(nil, compact.Bytes(), 0)
			if ok != also || ok && !bytes.Equal(once, again) {
				t.Errorf("%s and %s are compared as %s and %s", raw, compact.Bytes(), once, again)
			}
		}
	})
}
