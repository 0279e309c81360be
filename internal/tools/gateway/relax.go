package gateway

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// A page of a result is its structuredContent with fewer elements in a list, without members that are too large, and with
// the member result.MetaKey that says so. The schema of a tool whose results may be paged must not require what a page leaves out.
// A page has an element whole or not at all, so the schema of elements is not changed; but schemas for elements by position (tuples)
// are removed: a page may begin anywhere.

// maxRelaxDepth bounds the nesting of a schema. JSON Schema has no bound; the schemas of real tools nest less than 20 deep.
const maxRelaxDepth = 64

// forbidsPage are the keywords by which a schema may reject a part of a value that it accepts. What not and if/then/else say may hold for
// the whole and not for a part, and what counts as evaluated depends on them.
var forbidsPage = map[string]bool{
	"required": true, "minProperties": true, "dependentRequired": true, "dependentSchemas": true, "dependencies": true,
	"minItems": true, "contains": true, "minContains": true, "maxContains": true,
	"not": true, "if": true, "then": true, "else": true,
	"unevaluatedProperties": true, "unevaluatedItems": true,
}

// forbidsNotice are the keywords by which the schema of an object may reject the added member result.MetaKey.
var forbidsNotice = map[string]bool{"maxProperties": true, "propertyNames": true}

// nested are the keywords whose value is a schema, an object of schemas or a list of schemas, for values that a page may have in part.
var nested = map[string]bool{
	"properties": true, "patternProperties": true, "additionalProperties": true,
	"allOf": true, "anyOf": true, "oneOf": true, "$defs": true, "definitions": true,
}

// relaxed returns an outputSchema without what would make a page invalid. Whatever need not change keeps its bytes. ok is false for a
// schema that is not of type object, or that is invalid or nested too deep.
func relaxed(schema []byte) (out []byte, ok bool) {
	schema = bytes.TrimSpace(schema)
	if kind, _ := rawjson.Text(schema, "type"); kind != "object" {
		return nil, false
	}
	return relaxSchema(schema, true, !rawjson.Get(schema, "$ref").IsZero(), 0)
}

// relaxSchema changes a schema so that a part of a valid value is valid too. root says that it describes structuredContent itself; refers that a
// definition may do so too, by a $ref. ok is false if a schema is invalid or nested too deep.
func relaxSchema(schema []byte, root, refers bool, depth int) (out []byte, ok bool) {
	if depth > maxRelaxDepth {
		return nil, false
	}
	if len(schema) == 0 || schema[0] != '{' {
		return schema, true // true and false
	}
	var edits []rawjson.Edit
	var drop []string
	closed, patterns, mapped := false, false, false
	tuple := !rawjson.Get(schema, "prefixItems").IsZero()
	for m, err := range rawjson.Members(schema, 0) {
		if err != nil {
			return nil, false
		}
		key := string(m.Key)
		switch {
		case forbidsPage[key] || root && forbidsNotice[key],
			(key == "const" || key == "enum") && !isScalar(m.Value.Of(schema)),
			key == "prefixItems", key == "additionalItems", key == "items" && (tuple || schema[m.Value.Start] == '['):
			drop = append(drop, key)
			continue
		case key == "oneOf": // a part may fit several
			if !rawjson.Get(schema, "anyOf").IsZero() {
				drop = append(drop, key)
				continue
			}
			edits = append(edits, rawjson.Edit{Span: m.Name, With: []byte(`"anyOf"`)})
		case key == "additionalProperties" && root && schema[m.Value.Start] == '{':
			mapped = true
		case key == "additionalProperties" && string(m.Value.Of(schema)) != "true":
			closed = true
		case key == "patternProperties":
			patterns = true
		}
		if !nested[key] {
			continue
		}
		below, ok := relaxMember(m.Value.Of(schema), key, root, refers, depth)
		if !ok {
			return nil, false
		}
		if mapped { // clients that make types of schemas (FastMCP's) know nothing of patterns
			below, mapped = fmt.Appendf(nil, `{"anyOf":[%s,{"type":"object"}]}`, below), false
		}
		if !bytes.Equal(below, m.Value.Of(schema)) {
			edits = append(edits, rawjson.Edit{Span: m.Value, With: below})
		}
	}
	if len(edits) > 0 {
		var err error
		if schema, err = rawjson.Splice(schema, edits); err != nil {
			return nil, false
		}
	}
	if len(drop) > 0 {
		var err error
		if schema, err = rawjson.Remove(schema, drop...); err != nil {
			return nil, false
		}
	}
	if root && (closed || patterns) {
		return admitNotice(schema)
	}
	return schema, true
}

