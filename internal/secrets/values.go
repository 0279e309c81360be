package secrets

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// minValue is the least length of a value that is looked for in other texts: a shorter one is part of too many words.
const minValue = 8

// maxValues bounds the number of values that are looked for, where one that is the same in JSON counts half; an environment has a dozen.
const maxValues = 256

// Values holds secrets that are known themselves. The zero value and nil hide nothing.
type Values struct {
	forms [][]byte // as they are, and as in a string of JSON; longer ones first
}

// Environ returns the values in environ, each NAME=value, of the variables with the name of a secret. It leaves out values that are shorter
// than eight bytes, harmless or begin with a slash, and those beyond maxValues.
func Environ(environ []string) *Values {
	v := &Values{}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if len(value) < minValue || !containsAny(strings.ToLower(name), nameParts) || Harmless(value) || !PairNamed(name) || strings.HasPrefix(value, "/") {
			continue
		}
		if len(v.forms) >= 2*maxValues {
			break
		}
		v.add([]byte(value))
		if quoted, err := json.Marshal(value); err == nil {
			v.add(quoted[1 : len(quoted)-1])
		}
	}
	sorting.By(v.forms, func(a, b []byte) int { return len(b) - len(a) })
	return v
}

func (v *Values) add(form []byte) {
	if !slices.ContainsFunc(v.forms, func(f []byte) bool { return bytes.Equal(f, form) }) {
		v.forms = append(v.forms, form)
	}
}

// Text is [Text] and also masks the values.
func (v *Values) Text(s string) string { return v.hide(Text(s)) }

// hide returns s with the values masked.
func (v *Values) hide(s string) string {
	if v == nil {
		return s
	}
	for _, form := range v.forms {
		if strings.Contains(s, string(form)) {
			return string(v.Hide([]byte(s)))
		}
	}
	return s
}

// Hide returns text, which may be JSON, with the values masked; text itself if it has none.
func (v *Values) Hide(text []byte) []byte {
	if v == nil {
		return text
	}
	for _, form := range v.forms {
		if bytes.Contains(text, form) {
			text = bytes.ReplaceAll(text, form, []byte(Hidden))
		}
	}
	return text
}

// Masked returns v with credentials in its texts masked, as [Text] and [Values.Hide] do, at any depth of structs, interfaces and slices of texts or
// structs. Pointers, maps and unexported fields stay as they are. It returns v itself where there are none.
func Masked[T any](values *Values, v T) T {
	from := reflect.ValueOf(&v).Elem()
	to, changed := values.mask(from)
	if !changed {
		return v
	}
	return to.Interface().(T)
}

// mask returns a copy of v with credentials masked as [Masked] does; false if there are none, and then no value or v itself.
func (known *Values) mask(v reflect.Value) (reflect.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		text := v.String()
		safe := text
		if Suspicious([]byte(text)) {
			safe = Text(text)
		}
		safe = known.hide(safe)
		if safe == text {
			return v, false
		}
		to := reflect.New(v.Type()).Elem()
		to.SetString(safe)
		return to, true
	case reflect.Interface:
		if v.IsNil() {
			return v, false
		}
		inner, changed := known.mask(v.Elem())
		if !changed {
			return v, false
		}
		to := reflect.New(v.Type()).Elem()
		to.Set(inner)
		return to, true
	case reflect.Struct:
		var to reflect.Value
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			inner, changed := known.mask(v.Field(i))
			if !changed {
				continue
			}
			if !to.IsValid() {
				to = reflect.New(v.Type()).Elem()
				to.Set(v)
			}
			to.Field(i).Set(inner)
		}
		return to, to.IsValid()
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.String && k != reflect.Struct {
			return v, false
		}
		var to reflect.Value
		for i := range v.Len() {
			inner, changed := known.mask(v.Index(i))
			if !changed {
				continue
			}
			if !to.IsValid() {
				to = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
				reflect.Copy(to, v)
			}
			to.Index(i).Set(inner)
		}
		return to, to.IsValid()
	}
	return v, false
}
