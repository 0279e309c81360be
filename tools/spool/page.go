package spool

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// source is a document, complete or growing, of which pages are rendered.
type source struct {
	r      *Result
	rules  rules
	large  *table
	begin  int64  // where the container begins
	end    int64  // where the last item ends
	prolog []byte // the text of the object around the items, before
	epilog []byte // and behind them
}

// Page returns page n, counted from 1, of pages with size items (0 means the default; a larger size than allowed means the largest). While
// the result is written it waits until the page is complete or the result ends; ctx ends the waiting. A number that is out of range is
// *NoPage.
func (r *Result) Page(ctx context.Context, n, size int) (Page, error) {
	for {
		v, w, err := r.complete()
		if err != nil {
			return Page{}, err
		}
		if v != nil {
			p, err := r.pageOf(ctx, v, n, size)
			if damaged := (*errDamaged)(nil); errors.As(err, &damaged) {
				r.mu.Lock()
				err = r.rebuildTables(v)
				r.mu.Unlock()
				if err == nil {
					p, err = r.pageOf(ctx, v, n, size)
				}
				if errors.As(err, &damaged) {
					return Page{}, r.markDamaged()
				}
			}
			return p, err
		}
		if n < 1 {
			return Page{}, &NoPage{Page: int64(n), Pages: 1, Size: max(size, 1), Noun: Lines.Noun()}
		}
		if w != nil {
			if p, ok, err := r.pageSoFar(ctx, w, n, size); ok || err != nil {
				return p, err
			}
		}
		if err := r.waitForMore(ctx, w); err != nil {
			return Page{}, err
		}
	}
}

// pageSize returns the page size to use when size is asked for: def if it is 0, the largest one if it is larger.
func pageSize(shape Shape, size, def int) int {
	_, maxBytes := shape.pageSizes(def)
	if size <= 0 {
		return def
	}
	return min(size, maxBytes)
}

// pageOf returns page n, counted from 1, of a document that has ended, with size items per page. An empty document has one empty page; any
// other number that does not exist is [*NoPage].
func (r *Result) pageOf(ctx context.Context, v *view, n, size int) (Page, error) {
	size = pageSize(v.m.Shape, size, v.m.PerPage)
	m := v.m
	src := source{r: r, rules: v.rules, large: v.large, begin: m.Begin, end: m.Last}
	first, next, total, err := r.pageRows(ctx, v, &src, n, size)
	if err != nil {
		return Page{}, err
	}
	p := Page{Number: n, Size: size, TotalPages: total, TotalItems: m.Items, Complete: true, Cut: m.Cut, JSON: v.rules.isJSON()}
	if m.Items == 0 && n == 1 { // an empty result has an empty page
		p.TotalPages, p.JSON = 1, false
		return p, nil
	}
	if n < 1 || int64(n) > p.TotalPages {
		return Page{}, &NoPage{Page: int64(n), Pages: p.TotalPages, Size: size, Noun: m.Shape.Noun(), Items: m.Items}
	}
	if m.Depth > 0 && v.envelopeSize() <= envelopeBytes(int64(r.head.PageBytes)) {
		if src.prolog, src.epilog, err = r.readEnvelope(m); err != nil {
			return Page{}, err
		}
	}
	p.From, p.To = first[0]+1, next[0]
	p.Text, p.Omitted, err = src.render(ctx, first, next)
	return p, err
}

// pageRows returns the row of the first item on page n and that of the page behind it, and the number of pages. For a page that does not exist the
// rows mean nothing.
func (r *Result) pageRows(ctx context.Context, v *view, src *source, n, size int) (first, next row, total int64, err error) {
	m, last := v.m, row{v.m.Items, v.m.Last}
	if size != m.PerPage && m.exceedsTable(size, v.rules.budget) {
		var ok bool
		if first, next, total, ok, err = src.findPage(ctx, size, int64(n), true); !ok {
			next = last
		}
		return first, next, total, err
	}
	pages := v.pages
	if size != m.PerPage {
		r.mu.Lock()
		pages, err = r.tableOfSize(ctx, v, size)
		r.mu.Unlock()
		if err != nil {
			return first, next, 0, err
		}
	}
	if total = pages.len(); n < 1 || int64(n) > total {
		return first, next, total, nil
	}
	if first, err = pages.get(int64(n) - 1); err == nil && int64(n) < total {
		next, err = pages.get(int64(n))
	} else {
		next = last
	}
	return first, next, total, err
}

// readEnvelope returns the text before and behind the items of the document. If the result broke off, the text behind is as many } as there
// are open objects.
func (r *Result) readEnvelope(m *meta) (prolog, epilog []byte, err error) {
	prolog = make([]byte, m.Begin-m.DocBegin)
	if _, err := r.text.ReadAt(prolog, m.DocBegin); err != nil {
		return nil, nil, &errDamaged{err.Error()}
	}
	prolog = bytes.TrimPrefix(prolog, []byte("\xef\xbb\xbf"))
	if m.Close == 0 {
		return prolog, bytes.Repeat([]byte{'}'}, m.Depth), nil
	}
	epilog = make([]byte, m.DocEnd-m.Close)
	if _, err := r.text.ReadAt(epilog, m.Close); err != nil {
		return nil, nil, &errDamaged{err.Error()}
	}
	return prolog, epilog, nil
}

