package gateway

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/tools/result"
)

// MaxDescription is the most bytes that the description of an added tool may have: it is in every request that the model gets, once for
// each server.
const MaxDescription = 400

// namesFor returns names for the added tools that no tool of the server has: with as many prefixes as are needed, at most 8.
func namesFor(owned func(string) bool) result.Names {
	prefix := ""
	for range 8 { // gateways behind gateways; nobody has more
		n := result.Names{Page: prefix + "result_page", Search: prefix + "result_search", Query: prefix + "result_query"}
		if !owned(n.Page) && !owned(n.Search) && !owned(n.Query) {
			return n
		}
		prefix += "plimsoll_"
	}
	return result.Names{Page: prefix + "result_page", Search: prefix + "result_search", Query: prefix + "result_query"}
}

// describePage returns the description of the tool that reads pages. A model chooses by the descriptions, so each states the tool's
// purpose, when another one is better and where the handle comes from, and has one example.
func describePage(n result.Names) string {
	return fmt.Sprintf("Read one more page of a large tool result that was cut into pages. handle comes from that result's notice. "+
		"To find something use %s first: it looks at all pages at once. "+
		"Example: {\"handle\":\"r_…\",\"page\":2}. offset reads the bytes of an omitted item; refresh calls the tool anew.", n.Search)
}

func describeSearch(n result.Names) string {
	return fmt.Sprintf("Search all pages of a large tool result by regular expression; use this before reading pages with %s. "+
		"handle comes from the result's notice. Returns whole items or lines with their numbers. "+
		"More than 1000 matches are an error: narrow the pattern. "+
		"Example: {\"handle\":\"r_…\",\"pattern\":\"(failed|error).*timeout\"}.", n.Page)
}

func describeQuery(n result.Names) string {
	return fmt.Sprintf("Filter, count or reshape a large JSON tool result with a jq program instead of reading its pages. "+
		"handle comes from the result's notice; for plain text use %s. "+
		"Example: {\"handle\":\"r_…\",\"query\":\".items[] | select(.status!=\\\"ok\\\") | .name\"}.", n.Search)
}

const (
	handleSchema = `"handle":{"type":"string","description":"From the notice of the large result"}`
	readOnlyHint = `"annotations":{"readOnlyHint":true,"openWorldHint":false}`
)

// addedTools returns the raw definitions of the tools that read kept results, in the order in
// which they are listed.
func addedTools(n result.Names) [][]byte {
	tool := func(name, title, description, properties, required string) []byte {
		return definition(name, title, description, handleSchema+","+properties, required, readOnlyHint)
	}
	return [][]byte{
		tool(n.Page, "Page of a large result", describePage(n),
			`"page":{"type":"integer","minimum":1,"default":1},`+
				`"page_size":{"type":"integer","minimum":1,"maximum":1000,"description":"Items (20, at most 100) or lines (100, at most 1000) on a page"},`+
				`"offset":{"type":"integer","minimum":0,"description":"Read from this byte on instead of a page"},`+
				`"refresh":{"type":"boolean","description":"Call the tool again with the same arguments; only for tools that change nothing"}`,
			`"handle"`),
		tool(n.Search, "Search in a large result", describeSearch(n),
			`"pattern":{"type":"string","description":"Regular expression (RE2)"},`+
				`"case_sensitive":{"type":"boolean","default":false},`+
				`"page":{"type":"integer","minimum":1,"default":1}`,
			`"handle","pattern"`),
		tool(n.Query, "Query a large result", describeQuery(n),
			`"query":{"type":"string","description":"jq program; it sees the whole result"}`,
			`"handle","query"`),
	}
}
