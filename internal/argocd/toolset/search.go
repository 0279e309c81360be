package toolset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// maxQuery bounds a pattern, in bytes: it is longer than any URL, and compiles at once.
const maxQuery = 2 << 10

type searchArguments struct {
	target
	Query         string   `json:"query" jsonschema:"A part of any text, or a regular expression"`
	ResourceTypes []string `json:"resource_types,omitempty" jsonschema:"applications, projects, applicationsets, clusters (default all)"`
	CaseSensitive bool     `json:"case_sensitive,omitempty" jsonschema:"Case matters"`
	Literal       bool     `json:"literal,omitempty" jsonschema:"query is plain text"`
	Project       []string `json:"project,omitempty" jsonschema:"Only applications of these"`
	Fresh         bool     `json:"fresh,omitempty" jsonschema:"Read the server again even if this search was made a moment ago (default false)"`
	paging
}

const searchText = `Searches all applications, projects, application sets and clusters; every object is read, totals are exact.
query is an RE2 regular expression (literal=true takes it as it stands), case does not matter unless case_sensitive: payments, ^billing-.*-prod$, team=(search|catalog). It looks into names, namespaces, labels (key=value too), annotations, descriptions, repositories, paths, charts, revisions and destinations; a whole status word (Degraded, OutOfSync, Failed) finds by status. "matched" names the fields.
More than 1000 matches are an error that says how to narrow. "next" is the call for the next page.`

func (t *Toolset) searchTool() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "search_argocd_resources",
		Title:       "Search everything",
		Description: searchText,
		Hints:       reads,
	}, t.runSearch)
}

// runSearch answers a call of the search tool with a page of the results. A refusal that the model can act on is an answer too.
func (t *Toolset) runSearch(ctx context.Context, c *builtin.Call, in searchArguments) (*builtin.Result, error) {
	switch {
	case strings.TrimSpace(in.Query) == "":
		return nil, errors.New("query is empty: send a word or a pattern, or list everything with list_applications, project_list, applicationset_list or cluster_service__list")
	case len(in.Query) > maxQuery:
		return nil, fmt.Errorf("query has %d bytes, more than %d: send a shorter pattern", len(in.Query), maxQuery)
	}
	projects := splitValues(in.Project)
	kinds, err := searchedKinds(in.ResourceTypes, len(projects) > 0)
	if err != nil {
		return nil, err
	}
	client, err := t.clientFor(c, in.Instance)
	if err != nil {
		return nil, err
	}
	page := in.clamped()
	size := page.PageSize
	repeat := func(number int) *nextCall {
		following := in
		following.paging = in.paging.following(number, size)
		return &nextCall{Tool: c.Tool, Arguments: following}
	}
	repeatAny := func(number int) *nextCall {
		following := in
		following.paging = paging{Page: number, PageSize: maxPageSize}
		return &nextCall{Tool: c.Tool, Arguments: following}
	}
	from, done := withProgress(c, client)
	defer done()
	got, err := t.inventory.Search(ctx, from, inventory.SearchRequest{
		Pattern: in.Query, Literal: in.Literal, CaseSensitive: in.CaseSensitive,
		Kinds: kinds, Page: page.Page, PageSize: in.PageSize, Fresh: in.Fresh,
		Query: argocd.Query{Projects: projects},
		Fit: fittingSize(in.room(c), func(_ int, counts *inventory.Counts, p inventory.Pagination, namespace string) any {
			bare := t.draftSearchAnswer(client, in, kinds, &inventory.Found{Pagination: p, Counts: counts})
			bare.Next, bare.Namespace, bare.Link = repeatAny(p.TotalItems), namespace, linkTemplate(client.URL(), argocd.Applications)
			bare.Note = longestPagingNote + shapeNote + manyNote(p.TotalItems)
			bare.ReadAt = time.Now().UTC().Format(time.RFC3339)
			return bare
		}, false),
	})
	if err != nil {
		return answerRefusal(err, in.Query, repeat)
	}
	size = got.PageSize
	return t.searchAnswer(c, client, in, kinds, got, repeat)
}

// room returns how many bytes an answer may have: only a caller who asks for many rows gets everything that the client takes.
func (in searchArguments) room(c *builtin.Call) int {
	if in.PageSize <= defaultPageSize {
		return min(roomOf(c), maxAnswer)
	}
	return roomOf(c)
}

// searchedKinds returns the kinds that the names select; all if there are none. Projects only apply to applications, so with them only these are
// searched.
func searchedKinds(names []string, projects bool) ([]argocd.Kind, error) {
	all := argocd.Kinds()
	var kinds []argocd.Kind
	for _, name := range splitValues(names) {
		kind := argocd.Kind(strings.ToLower(name))
		if !slices.Contains(all, kind) && slices.Contains(all, kind+"s") {
			kind += "s" // "application" is clear enough
		}
		switch {
		case !slices.Contains(all, kind):
			return nil, fmt.Errorf("resource_types has no %q; there are: %s", shortQuote(name), joinKinds(all))
		case projects && kind != argocd.Applications:
			return nil, fmt.Errorf("project narrows applications only, and resource_types asks for %s: leave one of the two out", kind)
		case !slices.Contains(kinds, kind):
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 0:
		// In the order of answers, so that the same question asked in another order is the same.
		sorting.By(kinds, func(a, b argocd.Kind) int { return slices.Index(all, a) - slices.Index(all, b) })
		return kinds, nil
	case projects:
		return []argocd.Kind{argocd.Applications}, nil
	}
	return all, nil
}

func joinKinds(kinds []argocd.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}
