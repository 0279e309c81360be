package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// MaxArguments bounds the arguments of a call, in bytes.
	MaxArguments = 1 << 20
	// maxSchema bounds a schema that is checked and shown to models, in bytes.
	maxSchema = 64 << 10
	// maxProblems bounds the faults of a call that are reported at once.
	maxProblems = 5
	// checkBudget bounds the work of one check: schemas come from servers, and even short ones may
	// take for ever. What was not checked by then counts as valid.
	checkBudget = 20_000
	// maxNesting bounds how deep a check goes.
	maxNesting = 64
)

// callFault is the error of an invalid call, in words for the model that made it.
type callFault struct{ text string }

func (f *callFault) Error() string { return f.text }

// objectOf parses the arguments of a call, which must be a JSON object. "" and null give an empty one.
func objectOf(arguments string) (map[string]any, error) {
	if len(arguments) > MaxArguments {
		return nil, fmt.Errorf("they are %d bytes, at most %d are taken", len(arguments), MaxArguments)
	}
	text := strings.TrimSpace(arguments)
	if text == "" || text == "null" {
		return map[string]any{}, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = fmt.Errorf("there is more behind the value, at byte %d", d.InputOffset())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("they are no JSON: %w", err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("they are %s, not an object", describe(v))
	}
	return object, nil
}

// parseSchema parses a schema. It returns nil if the schema is too large or not a JSON object.
func parseSchema(raw []byte) any {
	if len(raw) > maxSchema {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	if _, ok := v.(map[string]any); !ok {
		return nil
	}
	return v
}

// checker finds violations of a schema that are certain. It allows more than the schema: keywords that it does not know, and malformed
// schemas, allow everything, and a value that can be converted ("20" for 20, null for an absent one) is left to the server.
type checker struct {
	root     any
	budget   int
	problems []string
}

// check returns the faults of arguments by a parsed schema, in words, at most maxProblems; nil if there are none.
func check(schema any, arguments map[string]any) []string {
	c := &checker{root: schema, budget: checkBudget}
	c.checkValue("", schema, arguments, 0)
	return c.problems
}

// addProblem adds a sentence about the value at path, unless there are maxProblems already. The path "" is that of all arguments.
func (c *checker) addProblem(path, format string, args ...any) {
	if len(c.problems) < maxProblems {
		if path == "" {
			path = "the arguments"
		}
		c.problems = append(c.problems, clip(path, 120)+" "+fmt.Sprintf(format, args...))
	}
}

// isOver counts a step of the check, and reports whether the check must end: its budget, the nesting or the number of problems is used up.
func (c *checker) isOver(depth int) bool {
	c.budget--
	return c.budget < 0 || depth > maxNesting || len(c.problems) >= maxProblems
}

// checkValue checks v against a schema. path is the place of v in the arguments, and depth how deep the check is nested.
func (c *checker) checkValue(path string, schema, v any, depth int) {
	if c.isOver(depth) {
		return
	}
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			c.addProblem(path, "is not allowed")
		}
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := c.resolvePointer(ref); ok {
			c.checkValue(path, target, v, depth+1)
		}
	}
	wanted := typesOf(s["type"])
	v, ok = convertible(v, wanted)
	if !ok {
		c.addProblem(path, "is %s; it must be %s", describe(v), anyOfTypes(wanted))
		return
	}
	c.checkEnum(path, s, v)
	switch x := v.(type) {
	case map[string]any:
		c.checkObject(path, s, x, depth)
	case []any:
		c.checkArray(path, s, x, depth)
	case string:
		c.checkLength(path, s, "character", len([]rune(x)), "minLength", "maxLength")
	case json.Number:
		c.checkNumber(path, s, x)
	}
	c.checkCombined(path, s, v, depth)
}

// checkEnum checks v against the schema's enum or const. A value that means the same as one of them passes, and any once the budget is used up.
func (c *checker) checkEnum(path string, s map[string]any, v any) {
	values, ok := s["enum"].([]any)
	if one, is := s["const"]; is {
		values, ok = []any{one}, true
	}
	if !ok || len(values) == 0 {
		return
	}
	var shown []string
	text, number := compact(v), v // written once: it may be large, and the values many
	for _, w := range values {
		if c.budget--; sameText(text, number, w) || c.budget < 0 {
			return
		}
		if len(shown) < 12 {
			shown = append(shown, compact(w))
		}
	}
	more := ""
	if len(values) > len(shown) {
		more = fmt.Sprintf(" and %d more", len(values)-len(shown))
	}
	c.addProblem(path, "is %s; it must be one of: %s%s", text, strings.Join(shown, ", "), more)
}

