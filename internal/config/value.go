package config

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// form is the syntax in which a value was written. formText is text from a variable or a flag, without a type: it is read as the type that
// the key has.
type form string

const (
	formText   form = "text"
	formString form = "a string"
	formInt    form = "an integer"
	formFloat  form = "a float"
	formBool   form = "a boolean"
	formList   form = "a list"
	formTable  form = "a table"
	formTime   form = "a date or time"
)

// written is a value before its key has parsed it. text is the content of a string, and the spelling of any other value.
type written struct {
	form  form
	text  string
	items []written // of a list
}

// maxItems bounds a list; no key needs more.
const maxItems = 256

// misfit is the error of a value: its fault, and how to correct it.
type misfit struct{ what, fix string }

func (m *misfit) Error() string { return m.what + "; " + m.fix }

// parse returns a value in the Go type of the key: limit.Bytes, int, bool, string, time.Duration, float64, NoticeWay or []string. The error
// is a *misfit.
func (k *Key) parse(w written, a Alias) (any, error) {
	switch {
	case a.MiB:
		return k.parseMiB(w, a.Name)
	case w.isText() && (strings.TrimSpace(w.text) == "auto" || k.auto != "" && strings.TrimSpace(w.text) == k.auto):
		switch k.Type {
		case TypeAutoSize:
			return Auto, nil
		case TypeAutoCount:
			return int(Auto), nil
		case TypeAutoRatio:
			return float64(Auto), nil
		}
	}
	switch k.Type {
	case TypeSize, TypeAutoSize:
		return k.parseSize(w)
	case TypeCount, TypeAutoCount, TypeToolCount:
		return k.parseCount(w)
	case TypeBool:
		if w.form == formBool || w.form == formText {
			switch strings.ToLower(w.text) {
			case "true":
				return true, nil
			case "false":
				return false, nil
			}
		}
		return nil, k.misfitFor(w, "true or false", "true")
	case TypeChoice:
		if !w.isText() {
			return nil, k.misfitFor(w, "a string", strconv.Quote(k.Default))
		}
		return k.choose(w.text)
	case TypeChoices, TypeNames, TypeHosts, TypeNetworks, TypeOrigins, TypePatterns, TypeArgv, TypePairs, TypeServers:
		return k.parseList(w)
	case TypeDuration, TypeWait:
		return k.parseDuration(w)
	case TypeRatio, TypeAutoRatio, TypeNumber:
		return k.parseRatio(w)
	case TypeURL, TypeAnyURL:
		return k.parseURL(w)
	case TypeNATS:
		return k.parseNATS(w)
	case TypeCollector:
		return k.parseCollector(w)
	case TypeAddress:
		return k.parseAddress(w)
	case TypeVariable:
		return k.parseVariable(w)
	case TypeText:
		maxLen, want := maxText, "a short text"
		if k.max > 0 {
			maxLen, want = int(k.max), "a text of at most "+limit.Bytes(k.max).String()
		}
		if !w.isText() || len(w.text) > maxLen {
			return nil, k.misfitFor(w, want, k.example)
		}
		return strings.TrimSpace(w.text), nil
	case TypeDirectory, TypeFile:
		if !w.isText() {
			return nil, k.misfitFor(w, "a string", k.example)
		}
		if w.text != "" && !filepath.IsAbs(w.text) || strings.ContainsRune(w.text, 0) {
			return nil, &misfit{quote(w.text) + " is not an absolute path", "write the whole path, like " + k.example}
		}
		return w.text, nil
	case TypeNotify:
		return k.parseNotify(w)
	case TypeNearFile:
		if !w.isText() || strings.ContainsRune(w.text, 0) || len(w.text) > maxText {
			return nil, k.misfitFor(w, "the path of a file", k.example)
		}
		return w.text, nil
	}
	return nil, k.misfitFor(w, "a table", k.example)
}

func (w written) isText() bool { return w.form == formString || w.form == formText }

// misfitFor returns a *misfit for a value that is not want, such as "a size". It repeats the value, and has the example as advice.
func (k *Key) misfitFor(w written, want, example string) error {
	value := quote(w.text)
	if w.form == formList || w.form == formTable || w.form == formInt || w.form == formBool || w.form == formFloat || w.form == formTime {
		value = string(w.form)
		if w.form != formList && w.form != formTable {
			value = clip(w.text) + " is " + value
		} else {
			value = "is " + value
		}
		return &misfit{value + ", not " + want, fmt.Sprintf("write %s = %s", k.Name, example)}
	}
	return &misfit{value + " is not " + want, fmt.Sprintf("write %s = %s", k.Name, example)}
}

