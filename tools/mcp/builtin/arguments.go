package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// maxProblems bounds the mistakes that are reported at once; further ones are counted.
const maxProblems = 8

// decoder reads arguments into a struct and collects all mistakes in them: a model can then correct all in one more call.
type decoder struct {
	tool     string
	problems []string
	more     int // problems that are only counted
}

// decode reads arguments, valid JSON of an object, into a pointer to a struct of type t. The error lists all mistakes.
func (d *decoder) decode(arguments []byte, t reflect.Type, known []field, into any) error {
	exact := d.appendObject(nil, arguments, known, "")
	if len(d.problems) == 0 {
		if err := json.Unmarshal(exact, into); err != nil {
			d.problem("%s", refusal(err))
		}
	}
	if len(d.problems) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s was not called: %s", d.tool, strings.Join(d.problems, "; "))
	if d.more > 0 {
		fmt.Fprintf(&b, "; and %d more", d.more)
	}
	if !strings.HasSuffix(b.String(), "?") {
		b.WriteString(".")
	}
	if len(known) == 0 {
		b.WriteString(" It takes no arguments.")
		return errors.New(b.String())
	}
	b.WriteString(" Its arguments: ")
	for i, f := range known {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(f.name)
		if !f.optional {
			b.WriteString(" (required)")
		}
	}
	b.WriteString(".")
	return errors.New(b.String())
}

// refusal returns the text for an error of a type's own UnmarshalJSON or UnmarshalText.
func refusal(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Sprintf("%q is %s, which does not fit", wrong.Field, wrong.Value)
	}
	return limit.Short(err.Error(), 2*maxShown)
}

// problem records a mistake; of more than maxProblems only the number.
func (d *decoder) problem(format string, a ...any) {
	if len(d.problems) == maxProblems {
		d.more++
		return
	}
	d.problems = append(d.problems, fmt.Sprintf(format, a...))
}

// wrong records the mistake that the argument at must be what, and is raw.
func (d *decoder) wrong(at, what string, raw []byte) {
	d.problem("%q must be %s, not %s", at, what, limit.Short(string(raw), maxShown))
}

// appendObject appends raw, an object, to dst as exact JSON for a struct with these fields, and records the mistakes in it. at is the prefix of
// its arguments' names.
func (d *decoder) appendObject(dst, raw []byte, known []field, at string) []byte {
	given := make(map[string]bool, len(known))
	dst = append(dst, '{')
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil {
			d.problem("%q cannot be read: %v", at, err)
			return dst
		}
		name, value := string(m.Key), m.Value.Of(raw)
		f := fieldNamed(known, name)
		switch {
		case f == nil:
			names := make([]string, len(known))
			for i := range known {
				names[i] = known[i].name
			}
			shown := limit.Short(name, maxShown)
			d.problem("%q (%s) is not known%s", at+shown, limit.Short(string(value), maxShown), suggestion(shown, names))
			continue
		case given[name]:
			d.problem("%q is given twice", at+name)
			continue
		case string(value) == "null": // counts as absent
			continue
		}
		given[name] = true
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = d.appendValue(append(rawjson.Quote(dst, name), ':'), value, f.of, at+name)
	}
	for _, f := range known {
		if !f.optional && !given[f.name] {
			d.problem("%q is missing: %s", at+f.name, typeName(f.of))
		}
	}
	return append(dst, '}')
}

// fieldNamed returns the field with this name; nil if there is none.
func fieldNamed(known []field, name string) *field {
	for i := range known {
		if known[i].name == name {
			return &known[i]
		}
	}
	return nil
}

// typeName describes in words which values a type accepts.
func typeName(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return "an integer that is not negative"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		if decodesItself(t) {
			return "a value"
		}
		many := typeName(t.Elem())
		return "an array, each of it " + many
	case reflect.Map, reflect.Struct:
		if decodesItself(t) {
			return "a value"
		}
		return "an object"
	}
	return "a value"
}

