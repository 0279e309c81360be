package builtin_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type selector struct {
	Kind  string `json:"kind" jsonschema:"Kind of the resource"`
	Force *bool  `json:"force"`
}

type Common struct {
	Instance string `json:"instance,omitempty" jsonschema:"Name of the instance"`
}

type arguments struct {
	Common
	Name      string            `json:"name" jsonschema:"Name of the application"`
	Page      int               `json:"page,omitempty" jsonschema:"Page, from 1"`
	PageSize  uint8             `json:"page_size,omitempty"`
	Full      *bool             `json:"full"`
	Health    []string          `json:"health,omitempty"`
	Numbers   []int             `json:"numbers,omitempty"`
	Ratio     float64           `json:"ratio,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Resources []selector        `json:"resources,omitempty"`
	Spec      json.RawMessage   `json:"spec,omitempty" jsonschema:"Any JSON"`
	Since     *time.Time        `json:"since,omitempty"`
	Any       any               `json:"any,omitempty"`
	Hidden    int               `json:"-"`
}

// typed gives a server whose one tool hands its arguments to the test.
func typed(t testing.TB) (call func(arguments string) (arguments, string)) {
	var got arguments
	s := newServer(t, builtin.Options{Tools: []builtin.Tool{
		builtin.Typed(builtin.Tool{Name: "get"}, func(_ context.Context, _ *builtin.Call, in arguments) (*builtin.Result, error) {
			got = in
			return &builtin.Result{Text: "ok"}, nil
		}),
	}})
	p := s.Dial()
	return func(raw string) (arguments, string) {
		t.Helper()
		got = arguments{}
		text, isError := ask(t, p, calling(1, "get", raw)).text(t)
		if isError != (text != "ok") {
			t.Fatalf("isError %v: %s", isError, text)
		}
		if !isError {
			text = ""
		}
		return got, text
	}
}

func TestTheSchemaIsInferred(t *testing.T) {
	p := newServer(t, builtin.Options{Tools: []builtin.Tool{
		builtin.Typed(builtin.Tool{Name: "get"}, func(context.Context, *builtin.Call, arguments) (*builtin.Result, error) { return nil, nil }),
		builtin.Typed(builtin.Tool{Name: "none"}, func(context.Context, *builtin.Call, struct{}) (*builtin.Result, error) { return nil, nil }),
		builtin.Typed(builtin.Tool{Name: "own", Input: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *builtin.Call, arguments) (*builtin.Result, error) { return nil, nil }),
	}}).Dial()
	var m struct {
		Result struct {
			Tools []struct{ InputSchema json.RawMessage }
		}
	}
	if err := json.Unmarshal(ask(t, p, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).frames[0], &m); err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{
		"instance":{"type":"string","description":"Name of the instance"},
		"name":{"type":"string","description":"Name of the application"},
		"page":{"type":"integer","description":"Page, from 1"},
		"page_size":{"type":"integer","minimum":0,"maximum":255},
		"full":{"type":"boolean"},
		"health":{"type":"array","items":{"type":"string"}},
		"numbers":{"type":"array","items":{"type":"integer"}},
		"ratio":{"type":"number"},
		"labels":{"type":"object","additionalProperties":{"type":"string"}},
		"resources":{"type":"array","items":{"type":"object","properties":{"kind":{"type":"string","description":"Kind of the resource"},"force":{"type":"boolean"}},"required":["kind"],"additionalProperties":false}},
		"spec":{"description":"Any JSON"},"since":{"type":"string"},"any":true},
		"required":["name"],"additionalProperties":false}`
	var a, b any
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(m.Result.Tools[0].InputSchema, &a); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v: got  %s\nwant %s", err, m.Result.Tools[0].InputSchema, compact(t, []byte(want)))
	}
	if none := string(m.Result.Tools[1].InputSchema); !strings.Contains(none, `"additionalProperties":false`) || !strings.Contains(none, `"type":"object"`) {
		t.Error(none)
	}
	if own := string(m.Result.Tools[2].InputSchema); own != `{"type":"object"}` {
		t.Error(own)
	}
}

