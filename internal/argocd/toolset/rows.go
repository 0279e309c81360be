package toolset

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// maxRoom bounds an answer to a client whose bound is not known or that has none, in bytes.
const maxRoom = 1 << 20

// roomOf returns how many bytes of text the client takes, at most maxRoom.
func roomOf(c *builtin.Call) int {
	if c.MaxText <= 0 {
		return maxRoom
	}
	return int(min(c.MaxText, maxRoom))
}

// rowPage is a page of rows that is about to be written.
type rowPage struct {
	rows []*json.RawMessage
	// namespace is the namespace of all rows of all pages, which shortened rows leave out; "" if they differ.
	namespace string
	// write returns the answer, with a note about the rows and the namespace that they leave out.
	write func(note, namespace string) any
}

// fitInto returns the page in at most room bytes: with whole rows if they fit, else with shorter ones, which it changes in place. The page
// size was chosen by [fittingSize], so that the shortest rows fit.
func (p rowPage) fitInto(room int) (*builtin.Result, error) {
	write := func(note, namespace string) (*builtin.Result, error) {
		r, err := builtin.JSON(p.write(note, namespace))
		if err == nil {
			r.Paged = true
		}
		return r, err
	}
	r, err := write("", "")
	order := droppableFields()
	var drop []string
	if p.namespace != "" {
		drop = []string{"namespace"} // the answer has it once, for all rows
	}
	for i := -1; i < len(order); i++ {
		if err != nil || len(r.Text) <= room {
			return r, err
		}
		if i >= 0 {
			drop = []string{order[i], "more_" + order[i]}
		}
		lost := false
		for _, row := range p.rows {
			short, err := rowWithout(*row, drop)
			if err != nil {
				return nil, err
			}
			lost = lost || len(short) < len(*row)
			*row = short
		}
		if lost {
			r, err = write(shapeNote, p.namespace)
		}
	}
	return r, err
}

// rowWithout returns a row without these fields; the others keep their order.
func rowWithout(row json.RawMessage, fields []string) (json.RawMessage, error) {
	out := append(make([]byte, 0, len(row)), '{')
	for m, err := range rawjson.Members(row, 0) {
		if err != nil {
			return nil, fmt.Errorf("a row: %w", err)
		}
		if slices.Contains(fields, string(m.Key)) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, row[m.Name.Start:m.Value.End]...)
	}
	return append(out, '}'), nil
}

// widestPagination returns a pagination whose text is at least as long as that of any page of the answer, whatever the page size: so a size
// that depends on it is the same for all pages.
func widestPagination(total int) inventory.Pagination {
	return inventory.Pagination{
		Page: total, PageSize: maxPageSize, TotalItems: total, TotalPages: total, HasNext: false, HasPrev: false, ShowingFrom: total, ShowingTo: total,
	}
}

// fittingSize returns the function that chooses the page size at which the rows of every page fit beside the rest of the answer, which bare
// returns.
func fittingSize(room int, bare func(total int, counts *inventory.Counts, p inventory.Pagination, namespace string) any, full bool) inventory.Fit {
	return func(asked, total int, counts *inventory.Counts, widths *inventory.Widths) int {
		text, err := builtin.JSON(bare(total, counts, widestPagination(total), widths.Namespace))
		if err != nil {
			return asked
		}
		room := room - len(text.Text)
		if full {
			return room / max(1, widths.Whole+len(","))
		}
		return widths.Rows(room)
	}
}

// shapeNote is the note that rows are shortened.
const shapeNote = "Rows are short here: a smaller page_size or a filter shows more. "

// Bounds of the text of a default answer, in bytes: VS Code cuts results at 8 KiB, Codex at about 10 KB. Applications are
// listed most often. A page of 11 to 20 rows is the most frequent answer, so its rows are shortened to stay below
// shortPage; a caller who wants more of each row asks for ten.
const (
	maxAnswer             = 10_000
	maxApplicationsAnswer = 8 << 10
	shortPage             = 5_000
	wholeRows             = 10
)

// roomOfPage returns the room for a page of rows rows, in bytes, when asked were asked for: at most shortPage for 11 to 20 rows of a
// default page size.
func roomOfPage(room, rows, asked int) int {
	if rows > wholeRows && rows <= defaultPageSize && asked <= defaultPageSize {
		return min(room, shortPage)
	}
	return room
}

// droppableFields returns the fields that rows lose to make a page smaller, all rows of the page alike, in the order of removal. At the end
// only those of inventory.LeastFields are left, which identify an object and its state.
func droppableFields() []string {
	return []string{
		"ref", "hydrate_to", "template", "sync_windows", "roles", "namespaces", "version", "rev", "chart", "path", "generators", "sources", "repos", "repo",
		"destinations", "message", "description", "applications", "error", "dest", "project", "matched", "operation", "hydration", "deleting",
	}
}
