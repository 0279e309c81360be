package gateway

import (
	"bytes"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// The arguments that a list tool is given. They never reach the server.
const (
	argPage     = "page"
	argPageSize = "page_size"
	argFilter   = "filter"
)

var augmentProperties = []struct{ name, schema string }{
	{argPage, `{"type":"integer","minimum":1,"description":"Page of the result, counted from 1"}`},
	{argPageSize, `{"type":"integer","minimum":1,"maximum":100,"description":"Items on a page; 20 unless given"}`},
	{argFilter, `{"type":"string","description":"Regular expression: only items that match it"}`},
}

// listWords begin or end the names of tools that list.
var listWords = []string{"list", "search", "find", "query", "all"}

// lists says whether a tool seems to answer with a list: one of the words of its name, as
// they are divided by _, -, . or a change of case, is list, search, find, query or all, or
// its last word is a plural; or its description begins with "List" or "Search".
func lists(name, description string) bool {
	words := wordsOf(name)
	for _, w := range words {
		if slices.Contains(listWords, w) {
			return true
		}
	}
	if n := len(words); n > 1 && len(words[n-1]) > 3 && strings.HasSuffix(words[n-1], "s") && !strings.HasSuffix(words[n-1], "ss") && !strings.HasSuffix(words[n-1], "us") {
		return true
	}
	d := strings.ToLower(strings.TrimSpace(description))
	return strings.HasPrefix(d, "list") || strings.HasPrefix(d, "search")
}

func wordsOf(name string) []string {
	var words []string
	begin := 0
	end := func(at int) {
		if at > begin {
			words = append(words, strings.ToLower(name[begin:at]))
		}
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.' || c == '/' || c == ' ':
			end(i)
			begin = i + 1
		case c >= 'A' && c <= 'Z' && i > 0 && name[i-1] >= 'a' && name[i-1] <= 'z':
			end(i)
			begin = i
		}
	}
	end(len(name))
	return words
}

// ownsArguments says whether a tool's input schema already has one of the arguments, or is
// made of parts in which they could be.
func ownsArguments(schema []byte) bool {
	for m, err := range rawjson.Members(schema, 0) {
		if err != nil {
			return true
		}
		switch string(m.Key) {
		case "$ref", "allOf", "anyOf", "oneOf", "not", "if":
			return true
		case "properties":
			for p, err := range rawjson.Members(schema, m.Value.Start) {
				if err != nil {
					return true
				}
				switch string(p.Key) {
				case argPage, argPageSize, argFilter:
					return true
				}
			}
		}
	}
	return false
}

// augmented returns a tool's raw definition with the arguments added to its input schema.
func augmented(tool []byte) ([]byte, bool) {
	schema := rawjson.Get(tool, "inputSchema")
	if schema.IsZero() || tool[schema.Start] != '{' || ownsArguments(schema.Of(tool)) {
		return nil, false
	}
	added := make([]byte, 0, 512)
	for _, p := range augmentProperties {
		if len(added) > 0 {
			added = append(added, ',')
		}
		added = append(append(rawjson.Quote(added, p.name), ':'), p.schema...)
	}
	properties := rawjson.Get(tool, "inputSchema", "properties")
	if properties.IsZero() {
		set, err := rawjson.Set(schema.Of(tool), "properties", append(append([]byte{'{'}, added...), '}'))
		if err != nil {
			return nil, false
		}
		out, err := rawjson.Splice(tool, []rawjson.Edit{{Span: schema, With: set}})
		return out, err == nil
	}
	if tool[properties.Start] != '{' {
		return nil, false
	}
	if len(bytes.TrimSpace(tool[properties.Start+1:properties.End-1])) > 0 {
		added = append([]byte{','}, added...)
	}
	at := properties.End - 1
	out, err := rawjson.Splice(tool, []rawjson.Edit{{Span: rawjson.Span{Start: at, End: at}, With: added}})
	return out, err == nil
}

// requestedPage holds the page, size and filter that a call of a list tool asked for, beside the tool's own arguments.
type requestedPage struct {
	page, size int
	filter     string
}

// stripped takes the added arguments out of the params of a tools/call. asked is false when
// none was there; then params come back as they are.
func stripped(params []byte) (out []byte, requested requestedPage, found bool, err error) {
	span := rawjson.Get(params, "arguments")
	if span.IsZero() || params[span.Start] != '{' {
		return params, requested, false, nil
	}
	args, err := readArguments(span.Of(params), argPage, argPageSize, argFilter)
	if err != nil {
		return params, requested, false, err
	}
	if len(args.values) == 0 {
		return params, requested, false, nil
	}
	page, err := args.number(argPage, 1)
	if err != nil {
		return params, requested, true, err
	}
	size, err := args.number(argPageSize, 0)
	if err != nil {
		return params, requested, true, err
	}
	if requested.filter, err = args.text(argFilter, false); err != nil {
		return params, requested, true, err
	}
	if page < 1 {
		return params, requested, true, wrongf("page is %d; pages are counted from 1", page)
	}
	requested.page, requested.size = int(min(page, 1<<31)), int(min(max(size, 0), MaxPageItems))
	kept, err := rawjson.Remove(span.Of(params), argPage, argPageSize, argFilter)
	if err != nil {
		return params, requested, true, err
	}
	out, err = rawjson.Splice(params, []rawjson.Edit{{Span: span, With: kept}})
	return out, requested, true, err
}