func TestArgumentsAreTakenAsModelsWriteThem(t *testing.T) {
	call := typed(t)
	yes, no := true, false
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for raw, want := range map[string]arguments{
		`{"name":"a"}`: {Name: "a"},
		`{"name":"a","page":"20","page_size":20.0,"full":"True"}`:                     {Name: "a", Page: 20, PageSize: 20, Full: &yes},
		`{"name":"a","page":2e1,"full":false,"instance":"x","ratio":"0.5"}`:           {Name: "a", Page: 20, Full: &no, Common: Common{"x"}, Ratio: 0.5},
		`{"name":"a","page":null,"full":null,"health":null,"spec":null}`:              {Name: "a"},
		`{"name":"a","health":"Degraded"}`:                                            {Name: "a", Health: []string{"Degraded"}},
		`{"name":"a","health":"[\"Degraded\",\"Missing\"]","numbers":["1",2]}`:        {Name: "a", Health: []string{"Degraded", "Missing"}, Numbers: []int{1, 2}},
		`{"name":"a","labels":{"x":"y","z":null}}`:                                    {Name: "a", Labels: map[string]string{"x": "y"}},
		`{"name":"a","resources":[{"kind":"Pod","force":"true"}]}`:                    {Name: "a", Resources: []selector{{"Pod", &yes}}},
		`{"name":"a","resources":"[{\"kind\":\"Pod\"}]"}`:                             {Name: "a", Resources: []selector{{Kind: "Pod"}}},
		`{"name":"a","spec":{"n":12345678901234567890}}`:                              {Name: "a", Spec: json.RawMessage(`{"n":12345678901234567890}`)},
		`{"name":"a","since":"2026-01-02T03:04:05Z","any":[1]}`:                       {Name: "a", Since: &when, Any: []any{1.0}},
		`{"\u006eame":"\u0061","labels":{"\u0061\"":"<b>"}}`:                          {Name: "a", Labels: map[string]string{`a"`: "<b>"}},
		`{"name":"a","page":9007199254740993,"health":[],"labels":{},"resources":[]}`: {Name: "a", Page: 9007199254740993, Health: []string{}, Labels: map[string]string{}, Resources: []selector{}},
	} {
		got, problem := call(raw)
		if problem != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s\n got %+v\nwant %+v", raw, problem, got, want)
		}
	}
}

func TestArgumentsThatAreWrongAreTold(t *testing.T) {
	call := typed(t)
	for raw, want := range map[string]string{
		`{}`:                                 `get was not called: "name" is missing: a string. Its arguments: instance, name (required), page,`,
		`{"name":null}`:                      `"name" is missing`,
		`{"name":7}`:                         `"name" must be a string, not 7`,
		`{"name":"a","pageSize":20}`:         `"pageSize" (20) is not known, did you mean "page_size"? Its arguments`,
		`{"name":"a","healt":"x"}`:           `did you mean "health"?`,
		`{"name":"a","zzzzzz":[1,2]}`:        `"zzzzzz" ([1,2]) is not known. Its arguments`,
		`{"name":"a","Name":"b"}`:            `"Name" ("b") is not known, did you mean "name"?`,
		`{"name":"a","Hidden":1}`:            `"Hidden" (1) is not known`,
		`{"name":"a","name":"b"}`:            `"name" is given twice`,
		`{"name":"a","page":"twenty"}`:       `"page" must be an integer, not "twenty"`,
		`{"name":"a","page":1.5}`:            `"page" must be an integer, not 1.5`,
		`{"name":"a","page":1e400}`:          `"page" must be an integer, not 1e400`,
		`{"name":"a","page":"0x10"}`:         `"page" must be an integer`,
		`{"name":"a","page_size":256}`:       `"page_size" must be an integer that is not negative, not 256`,
		`{"name":"a","page_size":-1}`:        `"page_size" must be an integer that is not negative, not -1`,
		`{"name":"a","full":"yes"}`:          `"full" must be true or false, not "yes"`,
		`{"name":"a","ratio":"NaN"}`:         `"ratio" must be a number, not "NaN"`,
		`{"name":"a","health":[1]}`:          `"health[0]" must be a string, not 1`,
		`{"name":"a","health":{"a":1}}`:      `"health" must be an array, each of it a string, not {"a":1}`,
		`{"name":"a","labels":["x"]}`:        `"labels" must be an object, not ["x"]`,
		`{"name":"a","labels":{"x":1}}`:      `"labels.x" must be a string, not 1`,
		`{"name":"a","resources":[{}]}`:      `"resources[0].kind" is missing: a string`,
		`{"name":"a","resources":[null]}`:    `"resources[0]" must be an object, not null`,
		`{"name":"a","resources":["{x"]}`:    `"resources[0]" must be an object, not "{x"`,
		`{"name":"a","since":"yesterday"}`:   `yesterday`,
		`{"page":"x","full":3,"ratio":true}`: `"page" must be an integer, not "x"; "full" must be true or false, not 3; "ratio" must be a number, not true; "name" is missing`,
		`{"name":"a","a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`: `and 2 more`,
	} {
		if _, got := call(raw); !strings.Contains(got, want) {
			t.Errorf("%s:\n got %s\nwant %s", raw, got, want)
		}
	}
	if _, got := call(`{"name":"a","` + strings.Repeat("ä", 100_000) + `":"` + strings.Repeat("v", 100_000) + `"}`); len(got) > 1000 {
		t.Errorf("an error of %d bytes", len(got))
	}
	none := newServer(t, builtin.Options{Tools: []builtin.Tool{
		builtin.Typed(builtin.Tool{Name: "none"}, func(context.Context, *builtin.Call, struct{}) (*builtin.Result, error) { return &builtin.Result{}, nil }),
	}}).Dial()
	if text, _ := ask(t, none, calling(1, "none", `{"x":1}`)).text(t); text != `none was not called: "x" (1) is not known. It takes no arguments.` {
		t.Error(text)
	}
}
