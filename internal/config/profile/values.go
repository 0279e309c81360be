package profile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// bareKey lists the characters of a TOML key that needs no quotes.
const bareKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// tomlText returns a text as a basic string of TOML.
func tomlText(s string) string {
	return strings.ReplaceAll(string(rawjson.Quote(nil, s)), "\x7f", `\u007F`)
}

// tomlTexts returns list as a TOML array of strings.
func tomlTexts(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = tomlText(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// decodeTOML parses a document; "" is an empty table. Its errors hold no text of the document.
func decodeTOML(doc []byte) (map[string]any, error) {
	out := map[string]any{}
	if len(doc) == 0 {
		return out, nil
	}
	if err := toml.Unmarshal(doc, &out); err != nil {
		return map[string]any{}, fmt.Errorf("is not TOML")
	}
	return out, nil
}

// merge copies the members of over into base; tables are merged into tables, down to maxNesting.
func merge(base, over map[string]any, depth int) {
	for key, value := range over {
		into, table := base[key].(map[string]any)
		if from, ok := value.(map[string]any); ok && table && depth < maxNesting {
			merge(into, from, depth+1)
			continue
		}
		base[key] = value
	}
}

// assign sets the value of a dotted key, given in parts, and makes the tables on the way. A key of maxNesting parts or more sets only its first
// part.
func assign(table map[string]any, path []string, value any) {
	for len(path) > 1 && len(path) < maxNesting {
		next, ok := table[path[0]].(map[string]any)
		if !ok {
			next = map[string]any{}
			table[path[0]] = next
		}
		table, path = next, path[1:]
	}
	table[path[0]] = value
}

// text returns v if it is a string, else "".
func text(v any) string {
	s, _ := v.(string)
	return s
}

// number returns v if it is an int64 or float64, else 0.
func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// object returns v if it is a table, else nil.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

// clip returns a foreign word in quotes, shortened and without control characters, which could control a terminal.
func clip(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
	return strconv.Quote(limit.Short(s, 43))
}
