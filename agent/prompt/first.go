package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
)

// SearchFirst makes the gate of a query with these tools (see [agent.Options]): while forced says so, the first call of a tool that
// lists all is answered with the search to make in its place, once, unless the query has searched before. It is nil where there is
// nothing to search with, or nothing that lists.
func SearchFirst(specs []agent.ToolSpec, forced func() bool) func(agent.Call) string {
	k := sorted(specs)
	if len(k.search) == 0 || len(k.list) == 0 {
		return nil
	}
	done := false
	return func(c agent.Call) string {
		if slices.Contains(k.search, c.Name) {
			done = true
		}
		if done || !slices.Contains(k.list, c.Name) || !forced() {
			return ""
		}
		done = true
		search := k.search[0]
		server, _, several := strings.Cut(c.Name, "__")
		for _, name := range k.search {
			if several && strings.HasPrefix(name, server+"__") {
				search = name
				break
			}
		}
		i := slices.IndexFunc(specs, func(s agent.ToolSpec) bool { return s.Name == search })
		return fmt.Sprintf("Search first: this agent ran out of memory a moment ago, and lists take the most of it. Call %s with %s, with the narrowest words that fit. "+
			"Where nothing but the whole list will do, call %s once more.", search, exampleOf(specs[i].Schema), c.Name)
	}
}

// exampleOf returns arguments for a search: what is required, or what takes the words.
func exampleOf(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &s) // without one there are no arguments
	names := slices.Clone(s.Required)
	if len(names) == 0 {
		for _, name := range []string{"query", "pattern", "q", "text", "keyword", "search"} {
			if _, ok := s.Properties[name]; ok {
				names = append(names, name)
				break
			}
		}
	}
	slices.Sort(names)
	var list []string
	for _, name := range names {
		value := `"…"`
		switch s.Properties[name].Type {
		case "integer", "number":
			value = "1"
		case "boolean":
			value = "false"
		case "array":
			value = `["…"]`
		case "object":
			value = "{}"
		}
		list = append(list, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(list, ",") + "}"
}