// appendValue appends raw to dst as exact JSON for type t. If that is not possible it records the mistake and appends null.
func (d *decoder) appendValue(dst, raw []byte, t reflect.Type, at string) []byte {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if decodesItself(t) {
		return append(dst, raw...)
	}
	switch t.Kind() {
	case reflect.String:
		if raw[0] == '"' {
			return append(dst, raw...)
		}
	case reflect.Bool:
		switch word := strings.ToLower(text(raw)); word {
		case "true", "false":
			return append(dst, word...)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if n, err := strconv.ParseInt(integerText(raw), 10, t.Bits()); err == nil {
			return strconv.AppendInt(dst, n, 10)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if n, err := strconv.ParseUint(integerText(raw), 10, t.Bits()); err == nil {
			return strconv.AppendUint(dst, n, 10)
		}
	case reflect.Float32, reflect.Float64:
		if n := number(raw); n != "" {
			if _, err := strconv.ParseFloat(n, t.Bits()); err == nil {
				return append(dst, n...)
			}
		}
	case reflect.Slice, reflect.Array:
		if out, ok := d.appendArray(dst, raw, t, at); ok {
			return out
		}
	case reflect.Struct:
		if raw = unwrapString(raw, '{'); raw[0] == '{' {
			return d.appendObject(dst, raw, fieldsOf(t), at+".")
		}
	case reflect.Map:
		if raw = unwrapString(raw, '{'); raw[0] == '{' {
			return d.appendMap(dst, raw, t, at)
		}
	default: // any value
		return append(dst, raw...)
	}
	d.wrong(at, typeName(t), raw)
	return append(dst, "null"...)
}

// appendArray appends an array; ok is false if raw is not one. One string counts as an array of one if strings are expected.
func (d *decoder) appendArray(dst, raw []byte, t reflect.Type, at string) ([]byte, bool) {
	raw = unwrapString(raw, '[')
	if raw[0] == '"' && t.Elem().Kind() == reflect.String {
		return append(append(append(dst, '['), raw...), ']'), true
	}
	if raw[0] != '[' {
		return dst, false
	}
	dst = append(dst, '[')
	i := 0
	for v, err := range rawjson.Elements(raw, 0) {
		if err != nil {
			d.problem("%q cannot be read: %v", at, err)
			break
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = d.appendValue(dst, v.Of(raw), t.Elem(), fmt.Sprintf("%s[%d]", at, i))
		i++
	}
	return append(dst, ']'), true
}

// appendMap appends raw, an object with arbitrary keys, to dst as exact JSON for a map type, and records the mistakes in it. A null counts as absent,
// unless values may be anything.
func (d *decoder) appendMap(dst, raw []byte, t reflect.Type, at string) []byte {
	dst = append(dst, '{')
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil {
			d.problem("%q cannot be read: %v", at, err)
			break
		}
		value := m.Value.Of(raw)
		if string(value) == "null" && t.Elem().Kind() != reflect.Interface {
			continue
		}
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = d.appendValue(append(append(dst, m.Name.Of(raw)...), ':'), value, t.Elem(), at+"."+limit.Short(string(m.Key), maxShown))
	}
	return append(dst, '}')
}

// unwrapString returns the array or object (opens is its bracket) that a model wrote as a JSON string; raw unchanged if it did not.
func unwrapString(raw []byte, opens byte) []byte {
	if raw[0] != '"' {
		return raw
	}
	inner := bytes.TrimSpace(rawjson.Unquote(nil, raw))
	if len(inner) > 0 && inner[0] == opens && json.Valid(inner) {
		return inner
	}
	return raw
}

// text returns the content of a string value, and the raw text of any other value.
func text(raw []byte) string {
	if raw[0] != '"' {
		return string(raw)
	}
	return strings.TrimSpace(string(rawjson.Unquote(nil, raw)))
}

// number returns a JSON number, also one that is written as a string; "" if it is not a number.
func number(raw []byte) string {
	n := text(raw)
	if n == "" || strings.IndexByte("-0123456789", n[0]) < 0 || !json.Valid([]byte(n)) {
		return ""
	}
	return n
}

// integerText returns the digits of a whole number, as 20 for 20.0 and 2e1; "" if it is not a whole number.
func integerText(raw []byte) string {
	n := number(raw)
	if !strings.ContainsAny(n, ".eE") {
		return n
	}
	const exact = 1 << 53 // beyond it a float is not one integer
	if f, err := strconv.ParseFloat(n, 64); err == nil && f == math.Trunc(f) && math.Abs(f) <= exact {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return ""
}

// maxShown bounds the part of a client's input that an error quotes, in bytes.
const maxShown = 80

// suggestion returns `, did you mean "x"?` for the known name that is most like name, and "" if none is.
func suggestion(name string, known []string) string {
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return ""
}
