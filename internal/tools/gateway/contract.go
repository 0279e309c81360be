package gateway

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// contract is the outputSchema of a tool as clients were given it.
type contract struct {
	text []byte // the outputSchema that is listed
	result.Contract
}

// contractOf returns the contract that a tool's outputSchema becomes. It is nil where clients are given no schema: results are not paged,
// the schema is too large, or even a page with nothing but the notice would be invalid. References to addresses are not followed: a schema
// must not make the gateway send requests.
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

// contract returns the contract for a tool's structuredContent; nil when clients were given no outputSchema of it.
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
