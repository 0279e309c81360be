package inventory

import (
	"fmt"
	"math"

	"github.com/plimsoll/plimsoll/internal/argocd"
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

// newWindow returns the window for the requested page and size, moved into their bounds; size 0 leaves the size to setSize.
func newWindow(page, size int) window {
	if size == 0 {
		return window{max(page, 1), DefaultPageSize, true}
	}
	return window{max(page, 1), min(max(size, 1), MaxPageSize), false}
}

// setSize sets the final page size, once the number of matches is known: without a size in the request, up to [OnePage] matches are on one page.
// The caller's fit, if there is one, may make it smaller.
func (w *window) setSize(setSize Fit, ans *answer) {
	if w.open && ans.total > DefaultPageSize && ans.total <= OnePage {
		w.size = OnePage
	}
	if setSize != nil {
		w.size = min(w.size, max(1, setSize(w.size, ans.total, ans.counts, &ans.widths)))
	}
}

// rowsNeeded returns how many of the first rows are needed to fill the page.
func (w window) rowsNeeded() int {
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

// LeastFields are the fields of the shortest row that still identifies an object and shows its state. A row has those of them that its kind
// has; if all rows have the same namespace it is left out (see [Widths]).
var LeastFields = []string{"name", "namespace", "health", "sync", "server", "connection"}

// Widths measure the objects of a question: all that match, not only those of a page, so that a page size that depends on them is the same
// for every page.
type Widths struct {
	// Whole is the size of the largest object as the server sent it, in bytes.
	Whole int
	// Namespace is the namespace of all objects but clusters, which have none; "" if they differ.
	Namespace string

	// named and bare count the rows with only [LeastFields] by length, with their namespace and without.
	named, bare lengths
	mixed, any  bool
}

// lengths counts rows by their length in bytes; longer ones are counted at the last index, which is longer than names get.
type lengths [1024]uint16

func (l *lengths) countLength(n int) {
	if count := &l[min(n, len(l)-1)]; *count < MaxPageSize { // more of one length are on no page
		*count++
	}
}

func (l *lengths) addAll(o *lengths) {
	for i := range l {
		l[i] = min(l[i]+o[i], MaxPageSize)
	}
}

// Rows returns how many of the shortest rows fit into room bytes, each with a comma, even if they are the longest of these: at least 1 and
// at most [MaxPageSize]. A namespace that all of them have is not counted.
func (w *Widths) Rows(room int) (n int) {
	l := &w.named
	if w.Namespace != "" {
		l = &w.bare
	}
	for length := len(l) - 1; length >= 0; length-- {
		for range l[length] {
			if room -= length + len(","); room < 0 || n == MaxPageSize {
				return max(n, 1)
			}
			n++
		}
	}
	return MaxPageSize // all of them
}

// measure adds an entry to the measures. whole is the length of its object in bytes.
func (w *Widths) measure(e *entry, whole int) {
	w.bare.countLength(len(e.shortestRow(nil)))
	w.named.countLength(len(e.shortestRow(e.namespace)))
	w.Whole = max(w.Whole, whole)
	switch {
	case w.mixed, e.kind == argocd.Clusters:
		return
	case !w.any:
		w.Namespace = string(clip(e.namespace, maxName))
	case string(clip(e.namespace, maxName)) != w.Namespace:
		w.Namespace, w.mixed = "", true
	}
	w.any = true
}

// shortestRow returns the shortest row of an entry as JSON, with this namespace; nil or an empty one leaves the namespace out.
func (e *entry) shortestRow(namespace []byte) []byte {
	w := &writer{b: make([]byte, 0, 128)}
	w.writeRaw("{")
	w.addTextOrEmpty("name", e.name)
	w.addText("namespace", namespace)
	switch e.kind {
	case argocd.Applications:
		w.addTextOrEmpty("health", statusOrNone(e.health))
		w.addTextOrEmpty("sync", statusOrNone(e.sync))
	case argocd.ApplicationSets:
		w.addText("health", e.health)
	case argocd.Clusters:
		w.addTextOrEmpty("server", maskAddress(e.server))
		w.addTextOrEmpty("connection", statusOrNone(e.sync))
	}
	w.writeRaw("}")
	return w.b
}

// addAll adds the measures of another kind.
func (w *Widths) addAll(o *Widths) {
	w.named.addAll(&o.named)
	w.bare.addAll(&o.bare)
	w.Whole = max(w.Whole, o.Whole)
	switch {
	case !o.any:
		return
	case w.mixed || o.mixed || w.any && w.Namespace != o.Namespace:
		w.Namespace, w.mixed = "", true
	default:
		w.Namespace = o.Namespace
	}
	w.any = true
}

// Fit returns the page size at which every page fits into what the client accepts: asked is the requested size, total the number
// of matches, counts and widths describe them.
type Fit func(asked, total int, counts *Counts, widths *Widths) int
