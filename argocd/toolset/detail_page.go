package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/plimsoll/plimsoll/argocd"
	"github.com/plimsoll/plimsoll/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// maxRows bounds the rows of one object's parts that are held to be sorted: an application with
// more resources is one of those that Argo CD itself cannot show.
const maxRows = 20_000

// A row is one line of a page. Its texts can be cut, so that a page of long messages stays
// a page.
type row[T any] interface {
	// short is the row with texts of at most so many bytes each.
	shortened(maxBytes int) T
}

// rows collects rows.
type rows[T row[T]] struct {
	list   []T
	narrow string // what to do about too many
}

func (r *rows[T]) add(one T) error {
	if len(r.list) >= maxRows {
		return fmt.Errorf("there are more than %d of them: %s", maxRows, cmp.Or(r.narrow, "narrow it down with the tool's filters"))
	}
	r.list = append(r.list, one)
	return nil
}

// paged is one page of rows as an answer. What counts all of them stands before the rows.
type paged[T any] struct {
	Instance   string               `json:"instance,omitempty"`
	Of         string               `json:"application,omitempty"`
	Pagination inventory.Pagination `json:"pagination"`
	Summary    any                  `json:"summary,omitempty"`
	Link       string               `json:"link,omitempty"`
	Next       *nextCall            `json:"next,omitempty"`
	Note       string               `json:"note,omitempty"`
	Items      []T                  `json:"items"`
}

// page fills in a page of r, which is sorted. repeat gives the arguments of the same call for
// another page.
func page[T row[T]](c *builtin.Call, a paged[T], r []T, p paging, repeat func(p paging) any) (*builtin.Result, error) {
	a.Note = strings.TrimSpace(p.note() + a.Note)
	given := p
	p = p.clamped()
	asked, room := p.PageSize, roomOf(c)
	call := func(number int) *nextCall {
		return &nextCall{Tool: c.Tool, Arguments: repeat(given.following(number, p.PageSize))}
	}
	total := len(r)
	var err error
	if p.PageSize, err = fittingRows(a, r, p.PageSize, room, &nextCall{Tool: c.Tool, Arguments: repeat(paging{Page: total, PageSize: maxPageSize})}); err != nil {
		return nil, err
	}
	if note := clampNote(asked, p.PageSize); note != "" {
		a.Note = strings.TrimSpace(note + a.Note)
	}
	last := (total + p.PageSize - 1) / p.PageSize
	if p.Page > max(1, last) {
		return refused(&inventory.NoPage{Page: p.Page, Last: max(1, last), TotalItems: total, Size: p.PageSize}, "", call)
	}
	from := (p.Page - 1) * p.PageSize
	to := min(total, from+p.PageSize)
	a.Pagination = inventory.Pagination{
		Page: p.Page, PageSize: p.PageSize, TotalItems: total, TotalPages: last,
		HasNext: p.Page < last, HasPrev: p.Page > 1, ShowingFrom: min(from+1, total), ShowingTo: to,
	}
	if a.Pagination.HasNext {
		a.Next = call(p.Page + 1)
	}
	return fitting(a, r[from:to], p.PageSize, room)
}

// longestText and shortestText bound the texts of rows, in bytes: halved again and again the one becomes the other.
const longestText, shortestText = 1200, 1200 >> 5

// fittingRows returns the page size at which the rows of every page fit with their texts at their shortest.
func fittingRows[T row[T]](a paged[T], all []T, size, room int, next *nextCall) (int, error) {
	if room >= maxRoom {
		return size, nil
	}
	a.Pagination, a.Next, a.Items = widestPagination(len(all)), next, []T{}
	a.Note = strings.TrimSpace(longestPagingNote + a.Note)
	bare, err := builtin.JSON(a)
	if err != nil {
		return 0, err
	}
	longest := 1
	for _, one := range all {
		row, err := compact(one.shortened(shortestText))
		if err != nil {
			return 0, err
		}
		longest = max(longest, len(row)+len(","))
	}
	return min(size, max(1, (room-len(bare.Text))/longest)), nil
}

// fitting writes the answer with its texts as long as they may be. Whoever asks for more
// rows than the default gets that much more room.
func fitting[T row[T]](a paged[T], shown []T, pageSize, room int) (*builtin.Result, error) {
	budget := min(room, answerSize*max(1, (pageSize+defaultPageSize-1)/defaultPageSize))
	for maxBytes := longestText; ; maxBytes /= 2 {
		a.Items = make([]T, len(shown))
		for i, one := range shown {
			a.Items[i] = one.shortened(maxBytes)
		}
		answer, err := pageResult(a)
		if err != nil || len(answer.Text) <= budget || maxBytes == shortestText {
			return answer, err
		}
	}
}

// tally counts names and gives the most frequent ones.
type tally map[string]int

// top returns at most n of the counts, and the rest as "other".
func (t tally) top(n int) tally {
	if len(t) <= n {
		return t
	}
	names := sorting.CollectBy(maps.Keys(t), func(a, b string) int { return cmp.Or(cmp.Compare(t[b], t[a]), cmp.Compare(a, b)) })
	out := tally{}
	for i, name := range names {
		if i < n {
			out[name] = t[name]
		} else {
			out["other"] += t[name]
		}
	}
	return out
}

// maxCredential bounds a token in a text, in bytes.
const maxCredential = 4 << 10

// clip cuts a text of the server's for a row: credentials masked, one line of blanks.
func clip(text string, maxBytes int) string {
	all := len(text)
	// What is cut off anyway need not be read, as far as a credential may reach. A manifest
	// of a Secret is masked as a whole, so it is looked at as a whole.
	if all > maxBytes+maxCredential && !strings.Contains(text, "Secret") {
		text = text[:maxBytes+maxCredential]
	}
	read := len(text)
	text = strings.ToValidUTF8(strings.TrimSpace(secrets.Text(text)), "\uFFFD")
	if len(text) <= maxBytes {
		return text
	}
	at := limit.Boundary(text, maxBytes)
	return fmt.Sprintf("%s… (%d bytes more)", text[:at], len(text)-at+all-read)
}

// clips works like clip for a list, which is cut to n entries too.
func clips(list []string, n, maxBytes int) []string {
	var out []string
	for i, text := range list {
		if i == n {
			return append(out, fmt.Sprintf("and %d more", len(list)-n))
		}
		out = append(out, clip(text, maxBytes))
	}
	return out
}

// decode reads an element of the server's.
func decode(client *argocd.Client, what string, raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			return fmt.Errorf("%s: %s: the field %s is a %s, which no version of Argo CD sends", client.Name(), what, wrong.Field, wrong.Value)
		}
		return fmt.Errorf("%s: %s: %w", client.Name(), what, err)
	}
	return nil
}

// elements reads one array of an answer, element by element, and reports progress.
func elements[E any](ctx context.Context, c *builtin.Call, client *argocd.Client, path []string, in appArgs, array string, each func(e E) error) error {
	if err := required("name", in.Name); err != nil {
		return err
	}
	n := 0
	full := append([]string{"applications", in.Name}, path...)
	_, err := client.Elements(ctx, full, in.query(), map[string]func([]byte) error{array: func(raw []byte) error {
		if n++; n%progressEvery == 0 {
			c.Progress(float64(n), 0, fmt.Sprintf("%d read", n))
		}
		var e E
		if err := decode(client, strings.Join(path, "/"), raw, &e); err != nil {
			return err
		}
		return each(e)
	}})
	return err
}
