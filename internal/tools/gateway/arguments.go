package gateway

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// argumentError is the error for an invalid argument of one of the added tools. Its text is for the model.
type argumentError struct{ text string }

func (w *argumentError) Error() string { return w.text }

// argumentErrorf returns an argumentError with a formatted text.
func argumentErrorf(format string, args ...any) *argumentError {
	return &argumentError{fmt.Sprintf(format, args...)}
}

// arguments holds the raw values of a call's arguments, by name.
type arguments struct{ values map[string][]byte }

// readArguments returns the members of a raw JSON object that have one of these names. A member that is null counts as absent, and empty
// text as an empty object; anything but an object is an error.
func readArguments(object []byte, names ...string) (arguments, error) {
	a := arguments{values: map[string][]byte{}}
	if len(object) == 0 {
		return a, nil
	}
	for m, err := range rawjson.Members(object, 0) {
		if err != nil {
			return a, argumentErrorf("arguments must be a JSON object")
		}
		for _, name := range names {
			if string(m.Key) == name {
				if v := m.Value.Of(object); string(v) != "null" {
					a.values[name] = v
				}
			}
		}
	}
	return a, nil
}

// text returns a string argument, or "" if it is absent. Numbers and booleans, which models write where they mean strings, are accepted;
// objects and arrays are an error. If the argument is required, an absent or empty one is an error too.
func (a arguments) text(name string, required bool) (string, error) {
	v, ok := a.values[name]
	switch {
	case !ok && required:
		return "", argumentErrorf("%s is missing", name)
	case !ok:
		return "", nil
	case v[0] == '"':
		s := string(rawjson.Unquote(nil, v))
		if required && s == "" {
			return "", argumentErrorf("%s is empty", name)
		}
		return s, nil
	case v[0] == '{' || v[0] == '[':
		return "", argumentErrorf("%s must be a string", name)
	}
	return string(v), nil
}

// number returns a whole number; fallback if the argument is absent. It also accepts strings and forms such as 2.0, as models write both.
func (a arguments) number(name string, fallback int64) (int64, error) {
	v, ok := a.values[name]
	if !ok {
		return fallback, nil
	}
	s := string(v)
	if v[0] == '"' {
		s = strings.TrimSpace(string(rawjson.Unquote(nil, v)))
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return int64(f), nil
	case err == nil || isRangeError(err):
		return 0, argumentErrorf("%s must be a whole number of ordinary size", name)
	}
	return 0, argumentErrorf("%s must be a whole number, such as 1", name)
}

// isRangeError reports whether err means that a number is out of the range of its type.
func isRangeError(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}

// flag returns a boolean argument, also written as a string, a number or yes/no; false if it is absent.
func (a arguments) flag(name string) (bool, error) {
	v, ok := a.values[name]
	if !ok {
		return false, nil
	}
	s := string(v)
	if v[0] == '"' {
		s = strings.ToLower(string(rawjson.Unquote(nil, v)))
	}
	switch s {
	case "true", "1", "yes":
		return true, nil
	case "false", "0", "no", "":
		return false, nil
	}
	return false, argumentErrorf("%s must be true or false", name)
}
