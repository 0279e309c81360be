package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// maxRows bounds the rows that are collected and sorted for one answer: an application with more resources is one that Argo CD itself
// cannot show.
const maxRows = 20_000

// row is one line of a page. Its texts can be cut, so that a page of long messages still fits.
type row[T any] interface {
	// shortened returns the row with each text cut to about maxBytes.
	shortened(maxBytes int) T
}

// rows collects the rows of an answer, at most maxRows.
type rows[T row[T]] struct {
	list   []T
	narrow string // advice in the error for too many rows
}

func (r *rows[T]) add(one T) error {
	if len(r.list) >= maxRows {
		return fmt.Errorf("there are more than %d of them: %s", maxRows, cmp.Or(r.narrow, "narrow it down with the tool's filters"))
	}
	r.list = append(r.list, one)
	return nil
}

// paged is an answer with one page of rows. Its counts over all rows come before the rows.
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

// page answers with the page p of the sorted rows r. The page size is lowered until every page fits into the room of the call; a page
// beyond the end is a refusal. repeat returns the arguments of the same call for another page.
func page[T row[T]](c *builtin.Call, a paged[T], r []T, p paging, repeat func(p paging) any) (*builtin.Result, error) {
	a.Note = strings.TrimSpace(p.sizeNote() + a.Note)
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
		return answerRefusal(&inventory.NoPage{Page: p.Page, Last: max(1, last), TotalItems: total, Size: p.PageSize}, "", call)
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

// longestText is the length to which texts of rows are cut at first, in bytes, shortestText the least: it is halved until the page fits.
const longestText, shortestText = 1200, 1200 >> 5

// fittingRows returns the largest page size, at most size, at which every page of all fits into room bytes with its texts at their
// shortest.
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

// fitting returns the answer with the texts of its rows as long as there is room. A page size above the default gets proportionally more
// room.
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

// tally counts by name.
type tally map[string]int

// top returns the n largest counts, and the sum of the others as "other"; all if there are at most n.
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

// maxCredential bounds the length of a token in a text, in bytes.
const maxCredential = 4 << 10

// clip cuts a text of the server to about maxBytes for a row, with credentials masked and without surrounding white space.
func clip(text string, maxBytes int) string {
	all := len(text)
	// Text beyond the cut is only searched as far as a credential may reach. The manifest of a Secret is masked as a
	// whole, so all of it is searched.
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

// clips applies clip to each text of a list, which is cut to n entries and the number of the others.
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

// decode decodes an element of the server's answer; the error names the instance and what.
func decode(client *argocd.Client, what string, raw []byte, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			return fmt.Errorf("%s: %s: the field %s is a %s, which no version of Argo CD sends", client.Name(), what, wrong.Field, wrong.Value)
		}
		return fmt.Errorf("%s: %s: %w", client.Name(), what, err)
	}
	return nil
}

// read reads one answer of the server; errors name the instance and what.
func read[E any](ctx context.Context, client *argocd.Client, what string, path []string, q url.Values) (v E, err error) {
	raw, err := client.Get(ctx, path, q)
	if err != nil {
		return v, err
	}
	return v, decode(client, what, raw, &v)
}

// elements calls each with every element of one array in the answer for an application, and reports progress. It stops at the first error
// of each.
func elements[E any](ctx context.Context, c *builtin.Call, client *argocd.Client, path []string, in appArgs, array string, each func(e E) error) error {
	if err := checkGiven("name", in.Name); err != nil {
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
