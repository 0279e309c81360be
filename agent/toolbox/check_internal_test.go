package toolbox

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const listing = `{"type":"object","additionalProperties":false,"required":["name"],"properties":{
	"name":{"type":"string","minLength":1},
	"page":{"type":"integer","minimum":1,"maximum":100},
	"health":{"type":"array","items":{"enum":["Healthy","Degraded"]}},
	"deep":{"type":["object","null"],"properties":{"flag":{"type":"boolean"},"list":{"type":"array","items":{"$ref":"#/$defs/pair"}}}},
	"either":{"anyOf":[{"type":"string"},{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}]}
},"$defs":{"pair":{"type":"object","required":["key"],"properties":{"key":{"type":"string"}}}}}`

func problemsOf(t testing.TB, schema, arguments string) string {
	t.Helper()
	object, err := objectOf(arguments)
	if err != nil {
		return err.Error()
	}
	return strings.Join(check(parseSchema([]byte(schema)), object), "; ")
}

func TestCheckSaysWhatToMend(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"name":"x"}`:                                  "",
		`{}`:                                            "name is missing (a string)",
		``:                                              "name is missing (a string)",
		`{"name":17}`:                                   "name is the number 17; it must be a string",
		`{"name":""}`:                                   "name has 0 characters; it must have at least 1",
		`{"name":"x","page":"two"}`:                     `page is the string "two"; it must be an integer`,
		`{"name":"x","page":"5 apples"}`:                `page is the string "5 apples"; it must be an integer`,
		`{"name":"x","page":"2"}`:                       "",
		`{"name":"x","page":1.5}`:                       "page is the number 1.5; it must be an integer",
		`{"name":"x","page":1.0}`:                       "",
		`{"name":"x","page":null}`:                      "",
		`{"name":"x","page":0}`:                         "page is 0; it must be at least 1",
		`{"name":"x","page":"101"}`:                     "page is 101; it may be at most 100",
		`{"name":"x","pgae":2}`:                         `pgae is not known (did you mean "page"?); known are: deep, either, health, name, page`,
		`{"name":"x","health":["Healty"]}`:              `health[0] is "Healty"; it must be one of: "Healthy", "Degraded"`,
		`{"name":"x","health":"Degraded"}`:              "",
		`{"name":"x","health":"[\"Healthy\"]"}`:         "",
		`{"name":"x","deep":{"flag":"yes"}}`:            `deep.flag is the string "yes"; it must be a boolean`,
		`{"name":"x","deep":{"flag":"true"}}`:           "",
		`{"name":"x","deep":{"list":[{"key":"a"},{}]}}`: "deep.list[1].key is missing (a string)",
		`{"name":"x","either":7}`:                       "either is the number 7; it must be a string",
		`{"name":"x","either":{"id":1}}`:                "",
		`[1]`:                                           "they are an array, not an object",
		`"x"`:                                           `they are the string "x", not an object`,
		`{"name":"x"} {}`:                               "there is more behind the value",
		`{"name":`:                                      "they are no JSON: unexpected EOF",
	} {
		got := problemsOf(t, listing, arguments)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s\n gave %q\nnot   %q", arguments, got, want)
		}
	}
}

// What package jsonschema takes is never refused.
func TestCheckIsMilderThanTheSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		listing, `true`, `{}`, `{"type":"object"}`, `{"properties":{"a":{"type":["string","integer"]}}}`,
		`{"type":"object","patternProperties":{"^x":{}},"additionalProperties":false}`,
		`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"not":{"required":["zzz"]}}`,
		`{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}`,
		`{"additionalProperties":{"type":"integer"}}`, `{"properties":{"a":{"const":{"b":[1,2]}}}}`,
		`{"properties":{"a":{"enum":[1,"1",null,true]}}}`, `{"allOf":[{"properties":{"a":{"minimum":3}}},{"required":["a"]}]}`,
		`{"properties":{"a":{"exclusiveMinimum":3,"multipleOf":2}}}`, `{"if":{"required":["a"]},"then":{"required":["b"]}}`,
	} {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(schema), &s); err != nil {
			t.Fatal(schema, err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(schema, err)
		}
		for _, arguments := range []string{
			`{}`, `{"a":1}`, `{"a":4}`, `{"a":"x"}`, `{"a":["x",2,3]}`, `{"a":null}`, `{"a":{"b":[1,2]}}`, `{"b":1}`, `{"x1":true}`,
			`{"name":"x","page":1.0,"deep":null,"either":{"id":3}}`, `{"name":"日本","health":["Healthy"]}`, `{"a":4.0}`, `{"a":1e2}`,
		} {
			var v any
			if err := json.Unmarshal([]byte(arguments), &v); err != nil {
				t.Fatal(err)
			}
			if resolved.Validate(v) != nil {
				continue
			}
			if got := problemsOf(t, schema, arguments); got != "" {
				t.Errorf("%s takes %s, and it was refused: %s", schema, arguments, got)
			}
		}
	}
}

func TestCheckEndsWhateverTheSchema(t *testing.T) {
	t.Parallel()
	var doubling strings.Builder
	doubling.WriteString(`{"$defs":{"x0":{"required":["y"]}`)
	for i := range 40 {
		doubling.WriteString(`,"x` + strconv.Itoa(i+1) + `":{"allOf":[{"$ref":"#/$defs/x` + strconv.Itoa(i) + `"},{"$ref":"#/$defs/x` + strconv.Itoa(i) + `"}]}`)
	}
	doubling.WriteString(`},"$ref":"#/$defs/x40"}`)
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`, doubling.String(),
		`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"$ref":"#/a/b/c"}`, `{"$ref":"http://x/"}`, `{"$ref":7}`,
	} {
		problems := problemsOf(t, schema, `{"a":{"a":{"a":1}}}`)
		if len(problems) > 1000 {
			t.Errorf("%.50s: %d bytes of problems", schema, len(problems))
		}
	}
}

// FuzzCheck: any schema and any arguments end, soon and in few words.
func FuzzCheck(f *testing.F) {
	f.Add([]byte(listing), `{"name":"x"}`)
	f.Add([]byte(`{"type":["integer",null,7],"enum":[{}],"items":[[]],"required":[1]}`), `{"a":[1,{"b":null}]}`)
	f.Fuzz(func(t *testing.T, schema []byte, arguments string) {
		object, err := objectOf(arguments)
		if err != nil {
			return
		}
		problems := check(parseSchema(schema), object)
		if len(problems) > maxProblems || len(strings.Join(problems, "")) > 20_000 {
			t.Errorf("%d problems", len(problems))
		}
		full, shown := readSchema(schema)
		if full != nil && (!json.Valid(full) || !json.Valid(shown)) {
			t.Errorf("%q became %q and %q", schema, full, shown)
		}
	})
}

// FuzzTool: whatever a server lists, what models are shown is what their providers take.
func FuzzTool(f *testing.F) {
	f.Add([]byte(`{"name":"a.b","description":"\ud800","inputSchema":{"type":"object","anyOf":[]},"annotations":{"readOnlyHint":true}}`))
	f.Add([]byte(`{"name":"x","name":"y","inputSchema":{"type":"x","type":"object","properties":null}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		l := newServerSession(&Toolbox{}, "server")
		made, ok := l.parseTool(raw)
		if !ok {
			return
		}
		name := toolName(made.name)
		if name == "" || len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			t.Errorf("%q became %q", made.name, name)
		}
		var schema struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(made.schema, &schema); err != nil || !utf8.ValidString(made.description) || len(made.description) > 2048 {
			t.Errorf("%s: %v, %q", made.schema, err, made.description)
		}
	})
}