// checkObject checks an object: that required members are there, and each member against its schema. A null in a member that is not required counts
// as none. It stops when the budget of checks is used up.
func (c *checker) checkObject(path string, s, v map[string]any, depth int) {
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	needed := map[string]bool{}
	for _, r := range required {
		name, ok := r.(string)
		if c.budget--; !ok || c.budget < 0 {
			continue
		}
		needed[name] = true
		if _, there := v[name]; !there {
			c.addProblem(joinPath(path, name), "is missing%s", typeHint(properties[name]))
		}
	}
	_, patterns := s["patternProperties"]
	others, bounded := s["additionalProperties"]
	for _, name := range sortedKeys(v) {
		// A name that is not known takes a look at all that are.
		if c.budget--; c.budget < 0 || len(c.problems) >= maxProblems {
			return
		}
		p, known := properties[name]
		switch {
		case known && v[name] == nil && !needed[name]: // none
		case known:
			c.checkValue(joinPath(path, name), p, v[name], depth+1)
		case !bounded || patterns:
		case others == false:
			c.addProblem(joinPath(path, name), "is not known%s%s", suggestion(name, sortedKeys(properties)), knownNames(properties))
		default:
			c.checkValue(joinPath(path, name), others, v[name], depth+1)
		}
	}
}

// checkArray checks the length of an array and each element against items. Tuples are checked for their length only.
func (c *checker) checkArray(path string, s map[string]any, v []any, depth int) {
	c.checkLength(path, s, "element", len(v), "minItems", "maxItems")
	if _, tuple := s["prefixItems"]; tuple {
		return
	}
	items, ok := s["items"]
	if _, tuple := items.([]any); tuple || !ok {
		return
	}
	for i, e := range v {
		if c.budget < 0 {
			return
		}
		c.checkValue(fmt.Sprintf("%s[%d]", path, i), items, e, depth+1)
	}
}

func (c *checker) checkLength(path string, s map[string]any, noun string, n int, minKeyword, maxKeyword string) {
	if m, ok := numberOf(s[minKeyword]); ok && float64(n) < m {
		c.addProblem(path, "has %s; it must have at least %g", plural(n, noun), m)
	}
	if m, ok := numberOf(s[maxKeyword]); ok && float64(n) > m {
		c.addProblem(path, "has %s; it may have at most %g", plural(n, noun), m)
	}
}

func (c *checker) checkNumber(path string, s map[string]any, v json.Number) {
	n, ok := numberOf(v)
	if !ok {
		return
	}
	if m, ok := numberOf(s["minimum"]); ok && n < m {
		c.addProblem(path, "is %s; it must be at least %g", compact(v), m)
	}
	if m, ok := numberOf(s["maximum"]); ok && n > m {
		c.addProblem(path, "is %s; it may be at most %g", compact(v), m)
	}
	if m, ok := numberOf(s["exclusiveMinimum"]); ok && n <= m {
		c.addProblem(path, "is %s; it must be more than %g", compact(v), m)
	}
	if m, ok := numberOf(s["exclusiveMaximum"]); ok && n >= m {
		c.addProblem(path, "is %s; it must be less than %g", compact(v), m)
	}
}

// checkCombined checks v against allOf, anyOf and oneOf. Of anyOf and of oneOf it is enough that one alternative fits.
func (c *checker) checkCombined(path string, s map[string]any, v any, depth int) {
	if all, ok := s["allOf"].([]any); ok {
		for _, one := range all {
			c.checkValue(path, one, v, depth+1)
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		all, ok := s[key].([]any)
		if !ok || len(all) == 0 {
			continue
		}
		var fewest []string
		fits := false
		for _, one := range all {
			if c.budget < 0 {
				return
			}
			try := &checker{root: c.root, budget: c.budget}
			try.checkValue(path, one, v, depth+1)
			c.budget = try.budget
			if fits = len(try.problems) == 0; fits {
				break
			}
			if fewest == nil || len(try.problems) < len(fewest) {
				fewest = try.problems
			}
		}
		if !fits {
			c.problems = append(c.problems, fewest[:min(len(fewest), maxProblems-len(c.problems))]...)
		}
	}
}

// resolvePointer returns the part of the root schema that a $ref within it points to; false if there is none.
func (c *checker) resolvePointer(ref string) (any, bool) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	at := c.root
	for part := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if part == "" {
			continue
		}
		m, ok := at.(map[string]any)
		if c.budget--; !ok || c.budget < 0 {
			return nil, false
		}
		at, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		if !ok {
			return nil, false
		}
	}
	return at, true
}
