package toolset

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// maxRoom bounds an answer to a client that has no bound, or none that is known, in bytes.
const maxRoom = 1 << 20

// roomOf is how many bytes of text the client takes.
func roomOf(c *builtin.Call) int {
	if c.MaxText <= 0 {
		return maxRoom
	}
	return int(min(c.MaxText, maxRoom))
}

// shapes are what rows of a page keep when they get shorter, all of them alike: more fields first, at last only what an object is
// and how it is.
func shapes() [][]string {
	return [][]string{
		{"name", "namespace", "project", "health", "sync", "dest", "operation", "deleting", "matched", "applications", "connection", "server", "error", "description"},
		{"name", "namespace", "project", "health", "sync", "operation", "deleting", "matched", "connection", "server"},
		{"name", "namespace", "health", "sync", "operation", "deleting", "matched", "connection", "server"},
		inventory.LeastFields,
	}
}

// A page is rows that are about to be written.
type rowPage struct {
	rows []*json.RawMessage
	// namespace is that of all rows of all pages, which shortened rows leave out; "" where they differ.
	namespace string
	// write makes the answer, with a note about the rows and the namespace that they leave out.
	write func(note, namespace string) any
}

// within writes the page in at most room bytes: whole rows where they fit, else shorter ones. size is the page size that was asked for,
// 0 for none: up to 20 rows lose single fields, and say so. The page sizes go by [pageSize], so that the shortest rows fit.
func (p rowPage) within(room, size int) (*builtin.Result, error) {
	whole := make([]json.RawMessage, len(p.rows))
	for i, row := range p.rows {
		whole[i] = *row
	}
	result := func(note, namespace string) (*builtin.Result, error) {
		r, err := builtin.JSON(p.write(note, namespace))
		if err == nil {
			r.Paged = true
		}
		return r, err
	}
	if len(p.rows) <= defaultPageSize && size <= defaultPageSize {
		r, err := bounded(p.rows, room, func(note string) any { return p.write(note, "") })
		if err != nil || len(r.Text) <= room {
			if err == nil {
				r.Paged = true
			}
			return r, err
		}
	} else if r, err := result("", ""); err != nil || len(r.Text) <= room {
		return r, err
	}
	for i, fields := range shapes() {
		for j, row := range p.rows {
			short, err := only(whole[j], fields, p.namespace != "")
			if err != nil {
				return nil, err
			}
			*row = short
		}
		if r, err := result(shapeNote, p.namespace); err != nil || len(r.Text) <= room || i == len(shapes())-1 {
			return r, err
		}
	}
	return nil, nil // not reached: the last shape returns
}

// only is a row with these fields alone, in the row's order.
func only(row json.RawMessage, fields []string, sameNamespace bool) (json.RawMessage, error) {
	out := make([]byte, 0, 128)
	out = append(out, '{')
	for m, err := range rawjson.Members(row, 0) {
		if err != nil {
			return nil, fmt.Errorf("a row: %w", err)
		}
		key := string(m.Key)
		if !slices.Contains(fields, key) || key == "namespace" && sameNamespace {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, row[m.Name.Start:m.Value.End]...)
	}
	return append(out, '}'), nil
}

// worst is a pagination whose text is as long as that of any page of the question, whatever page size is asked for: what goes by it
// is the same for all of them.
func worst(total int) inventory.Pagination {
	return inventory.Pagination{
		Page: total, PageSize: maxPageSize, TotalItems: total, TotalPages: total, HasNext: false, HasPrev: false, ShowingFrom: total, ShowingTo: total,
	}
}

// fittingSize gives the page size at which the rows of every page fit beside the rest of the answer, which bare writes.
func fittingSize(room int, bare func(total int, counts *inventory.Counts, p inventory.Pagination, namespace string) any, full bool) inventory.Fit {
	return func(asked, total int, counts *inventory.Counts, widths *inventory.Widths) int {
		text, err := builtin.JSON(bare(total, counts, worst(total), widths.Namespace))
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

// shapeNote says that rows are shortened.
const shapeNote = "Rows are short here: a smaller page_size or a filter shows more. "
