package gateway

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/result"
)

// contract is the outputSchema of a tool that clients were told.
type contract struct {
	text []byte // the outputSchema that is listed
	result.Contract
}

// contractOf reads a tool's outputSchema; nil where it is taken out because nothing that is said of a page would
// validate. Addresses in it are not followed: a schema must not make the gateway ask anywhere.
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

// wrapOf returns the member that is all of structuredContent, where it has one: servers of FastMCP and others wrap a
// result that is no object.
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

// contract returns the contract for a tool's structuredContent; nil when clients were told none.
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
