package nearest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/nearest"
)

func TestNames(t *testing.T) {
	known := []string{"list_applications", "list_clusters", "get-application", "max_concurrent", "window.trigger"}
	for word, want := range map[string][]string{
		"list_aplications":         {"list_applications", "get-application"},
		"List Applications":        {"list_applications", "get-application"},
		"lits_clusters":            {"list_clusters"}, // swapped
		"application":              {"get-application", "list_applications"},
		"max-concurent":            {"max_concurrent"},
		"trigger":                  {"window.trigger"},
		"my_list_clusters_tool":    {"list_clusters"},
		"fly":                      nil,
		"":                         nil,
		"__":                       nil,
		strings.Repeat("x", 1<<20): nil,
	} {
		if got := nearest.Names(word, known, 2); !slices.Equal(got, want) {
			t.Errorf("%.40q is taken for %q, want %q", word, got, want)
		}
	}
	if got := nearest.Names("list_cluster", known, 1); len(got) != 1 {
		t.Errorf("one was asked for: %q", got)
	}
}
