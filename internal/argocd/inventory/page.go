package inventory

import (
	"fmt"
	"math"
)

// Pagination says which page this is of all matches. The JSON names are those that clients of the tools know.
type Pagination struct {
	Page        int  `json:"page"`
	PageSize    int  `json:"page_size"`
	TotalItems  int  `json:"total_items"`
	TotalPages  int  `json:"total_pages"` // 0 when there are no items
	HasNext     bool `json:"has_next"`
	HasPrev     bool `json:"has_prev"`
	ShowingFrom int  `json:"showing_from"` // counted from 1; 0 when there are no items
	ShowingTo   int  `json:"showing_to"`
}

// The page size if none is given, and the largest one.
const (
	DefaultPageSize = 20
	MaxPageSize     = 100
	// OnePage is the number of matches up to which, if no size is given, one page has all of them.
	OnePage = 50
)

// NoPage is the error for a page beyond the end.
type NoPage struct{ Page, Last, TotalItems, Size int }

func (e *NoPage) Error() string {
	if e.TotalItems == 0 {
		return fmt.Sprintf("there is no page %d: nothing matches; ask for page 1, with other filters", e.Page)
	}
	return fmt.Sprintf("there is no page %d: the last page is %d, with all of %d items; ask for a page from 1 to %d",
		e.Page, e.Last, e.TotalItems, e.Last)
}

// window is the requested page: its number, from 1, and its size.
type window struct {
	page, size int
	open       bool // no size was given
}

func windowOf(page, size int) window {
	if size == 0 {
		return window{max(page, 1), DefaultPageSize, true}
	}
	return window{max(page, 1), min(max(size, 1), MaxPageSize), false}
}

// fit sets the final size once the number of matches is known: up to [OnePage] matches are on one page if no size was given, and the size
// is smaller if the caller's fit says so.
func (w *window) fit(fit Fit, ans *answer) {
	if w.open && ans.total > DefaultPageSize && ans.total <= OnePage {
		w.size = OnePage
	}
	if fit != nil {
		w.size = min(w.size, max(1, fit(w.size, ans.total, ans.counts, &ans.widths)))
	}
}

// need returns how many of the first rows are needed to fill the page.
func (w window) need() int {
	if w.page > math.MaxInt/w.size {
		return allRows
	}
	if w.open && w.page == 1 {
		return OnePage
	}
	return w.page * w.size
}

// locate returns the pagination of the page in total items, and its rows: from (counted from 0) up to to, exclusive. A page beyond the end
// is [NoPage].
func (w window) locate(total int) (p Pagination, from, to int, err error) {
	last := (total + w.size - 1) / w.size
	if w.page > max(last, 1) {
		return p, 0, 0, &NoPage{Page: w.page, Last: max(last, 1), TotalItems: total, Size: w.size}
	}
	from = (w.page - 1) * w.size
	to = min(from+w.size, total)
	p = Pagination{
		Page: w.page, PageSize: w.size, TotalItems: total, TotalPages: last,
		HasNext: w.page < last, HasPrev: w.page > 1, ShowingTo: to,
	}
	if total > 0 {
		p.ShowingFrom = from + 1
	}
	return p, from, to, nil
}
