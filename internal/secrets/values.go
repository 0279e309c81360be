package secrets

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// minValue is the least length of a value to be looked for in other texts: a shorter one is part of too many words.
const minValue = 8

// maxValues bounds the values that are looked for; an environment has a dozen.
const maxValues = 256

// Values are secrets that are known themselves. The zero value and nil hide nothing.
type Values struct {
	forms [][]byte // as they are, and as a string of JSON has them; longer ones first
}

// Environ returns the values of the variables that have the name of a secret, each as NAME=value.
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

// Text works like [Text], and masks the values too.
func (v *Values) Text(s string) string { return v.hide(Text(s)) }

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

// Hide masks the values in text, which may be JSON. It returns text itself where there are none.
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