// pageSoFar returns a page of a result that is still being written; ok is false if not all of its items are there yet. The first page that
// is returned decides which part of the result is the document.
func (r *Result) pageSoFar(ctx context.Context, w *Writer, n, size int) (Page, bool, error) {
	w.mu.Lock()
	p := w.part
	if w.frozenPart != nil {
		p = w.frozenPart
	}
	if p == nil || p.find == nil || w.meta != nil {
		w.mu.Unlock()
		return Page{}, false, nil
	}
	g := p.find.growing()
	if g == nil || g.pages.len() < 2 { // no page is whole
		w.mu.Unlock()
		return Page{}, false, nil
	}
	if w.frozenPaging == nil { // from here on this is the document
		w.frozenPaging, w.frozenPart = g, p
	}
	size = pageSize(g.shape, size, g.items)
	count, end, pages, begin := g.count, g.end, g.pages.len(), g.begin
	docBegin, depth := p.begin, len(g.keys)
	w.mu.Unlock()

	page := Page{Number: n, Size: size, TotalPages: pages, TotalItems: count, JSON: g.isJSON()}
	src := source{r: r, rules: g.rules, large: g.large, begin: begin, end: end}
	var first, next row
	var err error
	if size == g.items {
		if int64(n) >= pages {
			return Page{}, false, nil
		}
		if first, err = g.pages.get(int64(n) - 1); err == nil {
			next, err = g.pages.get(int64(n))
		}
	} else {
		var ok bool
		if first, next, _, ok, err = src.findPage(ctx, size, int64(n), false); err == nil && !ok {
			return Page{}, false, nil
		}
		page.TotalPages = 0
	}
	if err != nil {
		return Page{}, false, err
	}
	if length := begin - docBegin + int64(depth); depth > 0 && length <= envelopeBytes(int64(r.head.PageBytes)) {
		if src.prolog, src.epilog, err = r.readEnvelope(&meta{Begin: begin, DocBegin: docBegin, Depth: depth}); err != nil {
			return Page{}, false, err
		}
	}
	page.From, page.To = first[0]+1, next[0]
	page.Text, page.Omitted, err = src.render(ctx, first, next)
	return page, true, err
}

// render returns the text of the items from row first up to row next, and how many of them are stubs.
func (s *source) render(ctx context.Context, first, next row) ([]byte, int, error) {
	if first[0] >= next[0] || first[1] > next[1] || first[1] < s.begin || next[1] > s.end && next[1] != s.end {
		return nil, 0, &errDamaged{"pages are out of order"}
	}
	if !s.rules.isJSON() {
		if next[1]-first[1] > s.rules.budget+maxGap {
			return nil, 0, &errDamaged{"a page is too long"}
		}
		b := make([]byte, next[1]-first[1])
		if _, err := s.r.text.ReadAt(b, first[1]); err != nil {
			return nil, 0, &errDamaged{err.Error()}
		}
		return b, 0, nil
	}
	open, shut := byte('['), byte(']')
	if s.rules.shape == Object {
		open, shut = '{', '}'
	}
	out := make([]byte, 0, s.rules.budget+int64(len(s.prolog)+len(s.epilog)))
	out = append(append(out, s.prolog...), open)
	omitted, number, before := 0, first[0], int64(-1)
	var failed error
	from, to := int64(0), int64(0) // what is next on the page and not read yet
	flush := func() {
		at := len(out)
		out = append(out, make([]byte, to-from)...)
		if _, err := s.r.text.ReadAt(out[at:], from); err != nil && to > from {
			failed = &errDamaged{err.Error()}
		}
		from = to
	}
	take := func(start, end int64) {
		if start != to {
			flush()
			from = start
		}
		to = end
	}
	err := walkJSON(ctx, s.r.text, s.rules.shape == Object, first[1], s.end, s.large, make([]byte, pageBuffer), func(start, end int64) bool {
		switch {
		case before < 0:
		case start-before <= maxGap:
			take(before, start)
		default:
			flush()
			out = append(out, ',')
		}
		if s.rules.omits(end - start) {
			omitted++
			flush()
			out = s.appendStub(out, number+1, start, end)
		} else {
			take(start, end)
		}
		number++
		before = end
		return number < next[0] && failed == nil
	})
	if flush(); err == nil {
		err = failed
	}
	if err == nil && number != next[0] {
		err = &errDamaged{"items are missing"}
	}
	return append(append(out, shut), s.epilog...), omitted, err
}

// appendStub appends to out the stub for an item at [start,end) that is larger than a page.
func (s *source) appendStub(out []byte, number, start, end int64) []byte {
	if s.rules.shape == Object {
		key := make([]byte, min(maxStubKey-2, end-start))
		_, _ = s.r.text.ReadAt(key, start)
		if k, err := rawjson.Value(key, 0); err == nil {
			out = append(out, k.Of(key)...)
		} else {
			out = rawjson.Quote(out, "plimsoll/omitted "+strconv.FormatInt(number, 10))
		}
		out = append(out, ':')
	}
	out = append(out, `{"plimsoll/omitted":{"item":`...)
	out = strconv.AppendInt(out, number, 10)
	out = append(out, `,"bytes":`...)
	out = strconv.AppendInt(out, end-start, 10)
	out = append(out, `,"offset":`...)
	out = strconv.AppendInt(out, start, 10)
	return append(out, `}}`...)
}
