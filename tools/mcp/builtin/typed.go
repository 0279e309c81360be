package builtin

import (
	"context"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Typed returns a tool whose arguments are an A, a struct with json tags. Its Input, unless t has
// one, is inferred: `jsonschema:"…"` tags are the descriptions, no other arguments are
// allowed, and those are optional that are pointers or have omitempty or omitzero.
//
// Arguments are read strictly: one that is unknown, of the wrong type, missing or given
// twice is an error for the model, which lists all such arguments, their values, the nearest
// known name and all known ones. Harmless mistakes of models are accepted: "20" for an
// integer, "true" for a boolean, null for an absent value, one string for an array of strings, and an
// array or object written as a string.
//
// If A is not suitable [New] returns the error.
func Typed[A any](t Tool, run func(ctx context.Context, c *Call, in A) (*Result, error)) Tool {
	of := reflect.TypeFor[A]()
	if of.Kind() != reflect.Struct {
		t.fault = fmt.Errorf("its arguments are of type %s; a struct is needed", of)
	} else if t.Input == nil {
		t.Input, t.fault = inferSchema(of)
	}
	if run == nil {
		t.Run = nil
		return t
	}
	known := fieldsOf(of)
	t.Run = func(ctx context.Context, c *Call) (*Result, error) {
		var in A
		d := decoder{tool: c.Tool}
		if err := d.decode(c.Arguments, of, known, &in); err != nil {
			return nil, err
		}
		return run(ctx, c, in)
	}
	return t
}

// field is an argument, or a member of an argument that is an object.
type field struct {
	name     string
	of       reflect.Type
	optional bool
}

// fieldsOf returns the fields of a struct that JSON uses, in their order; nil if t is not a struct.
func fieldsOf(t reflect.Type) []field {
	var all []field
	if t.Kind() != reflect.Struct {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case !f.IsExported() || f.Anonymous && !tagged || tag == "-":
			continue
		case name == "":
			name = f.Name
		}
		given := strings.Split(options, ",")
		all = append(all, field{
			name: name, of: f.Type,
			optional: f.Type.Kind() == reflect.Pointer || slices.Contains(given, "omitempty") || slices.Contains(given, "omitzero"),
		})
	}
	return all
}

// inferSchema returns the JSON Schema of the struct type t; a json.RawMessage in it may have any value.
func inferSchema(t reflect.Type) (json.RawMessage, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", t, err)
	}
	simplifySchema(schema, t)
	return json.Marshal(schema)
}

// simplifySchema changes a schema, of type t, so that every client accepts it: without null as a further type, because not all providers of models
// know lists of types; pointers are optional instead.
func simplifySchema(s *jsonschema.Schema, t reflect.Type) {
	if s == nil {
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s.Types = slices.DeleteFunc(s.Types, func(name string) bool { return name == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	if len(s.Types) == 0 {
		s.Types = nil
	}
	if decodesItself(t) {
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		simplifySchema(s.Items, t.Elem())
	case reflect.Map:
		simplifySchema(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		s.Required = nil
		for _, f := range fieldsOf(t) {
			simplifySchema(s.Properties[f.name], f.of)
			if !f.optional && s.Properties[f.name] != nil {
				s.Required = append(s.Required, f.name)
			}
		}
	}
}

// decodesItself reports whether a type decodes JSON by a method of its own.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}
