package toolset_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
)

// foundIn is an answer of a search.
type foundIn struct {
	Query         string
	CaseSensitive bool     `json:"case_sensitive"`
	Exhaustive    bool     `json:"exhaustive_search"`
	Kinds         []string `json:"searched_resource_types"`
	Total         int      `json:"total_matches"`
	Breakdown     map[string]int
	Searched      map[string]int `json:"resources_searched"`
	Failed        map[string]string
	Progress      struct {
		Status, Message string
		Examined        int `json:"total_resources_examined"`
	}
	Pagination inventory.Pagination
	Summary    struct{ Health, Sync, Projects map[string]int }
	BaseURL    string `json:"argocd_base_url"`
	Note       string
	Next       *struct {
		Tool      string
		Arguments json.RawMessage
	}
	Results map[string][]map[string]any
}

func TestSearchIsExhaustive(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	got, text := ask[foundIn](t, set, "search_argocd_resources", `{"query":"billing"}`)
	all := map[string]int{"applications": 819, "projects": 236, "applicationsets": 287, "clusters": 13}
	if !got.Exhaustive || !maps.Equal(got.Searched, all) || got.Progress.Examined != 1355 || got.Progress.Status != "completed" {
		t.Errorf("%+v", got)
	}
	sum := 0
	for _, n := range got.Breakdown {
		sum += n
	}
	if sum != got.Total || got.Pagination.TotalItems != got.Total || got.Total == 0 || len(got.Breakdown) != 4 {
		t.Errorf("%d matches, %v by kind, %d in the pagination", got.Total, got.Breakdown, got.Pagination.TotalItems)
	}
	if len(text) > maxAnswer || tokensOf(t, text) > maxTokens {
		t.Errorf("%d bytes, %d tokens", len(text), tokensOf(t, text))
	}
	for kind := range totals {
		if n := server.asked(kind); n != 1 {
			t.Errorf("%s were read %d times", kind, n)
		}
	}
	for kind, rows := range got.Results {
		for _, row := range rows {
			if matched, _ := row["matched"].([]any); len(matched) == 0 || len(matched) > 5 {
				t.Errorf("%s %v matched in %v", kind, row["name"], row["matched"])
			}
		}
	}
}

func TestEveryPageOfSearches(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	for _, query := range []string{"billing", `^payments-.*-(dev|prod)$`, "https://git.corp.example.net/", "gold"} {
		arguments, _ := json.Marshal(map[string]any{"query": query})
		seen, largest := 0, ""
		var first foundIn
		for {
			text, failed := callTool(t, set, nil, "search_argocd_resources", string(arguments))
			if failed && strings.Contains(text, "more than 1000") {
				break
			}
			var got foundIn
			if err := json.Unmarshal([]byte(text), &got); failed || err != nil {
				t.Fatalf("%s: %.300s", arguments, text)
			}
			if seen == 0 {
				first = got
			}
			if got.Total != first.Total || !maps.Equal(got.Breakdown, first.Breakdown) {
				t.Errorf("%s: %d matches, page 1 said %d", arguments, got.Total, first.Total)
			}
			for _, rows := range got.Results {
				seen += len(rows)
			}
			if len(text) > len(largest) {
				largest = text
			}
			if got.Next == nil {
				if seen != first.Total {
					t.Errorf("%s: %d hits on all pages, %d in all", arguments, seen, first.Total)
				}
				break
			}
			arguments = got.Next.Arguments
		}
		maxBytes, tokens := len(largest), tokensOf(t, largest)
		t.Logf("%q: %d matches, largest page %d bytes, %d tokens", query, first.Total, maxBytes, tokens)
		bound, mostTokens := shortPage, shortTokens
		if first.Pagination.PageSize > 20 { // all of up to 50 on one page
			bound, mostTokens = maxAnswer, maxTokens
		}
		if maxBytes > bound || tokens > mostTokens {
			t.Errorf("%q: the largest page has %d bytes and %d tokens, more than %d or %d", query, maxBytes, tokens, bound, mostTokens)
		}
	}
}

func TestSearchInSomeKinds(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	got, _ := ask[foundIn](t, set, "search_argocd_resources", `{"query":"prod","resource_types":["Clusters","project"]}`)
	if !maps.Equal(got.Searched, map[string]int{"clusters": 13, "projects": 236}) || strings.Join(got.Kinds, " ") != "projects clusters" {
		t.Errorf("%+v", got)
	}
	if server.asked("applications") != 0 {
		t.Error("the applications were read")
	}
	refusedWith(t, set, "search_argocd_resources", `{"query":"x","resource_types":["pods"]}`, `"pods"`, "applications, projects, applicationsets, clusters")
	refusedWith(t, set, "search_argocd_resources", `{"query":"x","resource_types":["clusters"],"project":["a"]}`, "project narrows applications only")
}

func TestPatternsThatAreNone(t *testing.T) {
	t.Parallel()
	set, server := recordedToolset(t, toolset.Options{})
	for _, query := range []string{"prod(", "*abc", "[z-a]", `a{2000}`, `(?<=x)y`} {
		arguments, _ := json.Marshal(map[string]any{"query": query})
		refusedWith(t, set, "search_argocd_resources", string(arguments), "regular expression", "literal=true", "suggestion")
	}
	if n := server.asked("applications"); n != 0 {
		t.Errorf("the server was read %d times for patterns that are none", n)
	}
	got, text := ask[foundIn](t, set, "search_argocd_resources", `{"query":"prod(","literal":true}`)
	if got.Total != 0 || !got.Exhaustive || got.Searched["applications"] != 819 || len(text) > 300 {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	refusedWith(t, set, "search_argocd_resources", `{"query":"  "}`, "query is empty")
	refusedWith(t, set, "search_argocd_resources", `{"query":"`+strings.Repeat("x", 4000)+`"}`, "4000 bytes")
	refusedWith(t, set, "search_argocd_resources", `{}`, "query")
}

func TestTooManyMatches(t *testing.T) {
	t.Parallel()
	set, _ := recordedToolset(t, lasting())
	text := refusedWith(t, set, "search_argocd_resources", `{"query":"."}`, "1355 objects", "more than 1000")
	var got struct {
		Error, Suggestion, Query string
		Total                    int `json:"total_matches"`
		Limit                    int
		Breakdown                map[string]int
		Summary                  struct{ Projects map[string]int }
		Results, Items           any
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.Total != 1355 || got.Limit != 1000 || got.Suggestion == "" || len(got.Summary.Projects) != 10 || got.Results != nil || got.Items != nil || got.Query != "." ||
		!maps.Equal(got.Breakdown, map[string]int{"applications": 819, "projects": 236, "applicationsets": 287, "clusters": 13}) {
		t.Errorf("%s", text)
	}
	// All applications are less than the limit, and many.
	some, _ := ask[foundIn](t, set, "search_argocd_resources", `{"query":".","resource_types":"applications"}`)
	if some.Total != 819 || !strings.Contains(some.Note, "819 matches") {
		t.Errorf("%d matches, note %q", some.Total, some.Note)
	}
}