// parseSize returns a limit.Bytes in the range of the key, else a *misfit. A bare number in a file has no unit, which is one too, unless it is 0.
func (k *Key) parseSize(w written) (any, error) {
	if w.form == formInt && w.text != "0" {
		// A bare number is bytes to this program and megabytes to its forerunner.
		near := clip(w.text) + "M"
		if n, err := strconv.ParseInt(w.text, 10, 64); err == nil && n >= int64(limit.GiB) {
			near = limit.Bytes(n).String() // nobody means a million gigabytes
		} else if err == nil && n > k.max/int64(limit.MiB) {
			near = limit.Bytes(n).String() // megabytes would be more than may be
		}
		return nil, &misfit{clip(w.text) + " has no unit", fmt.Sprintf("write %s = %q or another unit", k.Name, near)}
	}
	if !w.isText() && w.form != formInt {
		return nil, k.misfitFor(w, "a size", k.example)
	}
	b, err := limit.ParseBytes(w.text)
	if err != nil {
		fix := fmt.Sprintf("write %s = %s", k.Name, k.example)
		if near := nearSize(w.text); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, &misfit{quote(w.text) + " is not a size", fix}
	}
	return k.sizeInRange(b, w.text)
}

// nearSize returns a size that a mistyped text was probably meant to be, with a doubled unit or a decimal comma corrected; "" if there is none.
func nearSize(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), ",", ".")
	if len(text) > 32 {
		return ""
	}
	digits := strings.TrimLeft(text, "0123456789.")
	for n := 1; n <= len(digits); n++ {
		candidate := text[:len(text)-len(digits)+n]
		if _, err := limit.ParseBytes(candidate); err == nil {
			return candidate
		}
	}
	if _, err := limit.ParseBytes(text); err == nil {
		return text
	}
	return ""
}

// sizeInRange returns b, or a *misfit if it is not between k.min and k.max. A bare number gets the advice that a unit is missing.
func (k *Key) sizeInRange(b limit.Bytes, text string) (any, error) {
	if int64(b) < k.min || int64(b) > k.max {
		fix := fmt.Sprintf("write %s = %s", k.Name, k.example)
		if _, err := strconv.ParseUint(text, 10, 32); err == nil && b > 0 {
			fix = fmt.Sprintf("without a unit it is bytes: did you mean %q?", text+"M")
		}
		return nil, &misfit{fmt.Sprintf("%s is out of range, %s to %s", quote(text), limit.Bytes(k.min), limit.Bytes(k.max)), fix}
	}
	return b, nil
}

// parseMiB returns a whole number of MiB as limit.Bytes, else a *misfit that calls the key by name.
func (k *Key) parseMiB(w written, name string) (any, error) {
	example := fmt.Sprintf("write %s = 4096, a whole number of MiB, or %s = %s", name, k.Name, k.example)
	if w.form != formInt && w.form != formText {
		return nil, &misfit{describe(w) + ", not a whole number", example}
	}
	n, err := parseInt(w)
	if err != nil || n < 0 || n > maxMemory/int64(limit.MiB) || n*int64(limit.MiB) < k.min {
		return nil, &misfit{fmt.Sprintf("%s is out of range, %d to %d MiB", clip(w.text), (k.min+minMemory-1)/minMemory, maxMemory/minMemory), example}
	}
	return limit.Bytes(n) * limit.MiB, nil
}

// parseCount returns an int in the range of the key, or 0 if the key is optional, else a *misfit.
func (k *Key) parseCount(w written) (any, error) {
	want := "an integer"
	if k.Type == TypeAutoCount {
		want = `an integer or "auto"`
	}
	said, unit := w.text, int64(1)
	if k.thousands && w.isText() {
		w, unit = splitThousands(w)
	}
	if w.form != formInt && w.form != formText {
		return nil, k.misfitFor(w, want, k.example)
	}
	n, err := parseInt(w)
	if err != nil && w.form == formText {
		return nil, k.misfitFor(w, want, k.example)
	}
	n = min(n, math.MaxInt64/1_000_000_000) * unit
	if err != nil || (n < k.min || n > k.max) && (n != 0 || !k.optional) {
		return nil, &misfit{fmt.Sprintf("%s is out of range, %d to %d", clip(said), k.min, k.max), fmt.Sprintf("write %s = %s", k.Name, k.example)}
	}
	return int(n), nil
}

// ParseNumber reads a number as it is written for the key of this id, 2M tokens or 60%.
func ParseNumber(id, text string) (float64, error) {
	for _, k := range keys {
		if k.ID() != id {
			continue
		}
		v, err := k.parse(written{form: formText, text: text}, Alias{Name: k.Name})
		if err != nil {
			return 0, err
		}
		switch v := v.(type) {
		case int:
			return float64(v), nil
		case float64:
			return v, nil
		}
	}
	return 0, fmt.Errorf("%s is not a key whose value is a number", quote(id))
}

// splitThousands cuts the k, M or G off a number of tokens, and returns the number and the factor: "1.5M" becomes 15 and 100,000. Without
// such a letter the factor is 1.
func splitThousands(w written) (written, int64) {
	text := strings.ToLower(strings.TrimSpace(w.text))
	for letter, unit := range map[string]int64{"k": 1000, "m": 1_000_000, "g": 1_000_000_000} {
		number, ok := strings.CutSuffix(text, letter)
		if !ok {
			continue
		}
		whole, part, _ := strings.Cut(number, ".")
		for ; part != "" && unit > 1; unit /= 10 {
			whole, part = whole+part[:1], part[1:]
		}
		if part == "" {
			return written{form: formText, text: whole}, unit
		}
	}
	return w, 1
}

