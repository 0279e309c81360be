package builtin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Bounds of a server's description of itself.
const (
	// MaxDescription bounds a tool's description, in bytes: clients cut longer ones (Claude Code
	// at 2,048 characters).
	MaxDescription = 2048
	// MaxInstructions bounds Options.Instructions, in bytes: they are in every prompt.
	MaxInstructions = 16 << 10
	// MaxTools and MaxListBytes bound the list of tools, which is encoded once.
	MaxTools     = 1024
	MaxListBytes = 1 << 20
	// maxName bounds a tool's name, in bytes; the providers of models have the same bound.
	maxName = 64
)

// modernVersion is the version of the protocol without sessions.
const modernVersion = "2026-07-28"

// legacyVersions are the versions of the protocol with sessions, newest first.
var legacyVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

// fixedResults are the parts of results that never change, encoded once: members of result objects, without braces.
type fixedResults struct {
	tools    []byte // "tools":[…]
	about    []byte // capabilities and instructions
	info     []byte // the value of serverInfo
	versions []byte // the value of supportedVersions
}

// prepare checks the options and tools, sets s.tools and s.names, and encodes the results that are the same for every request.
func (s *Server) prepare() error {
	o := &s.o
	switch {
	case o.Name == "":
		return fmt.Errorf("builtin: Options.Name is empty; give the server a name")
	case len(o.Instructions) > MaxInstructions:
		return fmt.Errorf("builtin: the instructions of %s are %d bytes, at most %d are taken; shorten them", o.Name, len(o.Instructions), MaxInstructions)
	case len(o.Tools) > MaxTools:
		return fmt.Errorf("builtin: %s has %d tools, at most %d are taken", o.Name, len(o.Tools), MaxTools)
	}
	for _, t := range o.Tools {
		if err := t.check(); err != nil {
			return fmt.Errorf("builtin: the tool %q: %w", t.Name, err)
		}
		if s.tools[t.Name] != nil {
			return fmt.Errorf("builtin: there are two tools called %q; give one another name", t.Name)
		}
		if t.Input == nil {
			t.Input = json.RawMessage(`{"type":"object","additionalProperties":false}`)
		}
		s.tools[t.Name] = &t
		s.names = append(s.names, t.Name)
	}
	slices.Sort(s.names)
	b := []byte(`"tools":[`)
	for i, name := range s.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.tools[name].appendTo(b)
	}
	s.fixed.tools = append(b, ']')
	if len(s.fixed.tools) > MaxListBytes {
		return fmt.Errorf("builtin: the list of the tools of %s is %d bytes, at most %d are taken; shorten descriptions", o.Name, len(s.fixed.tools), MaxListBytes)
	}
	b = rawjson.Quote([]byte(`{"name":`), o.Name)
	if o.Title != "" {
		b = rawjson.Quote(append(b, `,"title":`...), o.Title)
	}
	s.fixed.info = append(rawjson.Quote(append(b, `,"version":`...), o.Version), '}')
	s.fixed.about = []byte(`"capabilities":{"tools":{}}`)
	if o.Instructions != "" {
		s.fixed.about = rawjson.Quote(append(s.fixed.about, `,"instructions":`...), o.Instructions)
	}
	s.fixed.versions = []byte(`["` + modernVersion + `","` + strings.Join(legacyVersions, `","`) + `"]`)
	return nil
}

// check returns an error if the tool cannot be offered: a bad name, a description that is too long, no Run, or an invalid schema.
func (t *Tool) check() error {
	switch {
	case t.fault != nil:
		return t.fault
	case t.Name == "" || len(t.Name) > maxName:
		return fmt.Errorf("a name is 1 to %d characters, this is %d", maxName, len(t.Name))
	case strings.ContainsFunc(t.Name, isUnusual):
		return fmt.Errorf("a name is of the characters A-Z, a-z, 0-9, _ and - only: others are refused by the providers of models")
	case len(t.Description) > MaxDescription:
		return fmt.Errorf("its description is %d bytes, and clients cut at %d; shorten it", len(t.Description), MaxDescription)
	case !utf8.ValidString(t.Description):
		return fmt.Errorf("its description is not UTF-8")
	case t.Run == nil:
		return fmt.Errorf("it has no Run")
	case t.Input == nil:
		return nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(t.Input, &schema); err != nil {
		return fmt.Errorf("its Input is no JSON Schema: %w", err)
	}
	if schema.Type != "object" {
		return fmt.Errorf("its Input is of type %q; arguments are an object", schema.Type)
	}
	if _, err := schema.Resolve(nil); err != nil {
		return fmt.Errorf("its Input is no valid JSON Schema: %w", err)
	}
	return nil
}

// isUnusual reports whether a character is not allowed in a tool's name.
func isUnusual(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// appendTo appends the tool as it is listed by tools/list.
func (t *Tool) appendTo(b []byte) []byte {
	b = rawjson.Quote(append(b, `{"name":`...), t.Name)
	if t.Title != "" {
		b = rawjson.Quote(append(b, `,"title":`...), t.Title)
	}
	if t.Description != "" {
		b = rawjson.Quote(append(b, `,"description":`...), t.Description)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, t.Input) != nil {
		compact.Write(t.Input) // it was checked
	}
	b = append(append(b, `,"inputSchema":`...), compact.Bytes()...)
	return append(t.Hints.appendTo(b), '}')
}

// appendTo appends the annotations, except those with MCP's default values: they are in each request to a model.
func (h Hints) appendTo(b []byte) []byte {
	b = append(b, `,"annotations":{`...)
	if h.ReadOnly { // destructive and idempotent say nothing then
		b = append(b, `"readOnlyHint":true`...)
	} else {
		b = fmt.Appendf(b, `"destructiveHint":%t`, h.Destructive)
		if h.Idempotent {
			b = append(b, `,"idempotentHint":true`...)
		}
	}
	if !h.OpenWorld {
		b = append(b, `,"openWorldHint":false`...)
	}
	return append(b, '}')
}
