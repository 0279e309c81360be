package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/tools/argocd"
)

// SearchRequest asks for what matches a pattern.
type SearchRequest struct {
	Pattern                string
	Literal, CaseSensitive bool
	Kinds                  []argocd.Kind
	Page, PageSize         int
	Query                  argocd.Query
	Fresh                  bool
}

// Found is one page of what a search found.
type Found struct {
	Items []Hit
	Pagination
	Totals   map[argocd.Kind]int
	Scanned  map[argocd.Kind]int
	Counts   *Counts
	Failed   map[argocd.Kind]string
	Bytes    int64
	Snapshot time.Time
}

// Hit is one object that matches.
type Hit struct {
	Kind    argocd.Kind     `json:"kind"`
	Row     json.RawMessage `json:"row"`
	Matched []string        `json:"matched"`
}

// TooMany is the error for a search with more matches than can be of use.
type TooMany struct {
	Total, Limit int
	Totals       map[argocd.Kind]int
	Counts       *Counts
	Suggestion   string
}

func (e *TooMany) Error() string { return fmt.Sprintf("%d matches, more than %d", e.Total, e.Limit) }

// BadPattern is the error for a pattern that is no RE2.
type BadPattern struct{ Pattern, Reason, Escaped string }

func (e *BadPattern) Error() string { return fmt.Sprintf("the pattern %q: %s", e.Pattern, e.Reason) }

// Search returns one page of what matches.
func (v *Inventory) Search(ctx context.Context, src Source, r SearchRequest) (*Found, error) {
	return nil, errors.New("inventory: not ready yet")
}
