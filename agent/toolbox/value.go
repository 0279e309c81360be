package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxShown bounds the part of a value that an error shows, in bytes.
const maxShown = 80

// typesOf returns the types in the member "type" of a schema, which is one name or a list; nil for anything else.
func typesOf(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		var out []string
		for _, e := range x {
			if s, ok := e.(string); ok {
				out = append(out, s)
			}
		}
		return out
	}
	return nil
}

// convertible reports whether v has one of the types, or can be converted to one, and returns the value as that type: models write numbers
// and lists as strings, and a single value for a list of it. No types, or an unknown one, allow any value.
func convertible(v any, types []string) (any, bool) {
	if len(types) == 0 {
		return v, true
	}
	for _, t := range types {
		if isType(v, t) {
			return v, true
		}
	}
	text, ok := v.(string)
	for _, t := range types {
		switch {
		case !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, t):
			return v, true
		case ok && t != "string" && t != "null":
			if said, err := parseJSON(text); err == nil && isType(said, t) {
				return said, true
			}
		}
		if ok && t == "array" {
			return []any{v}, true
		}
	}
	return v, false
}

// parseJSON returns the JSON value that a text is, with white space around it or not. Anything else behind it is an error.
func parseJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(strings.TrimSpace(text)))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if _, behind := d.Token(); err == nil && !errors.Is(behind, io.EOF) {
		err = errors.New("there is more behind the value")
	}
	return v, err
}

// isType reports whether a decoded JSON value has a type of JSON Schema. A number without a fraction is an integer, and so is one that is
// too large for float64 to tell.
func isType(v any, t string) bool {
	switch x := v.(type) {
	case map[string]any:
		return t == "object"
	case []any:
		return t == "array"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case nil:
		return t == "null"
	case json.Number:
		if t == "integer" {
			n, ok := numberOf(x)
			return !ok || n == float64(int64(n)) || n > 1<<53 || n < -(1<<53)
		}
		return t == "number"
	}
	return false
}

// numberOf returns a [json.Number] as float64; false for any other value.
func numberOf(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil
}

// sameText reports whether v and w mean the same: "20" is 20, and 1.0 is 1. text is compact(v), so of long values only the beginning counts.
func sameText(text string, v, w any) bool {
	if a, ok := numberOf(v); ok {
		if b, ok := numberOf(w); ok {
			return a == b
		}
	}
	return strings.Trim(text, `"`) == strings.Trim(compact(w), `"`)
}

// describe returns a value in words for an error. Of strings and numbers it has the text too.
func describe(v any) string {
	switch x := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "the string " + compact(x)
	case json.Number:
		return "the number " + compact(x)
	}
	return compact(v)
}

// anyOfTypes returns types in words: "a string or an array". It leaves out null beside others.
func anyOfTypes(types []string) string {
	var out []string
	for _, t := range types {
		switch t {
		case "null":
			continue
		case "object", "array", "integer":
			out = append(out, "an "+t)
		default:
			out = append(out, "a "+t)
		}
	}
	if len(out) == 0 {
		return "null"
	}
	return strings.Join(out, " or ")
}

// typeHint returns the types that a schema allows in parentheses, such as " (a string or a number)"; "" if it names none.
func typeHint(schema any) string {
	s, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	if types := typesOf(s["type"]); len(types) > 0 {
		return " (" + anyOfTypes(types) + ")"
	}
	return ""
}

// compact returns a value as JSON of at most maxShown bytes.
func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return "?"
	}
	return clip(strings.TrimSuffix(b.String(), "\n"), maxShown)
}

// joinPath returns the path of a member, in which a long name is cut.
func joinPath(path, name string) string {
	name = clip(name, maxShown)
	if path == "" {
		return name
	}
	return path + "." + name
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// knownNames returns words for an error that list the names of properties.
func knownNames(properties map[string]any) string {
	if len(properties) == 0 {
		return "; there are no arguments"
	}
	return "; known are: " + firstNames(sortedKeys(properties), 20)
}

// firstNames joins the first maxNames names, and says how many more there are.
func firstNames(names []string, maxNames int) string {
	if len(names) <= maxNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNames], ", "), len(names)-maxNames)
}