// parseInt parses a TOML integer, which may be written 4_096, 0xff or +3; text from a variable or flag must be decimal.
func parseInt(w written) (int64, error) {
	text := strings.TrimSpace(w.text)
	if w.form == formText {
		return strconv.ParseInt(text, 10, 64)
	}
	if len(text) > 1 && text[0] == '0' {
		return strconv.ParseInt(text, 0, 64)
	}
	return strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
}

// choose returns the one of the key's choices that text stands for, as it is written in the schema, else a *misfit.
func (k *Key) choose(text string) (any, error) {
	folded := fold(text)
	for _, c := range k.Choices {
		if fold(c) == folded {
			return c, nil
		}
	}
	fix := "write one of them"
	if near := closest(text, k.Choices); near != "" {
		fix = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, &misfit{fmt.Sprintf("%s is not one of %s", quote(text), strings.Join(k.Choices, ", ")), fix}
}

var joined = strings.NewReplacer("-", "", "_", "")

// fold returns a text in the form that is compared: Required, BestEffort, best-effort and best_effort without case, - and _.
func fold(s string) string { return strings.ToLower(joined.Replace(strings.TrimSpace(s))) }

// parseDuration returns a time.Duration in the range of the key, else a *misfit. A time to wait may also be forever, or empty, which is 0.
func (k *Key) parseDuration(w written) (any, error) {
	if !w.isText() {
		return nil, k.misfitFor(w, "a duration", k.example)
	}
	if k.Type == TypeWait {
		switch strings.TrimSpace(w.text) {
		case "":
			return time.Duration(0), nil
		case "forever":
			return Forever, nil
		}
	}
	d, err := time.ParseDuration(strings.TrimSpace(w.text))
	if err != nil {
		return nil, k.misfitFor(w, "a duration", k.example)
	}
	if int64(d) < k.min || int64(d) > k.max {
		return nil, &misfit{fmt.Sprintf("%s is out of range, %s to %s", quote(w.text), time.Duration(k.min), time.Duration(k.max)), fmt.Sprintf("write %s = %s", k.Name, k.example)}
	}
	return d, nil
}

// format returns a value as a person would write it, without quotes except around members of a list that need them; "" for nil. The key parses it
// back to the same value, unless it is a URL for notices, which is not shown whole.
func format(v any) string {
	switch v := v.(type) {
	case limit.Bytes:
		if v == Auto {
			return "auto"
		}
		return v.String()
	case int:
		if v == int(Auto) {
			return "auto"
		}
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	case float64:
		if v == float64(Auto) {
			return "auto"
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Duration:
		if v == Forever {
			return "forever"
		}
		return v.String()
	case []string:
		return joinMembers(v)
	case NoticeWay:
		return v.String()
	case string:
		return v
	}
	return ""
}

// looseness returns a number that orders the values of a key: the larger, the less a run is limited. "auto", and 0 of a key where 0 means no
// limit, are the largest; of choices the first one is.
func (k *Key) looseness(v any) int64 {
	switch v := v.(type) {
	case limit.Bytes:
		if v == Auto || v == 0 && k.noBound {
			return math.MaxInt64
		}
		return int64(v)
	case int:
		if v == int(Auto) || v == 0 && k.noBound {
			return math.MaxInt64
		}
		return int64(v)
	case time.Duration:
		if v == 0 && k.noBound {
			return math.MaxInt64
		}
		return int64(v)
	case float64:
		if v == float64(Auto) || v == 0 && k.noBound {
			return math.MaxInt64
		}
		return int64(v * 1e6)
	case string:
		return -int64(slices.Index(k.Choices, v))
	case bool:
		if v {
			return 1
		}
		return -1
	case nil: // a switch that nobody has set lies between on and off
		return 0
	}
	return math.MaxInt64
}

// describe returns words for a value that has the wrong form, for the beginning of a problem's text.
func describe(w written) string {
	switch w.form {
	case formList, formTable:
		return "is " + string(w.form)
	case formText:
		return quote(w.text)
	case formString:
		return quote(w.text) + " is a string"
	}
	return clip(w.text) + " is " + string(w.form)
}

// maxShown bounds the part of a value that a message repeats, in bytes.
const maxShown = 64

func clip(s string) string { return limit.Short(s, maxShown) }

func quote(s string) string { return strconv.Quote(clip(s)) }

// zero returns the value of a key that has no default and is not set, nil for a switch.
func (k *Key) zero() any {
	switch k.Type {
	case TypeSize, TypeAutoSize:
		return limit.Bytes(0)
	case TypeDuration, TypeWait:
		return time.Duration(0)
	case TypeBool:
		return nil
	case TypeCount, TypeAutoCount, TypeToolCount:
		return 0
	case TypeRatio, TypeAutoRatio, TypeNumber:
		return float64(0)
	case TypeChoices, TypeNames, TypeHosts, TypeNetworks, TypeOrigins, TypePatterns, TypeArgv, TypePairs, TypeServers:
		return []string(nil)
	case TypeNotify:
		return NoticeWay(nil)
	}
	return ""
}
