package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// page is an answer with one page of a listing or of a search.
type page struct {
	Items      []json.RawMessage            `json:"items"`
	Results    map[string][]json.RawMessage `json:"results"` // of a search, by kind
	Total      *int                         `json:"total_matches"`
	Pagination *struct {
		Page        int  `json:"page"`
		PageSize    int  `json:"page_size"`
		TotalItems  int  `json:"total_items"`
		TotalPages  int  `json:"total_pages"`
		HasNext     bool `json:"has_next"`
		HasPrev     bool `json:"has_prev"`
		ShowingFrom int  `json:"showing_from"`
		ShowingTo   int  `json:"showing_to"`
	} `json:"pagination"`
	// Of a refusal.
	Error      string `json:"error"`
	Suggestion string `json:"suggestion"`
}

// total returns the number of items on all pages.
func (p *page) total() int { return p.Pagination.TotalItems }

// rows returns the items, of a search by kind, in one list.
func (p *page) rows() []row {
	var all []row
	add := func(kind string, items []json.RawMessage) {
		for _, raw := range items {
			all = append(all, row{kind, raw})
		}
	}
	add("", p.Items)
	for kind, items := range p.Results {
		add(kind, items)
	}
	return all
}

type row struct {
	kind string
	raw  json.RawMessage
}

// key returns the identity of a row in its listing.
func (r row) key() (string, error) {
	var o struct {
		Name, Namespace, Server string
		Row                     *struct{ Name, Namespace, Server string }
	}
	if err := json.Unmarshal(r.raw, &o); err != nil {
		return "", err
	}
	if o.Row != nil {
		o.Name, o.Namespace, o.Server = o.Row.Name, o.Row.Namespace, o.Row.Server
	}
	if o.Name == "" && o.Server == "" {
		return "", fmt.Errorf("a row without a name: %s", shorten(string(r.raw)))
	}
	return strings.Join([]string{r.kind, o.Namespace, o.Name, o.Server}, "\x00"), nil
}

// readPageOf calls a tool and checks that the answer is a valid page, else it notes an error and returns false; number is the page that was
// asked for. It may set args["page"].
func (c *caseRun) readPageOf(ctx context.Context, tool string, args map[string]any, number int) (*page, bool) {
	if number > 1 {
		args["page"] = number
	}
	a, ok := c.callTool(ctx, tool, args)
	if !ok {
		return nil, false
	}
	if a.IsError {
		c.noteError("%s: %s", tool, a.Text)
		return nil, false
	}
	p, err := parsePage(a.Text, number)
	if err != nil {
		c.noteError("%s page %d: %v", tool, number, err)
		return nil, false
	}
	c.noteSuccess()
	return p, true
}

// parsePage parses an answer and checks that its rows agree with its own pagination.
func parsePage(text string, number int) (*page, error) {
	var p page
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("the answer is no JSON object: %w", err)
	}
	g := p.Pagination
	if g == nil {
		return nil, fmt.Errorf("the answer has no pagination: %s", shorten(text))
	}
	n := len(p.rows())
	pages := 1
	if g.PageSize > 0 {
		pages = max(1, (g.TotalItems+g.PageSize-1)/g.PageSize)
	}
	switch {
	case g.Page != number:
		return nil, fmt.Errorf("it is page %d", g.Page)
	case g.PageSize < 1:
		return nil, fmt.Errorf("page_size is %d", g.PageSize)
	case max(1, g.TotalPages) != pages:
		return nil, fmt.Errorf("total_pages is %d, with %d items of %d on a page", g.TotalPages, g.TotalItems, g.PageSize)
	case n != min(g.PageSize, g.TotalItems-(number-1)*g.PageSize):
		return nil, fmt.Errorf("%d items on it, of %d in all and %d on a page", n, g.TotalItems, g.PageSize)
	case n > 0 && (g.ShowingFrom != (number-1)*g.PageSize+1 || g.ShowingTo != g.ShowingFrom+n-1):
		return nil, fmt.Errorf("showing_from %d to %d, with %d items", g.ShowingFrom, g.ShowingTo, n)
	case g.HasNext != (number < pages) || g.HasPrev != (number > 1):
		return nil, fmt.Errorf("has_next %v and has_prev %v, of %d pages", g.HasNext, g.HasPrev, pages)
	case p.Total != nil && *p.Total != g.TotalItems:
		return nil, fmt.Errorf("total_matches is %d and total_items %d", *p.Total, g.TotalItems)
	}
	return &p, nil
}