// relaxMember returns the value of the keyword key with all schemas in it relaxed; root and refers are those of the schema that has the
// keyword. ok is false if a schema is invalid or nested too deep.
func relaxMember(value []byte, key string, root, refers bool, depth int) (out []byte, ok bool) {
	var spans []rawjson.Span
	switch {
	case len(value) == 0:
		return value, true
	case key == "additionalProperties":
		return relaxSchema(value, false, refers, depth+1)
	case value[0] == '[':
		for v, err := range rawjson.Elements(value, 0) {
			if err != nil {
				return nil, false
			}
			spans = append(spans, v)
		}
	case value[0] == '{':
		for m, err := range rawjson.Members(value, 0) {
			if err != nil {
				return nil, false
			}
			spans = append(spans, m.Value)
		}
	}
	switch key {
	case "properties", "patternProperties":
		root = false
	case "$defs", "definitions":
		root = refers
	}
	var edits []rawjson.Edit
	for _, at := range spans {
		below, ok := relaxSchema(at.Of(value), root, refers, depth+1)
		if !ok {
			return nil, false
		}
		if !bytes.Equal(below, at.Of(value)) {
			edits = append(edits, rawjson.Edit{Span: at, With: below})
		}
	}
	if len(edits) == 0 {
		return value, true
	}
	out, err := rawjson.Splice(value, edits)
	return out, err == nil
}

// isScalar reports whether the value of a const, or every value of an enum, is neither an object nor a list, which a page may have in part.
func isScalar(values []byte) bool {
	if len(values) == 0 || values[0] != '[' {
		return len(values) > 0 && values[0] != '{'
	}
	for v, err := range rawjson.Elements(values, 0) {
		if err != nil || strings.IndexByte("[{", values[v.Start]) >= 0 {
			return false
		}
	}
	return true
}

// admitNotice changes the schema of an object so that it accepts the member result.MetaKey; ok is false if the schema is invalid.
func admitNotice(schema []byte) (out []byte, ok bool) {
	const pattern = `^` + result.MetaKey + `$`
	patterns := []byte("{}")
	if at := rawjson.Get(schema, "patternProperties"); !at.IsZero() {
		patterns = at.Of(schema)
	}
	patterns, err := rawjson.Set(patterns, pattern, []byte(`{"type":"object"}`))
	if err != nil {
		return nil, false
	}
	out, err = rawjson.Set(schema, "patternProperties", patterns)
	return out, err == nil
}

// contract is the outputSchema of a tool as clients were given it.
type contract struct {
	text []byte // the outputSchema that is listed
	result.Contract
}

// contractOf returns the contract that a tool's outputSchema becomes. It is nil if clients get no schema: results are not paged, the schema is
// too large, or even a page with nothing but the notice would be invalid. References to addresses are not followed: a schema must not make the
// gateway send requests.
func contractOf(raw []byte, l Limits) *contract {
	if !l.paged() || len(raw) > maxSchema {
		return nil
	}
	text, ok := relaxed(raw)
	if !ok {
		return nil
	}
	c := &contract{text: text}
	var schema jsonschema.Schema
	if schema.UnmarshalJSON(c.text) == nil {
		c.Schema, _ = schema.Resolve(nil)
	}
	c.Wrap = wrapOf(raw)
	if c.Schema == nil || c.Schema.Validate(map[string]any{result.MetaKey: map[string]any{}}) != nil {
		return nil
	}
	return c
}

// wrapOf returns the name of the only property of a schema, "" if it has none or several: servers of FastMCP and others wrap a result that
// is not an object in one member.
func wrapOf(schema []byte) (key string) {
	properties := rawjson.Get(schema, "properties")
	if properties.IsZero() || schema[properties.Start] != '{' {
		return ""
	}
	for m, err := range rawjson.Members(schema, properties.Start) {
		if err != nil || key != "" {
			return ""
		}
		key = string(m.Key)
	}
	return key
}

// contract returns the contract for a tool's structuredContent; nil if clients were given no outputSchema for it. It is made once.
func (k *toolList) contract(tool string, l Limits) *result.Contract {
	raw := k.trait(tool).schema
	if raw == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c, ok := k.contracts[tool]; ok {
		return c
	}
	var told *result.Contract
	if c := contractOf(raw, l); c != nil {
		told = &c.Contract
	}
	if k.contracts == nil {
		k.contracts = map[string]*result.Contract{}
	}
	k.contracts[tool] = told
	return told
}
