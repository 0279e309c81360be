package result

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// pageArguments are the names by which servers take a page of their own, folded: lower case, without - and _. Those of a first page
// and of its size count too: who says 100 a page gets a page.
var pageArguments = map[string]bool{
	"page": true, "pagenumber": true, "pageindex": true, "perpage": true, "pagesize": true, "limit": true, "maxresults": true, "maxitems": true,
	"offset": true, "skip": true, "startat": true, "start": true, "top": true, "first": true, "after": true, "before": true,
	"cursor": true, "nextcursor": true, "pagetoken": true, "nexttoken": true, "nextpagetoken": true, "continue": true, "continuetoken": true,
}

// pageResults are the names by which servers say that there is more than this page, folded.
var pageResults = map[string]bool{
	"next": true, "nextcursor": true, "nextpage": true, "nextpagetoken": true, "nexttoken": true, "nextlink": true, "nexturl": true, "cursor": true,
	"hasmore": true, "hasnext": true, "hasnextpage": true, "more": true, "continue": true, "continuetoken": true, "islast": true, "islastpage": true,
}

func folded(name string) string {
	return strings.NewReplacer("_", "", "-", "", ".", "", "$", "").Replace(strings.ToLower(name))
}

// maxShownArgument bounds a value that is shown of a call, in bytes: a cursor may be long, and says nothing to a reader.
const maxShownArgument = 24

// ServerPage tells how the arguments of a call, a JSON object, ask for a page of the server's own: "page=2, per_page=100". It is ""
// where they do not, or are no object.
func ServerPage(arguments []byte) string {
	var b strings.Builder
	for m, err := range rawjson.Members(arguments, 0) {
		if err != nil {
			return ""
		}
		name, value := string(m.Key), m.Value.Of(arguments)
		if len(name) > 32 || !pageArguments[folded(name)] || len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null" {
			continue
		}
		text := string(value)
		if text[0] == '"' {
			text = string(rawjson.Unquote(nil, value))
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + "=" + limit.Short(strings.Map(printable, text), maxShownArgument))
	}
	return limit.Clip(b.String(), 100)
}

func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return -1
	}
	return r
}

// serverHasMore tells whether a page of a kept JSON document says beside its items that the server has more.
func serverHasMore(page []byte) bool {
	if len(page) == 0 || page[0] != '{' {
		return false
	}
	return says(page, 0, 2)
}

// says looks for such a member in an object and, so deep, in the objects in it ("pagination", "meta", "pageInfo").
func says(doc []byte, at, depth int) bool {
	for m, err := range rawjson.Members(doc, at) {
		if err != nil {
			return false
		}
		value := m.Value.Of(doc)
		if len(value) == 0 {
			return false
		}
		if value[0] == '{' && depth > 1 && says(doc, m.Value.Start, depth-1) {
			return true
		}
		name := folded(string(m.Key))
		if !pageResults[name] {
			continue
		}
		switch text := string(value); {
		case text == "null" || text == `""` || text == "0" || value[0] == '[':
		case text == "false":
			if strings.HasPrefix(name, "islast") {
				return true
			}
		case text == "true":
			if !strings.HasPrefix(name, "islast") {
				return true
			}
		default:
			return true
		}
	}
	return false
}
