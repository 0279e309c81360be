package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// kinds are the names of tools by what they are for, each sorted.
type kinds struct {
	search, list []string
	paged        []string // take page and page_size; what searches and lists first
	change       []string // may change something
	confirm      []string // of those, what does nothing before it is confirmed
	// Of kept results; "" where there is none.
	resultPage, resultSearch, resultQuery string
	instances                             bool // tools have an argument that says of which installation
}

// sortTools sorts tools by what they are for, judged by their names, their arguments and whether they only read. It keeps the names in
// alphabetic order.
func sortTools(specs []agent.ToolSpec) kinds {
	specs = slices.Clone(specs)
	sorting.By(specs, func(a, b agent.ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	var k kinds
	var others []string // paged, and neither for a search nor for a list
	for _, s := range specs {
		switch own := strings.ReplaceAll(s.Name, "plimsoll_", ""); {
		case own == "result_page":
			k.resultPage = s.Name
			continue
		case own == "result_search":
			k.resultSearch = s.Name
			continue
		case own == "result_query":
			k.resultQuery = s.Name
			continue
		}
		takes, needs := argumentsOf(s.Schema)
		words := wordsOf(s.Name)
		if takes["instance"] {
			k.instances = true
		}
		if !s.ReadOnly {
			k.change = append(k.change, s.Name)
			if takes["confirm"] {
				k.confirm = append(k.confirm, s.Name)
			}
			continue
		}
		known := len(k.search) + len(k.list)
		switch {
		case containsAny(words, "search", "find", "lookup", "grep"):
			k.search = append(k.search, s.Name)
		case containsAny(words, "list", "all") && !needs: // what belongs to one thing is no list of all
			k.list = append(k.list, s.Name)
		}
		if takes["page"] && takes["page_size"] {
			if known < len(k.search)+len(k.list) {
				k.paged = append(k.paged, s.Name)
			} else {
				others = append(others, s.Name)
			}
		}
	}
	k.paged = append(k.paged, others...)
	return k
}

// argumentsOf returns the names of a schema's properties as a set, nil for an invalid schema; needs is true when some are required.
func argumentsOf(schema json.RawMessage) (takes map[string]bool, needs bool) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, false
	}
	takes = map[string]bool{}
	for name := range s.Properties {
		takes[name] = true
	}
	return takes, len(s.Required) > 0
}

// wordsOf returns the words of a name, in lower case: list_all, listAll, SERVER__list-all.
func wordsOf(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
		if !lower && !unicode.IsLetter(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

func containsAny(words []string, wanted ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(wanted, w) })
}

// exampleNames returns the first names as examples.
func exampleNames(names []string) string {
	const most = 3
	if len(names) > most {
		return "such as " + strings.Join(names[:most], ", ")
	}
	return joinNames(names, "and")
}

// joinNames joins names: a, b and c. Beyond maxNames it says how many more there are.
func joinNames(names []string, joint string) string {
	more := 0
	if len(names) > maxNames {
		more = len(names) - maxNames
		names = names[:maxNames]
	}
	if more > 0 {
		return fmt.Sprintf("%s %s %d more", strings.Join(names, ", "), joint, more)
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " " + joint + " " + names[len(names)-1]
	}
	return strings.Join(names, "")
}
