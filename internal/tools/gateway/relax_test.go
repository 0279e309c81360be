package gateway

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// graphSchema is what @modelcontextprotocol/server-memory 2026.8.31 lists for read_graph.
const graphSchema = `{"type":"object","properties":{"entities":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"observations":{"type":"array","items":{"type":"string"}}},"required":["name","observations"],"additionalProperties":false}},"relations":{"type":"array"}},"required":["entities","relations"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`

func TestASchemaLosesOnlyWhatForbidsAPage(t *testing.T) {
	const notice = `"patternProperties":{"^plimsoll/result$":{"type":"object"}}`
	for name, c := range map[string]struct{ in, want string }{
		"nothing to do": {`{ "type":"object", "title":"T", "properties":{"n":{"type":"integer","minimum":1},"kind":{"enum":["a","b"]}} }`, ""},
		"elements stay": {`{"type":"object","properties":{"l":{"type":"array","items":{"required":["id"],"additionalProperties":false,"minProperties":1}}}}`, ""},
		"an open map":   {`{"type":"object","additionalProperties":true}`, ""},
		"required":      {`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"a wrapper":     {`{"type":"object","properties":{"result":{"type":"array","minItems":1}},"required":["result"],"x-fastmcp-wrap-result":true}`, `{"type":"object","properties":{"result":{"type":"array"}},"x-fastmcp-wrap-result":true}`},
		"one of":        {`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{"type":"object","anyOf":[{},{}]}`},
		"closed":        {`{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false,` + notice + `}`},
		"a typed map":   {`{"type":"object","additionalProperties":{"type":"number"}}`, `{"type":"object","additionalProperties":{"anyOf":[{"type":"number"},{"type":"object"}]}}`},
		"a tuple":       {`{"type":"object","properties":{"result":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"},"maxItems":2,"minItems":2}}}`, `{"type":"object","properties":{"result":{"type":"array","maxItems":2}}}`},
		"an old tuple":  {`{"type":"object","properties":{"result":{"type":"array","items":[{"type":"string"}],"additionalItems":false}}}`, `{"type":"object","properties":{"result":{"type":"array"}}}`},
		"many tuples":   {`{"type":"object","properties":{"result":{"type":"array","items":{"type":"array","prefixItems":[{"type":"string"}]}}}}`, ""},
		"a reference":   {`{"type":"object","$ref":"#/$defs/R","$defs":{"R":{"type":"object","required":["a"],"additionalProperties":false}}}`, `{"type":"object","$ref":"#/$defs/R","$defs":{"R":{"type":"object","additionalProperties":false,` + notice + `}}}`},
		"graph":         {graphSchema, `{"type":"object","properties":{"entities":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"observations":{"type":"array","items":{"type":"string"}}},"required":["name","observations"],"additionalProperties":false}},"relations":{"type":"array"}},"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#",` + notice + `}`},
	} {
		if c.want == "" {
			c.want = c.in
		}
		got, ok := relaxed([]byte(c.in))
		if !ok || string(got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
		if contractOf([]byte(c.in), Limits{}) == nil {
			t.Errorf("%s: the schema is not listed", name)
		}
	}
	for _, c := range []string{`{}`, `true`, `1`, ``, `{"type":"array"}`, `{"type":"object","properties":[`, `{"type":"object","$ref":"https://elsewhere/schema"}`} {
		if k := contractOf([]byte(c), Limits{}); k != nil {
			t.Errorf("%s is listed as %s", c, k.text)
		}
	}
}

// FuzzRelax holds that what was valid is valid against the relaxed schema, and so is a page of it: with fewer elements and
// members.
func FuzzRelax(f *testing.F) {
	graph := `{"entities":[{"name":"a","observations":[]},{"name":"b","observations":["c"]}],"relations":[1,2,3]}`
	f.Add([]byte(graphSchema), []byte(graph), uint64(1))
	f.Add([]byte(`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"if":{"required":["a"]},"then":{"minProperties":1}}`), []byte(`{"a":1,"c":[]}`), uint64(2))
	f.Add([]byte(`{"type":"object","properties":{"a":{"not":{"maxItems":2}}},"dependentRequired":{"a":["b"]}}`), []byte(`{"a":[1,2,3],"b":1}`), uint64(5))
	f.Fuzz(func(t *testing.T, schema, document []byte, cut uint64) {
		var value map[string]any
		if len(schema) > 4096 || !json.Valid(schema) || json.Unmarshal(document, &value) != nil || value == nil {
			return
		}
		own, kept := compiled(schema), contractOf(schema, Limits{})
		if own == nil || kept == nil || own.Validate(value) != nil {
			return
		}
		if err := kept.Schema.Validate(value); err != nil {
			t.Fatalf("%s is valid against %s and not against %s: %v", document, schema, kept.text, err)
		}
		pagePart(value, &cut)
		value[result.MetaKey] = map[string]any{"notice": "x"}
		if err := kept.Schema.Validate(value); err != nil {
			t.Fatalf("a page %v of %s, which is valid against %s, is not against %s: %v", value, document, schema, kept.text, err)
		}
	})
}

func compiled(text []byte) *jsonschema.Resolved {
	var s jsonschema.Schema
	if s.UnmarshalJSON(text) != nil {
		return nil
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil
	}
	return r
}

// pagePart leaves out members, and elements from the end of lists, by the bits of cut; elements stay whole.
func pagePart(value map[string]any, cut *uint64) {
	for key, v := range value {
		bit := *cut & 3
		*cut = *cut>>2 | *cut<<62
		switch v := v.(type) {
		case map[string]any:
			if bit == 0 {
				delete(value, key)
			} else {
				pagePart(v, cut)
			}
		case []any:
			value[key] = v[:len(v)*int(bit)/3]
		default:
			if bit == 1 {
				delete(value, key)
			}
		}
	}
}
