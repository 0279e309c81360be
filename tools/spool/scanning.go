package spool

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sort"
)

// overlap bounds how far a match may reach beyond the place where a long line was cut, in bytes.
const overlap = 1 << 10

// unit is one item for the search: its number and its place in the text.
type unit struct{ item, start, end int64 }

// search is one pass of a pattern over the whole document.
type search struct {
	r     *Result
	v     *view
	p     *pattern
	found *searchResult
	// The number of the page whose units are loaded (-1 for none), and those units.
	page  int64
	units []unit
	// The part of the text that is in memory.
	window     []byte
	windowFrom int64
	scratch    []byte
	last       int64 // the end of the unit that was counted last, -1 before the first
	looks      int   // how many looks around literals found nothing
}

// search finds all matches of p in the document: by a text that each match must contain if there is one, else item by item.
func (r *Result) search(ctx context.Context, v *view, p *pattern) (*searchResult, error) {
	s := &search{r: r, v: v, p: p, found: &searchResult{}, page: -1, last: -1}
	if v.m.Items == 0 {
		return s.found, nil
	}
	if len(p.literals) > 0 {
		return s.found, s.searchLiterals(ctx)
	}
	return s.found, s.searchUnits(ctx)
}

// searchLiterals searches the text for the literals in large steps, and matches only the units that contain one.
func (s *search) searchLiterals(ctx context.Context) error {
	m, n := s.v.m, int64(s.p.longest)
	buf := make([]byte, scanBuffer)
	for at := m.Begin; at < m.Last; {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := buf[:min(int64(len(buf)), m.Last-at)]
		if k, err := s.r.text.ReadAt(b, at); k < len(b) {
			return &errDamaged{err.Error()}
		}
		next := at + int64(len(b)) // what is before has been looked at
		if next < m.Last {
			next -= n - 1
		}
		s.p.rewind()
		for i := int64(0); ; {
			k := s.p.index(b, int(i))
			if k < 0 {
				break
			}
			on, err := s.probe(ctx, at+int64(k))
			if err != nil {
				return err
			}
			if i = on - at; i > int64(len(b)) {
				break
			}
			next = max(next, on)
		}
		at = max(next, s.last)
	}
	return nil
}

// probe matches the unit at the offset at, where a literal was found, and returns the offset from which the search goes on.
func (s *search) probe(ctx context.Context, at int64) (int64, error) {
	u, ok, err := s.locate(ctx, at)
	if err != nil || !ok {
		return at + 1, err
	}
	if s.p.pure {
		to := at + int64(s.p.longest)
		if to > u.end && !s.continues(u) {
			return at + 1, nil
		}
		s.count(u, at, to, s.p.literals[0].text)
		return u.end, nil
	}
	if s.isNarrowable(u) {
		return s.matchNear(ctx, u, at)
	}
	// A match that reaches into this piece of a long line may begin in the one before.
	if u.start > s.v.m.Begin && u.start > s.last && s.v.m.Shape == Lines {
		before, ok, err := s.locate(ctx, u.start-1)
		if err != nil {
			return 0, err
		}
		if ok && s.continues(before) && before.end > s.last {
			if err := s.match(ctx, before); err != nil {
				return 0, err
			}
		}
	}
	return u.end, s.match(ctx, u)
}

// continues reports whether a unit is a piece of a line that the next unit continues.
func (s *search) continues(u unit) bool {
	if s.v.m.Shape != Lines || u.end >= s.v.m.DocEnd {
		return false
	}
	var b [1]byte
	_, err := s.r.text.ReadAt(b[:], u.end-1)
	return err == nil && b[0] != '\n'
}

// locate returns the unit that contains the offset at; ok is false if none does.
func (s *search) locate(ctx context.Context, at int64) (unit, bool, error) {
	if s.page < 0 || len(s.units) == 0 || at < s.units[0].start || at >= s.units[len(s.units)-1].end {
		page := s.page + 1
		if s.page < 0 || !s.onPage(page, at) {
			i, err := s.v.pages.find(1, at+1)
			if err != nil {
				return unit{}, false, err
			}
			if page = i - 1; page < 0 {
				return unit{}, false, nil
			}
		}
		if page != s.page {
			if err := s.loadPage(ctx, page); err != nil {
				return unit{}, false, err
			}
		}
	}
	i := sort.Search(len(s.units), func(i int) bool { return s.units[i].end > at })
	if i == len(s.units) || s.units[i].start > at {
		return unit{}, false, nil
	}
	return s.units[i], true, nil
}

// onPage reports whether an offset lies behind the beginning of a page and before that of the next. It returns false if the page table
// cannot be read.
func (s *search) onPage(page, at int64) bool {
	a, err := s.v.pages.get(page)
	if err != nil || a[1] > at {
		return false
	}
	if page+1 == s.v.pages.len() {
		return true
	}
	b, err := s.v.pages.get(page + 1)
	return err == nil && at < b[1]
}

// loadPage sets s.units to the items of a page, and s.page to the page.
func (s *search) loadPage(ctx context.Context, page int64) error {
	first, err := s.v.pages.get(page)
	if err != nil {
		return err
	}
	next := s.v.m.Items
	if page+1 < s.v.pages.len() {
		r, err := s.v.pages.get(page + 1)
		if err != nil {
			return err
		}
		next = r[0]
	}
	s.page, s.units = page, s.units[:0]
	if s.scratch == nil {
		s.scratch = make([]byte, pageBuffer)
	}
	item := first[0]
	return s.v.walk(ctx, s.r.text, first, s.scratch, func(start, end int64) bool {
		s.units = append(s.units, unit{item, start, end})
		item++
		return item < next
	})
}

// walk calls tell with the positions of the items, beginning with the item of row first, until tell returns false. buf is used for reading.
func (v *view) walk(ctx context.Context, text io.ReaderAt, first row, buf []byte, tell func(start, end int64) bool) error {
	m := v.m
	switch m.Shape {
	case Lines:
		return walkLines(ctx, text, first[1], m.Last, v.rules.longestLine(), buf, tell)
	case Blocks:
		for i := first[0]; i < m.Blocks; i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			b, err := v.blocks.get(i)
			if err != nil {
				return err
			}
			if !tell(b[1], b[2]) {
				return nil
			}
		}
		return nil
	}
	return walkJSON(ctx, text, m.Shape == Object, first[1], m.Last, v.large, buf, tell)
}

// searchUnits matches every unit of the document, in order. It returns ctx's error if that ends first.
func (s *search) searchUnits(ctx context.Context) error {
	first, err := s.v.pages.get(0)
	if err != nil {
		return err
	}
	var failed error
	item, looked := int64(0), int64(0)
	err = s.v.walk(ctx, s.r.text, first, make([]byte, scanBuffer), func(start, end int64) bool {
		if item&0x3ff == 0 || end-looked > scanBuffer {
			failed, looked = ctx.Err(), end
		}
		if failed == nil {
			failed = s.match(ctx, unit{item, start, end})
		}
		item++
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// match matches one unit, and counts it if it matches. A unit that was already counted is skipped.
func (s *search) match(ctx context.Context, u unit) error {
	if u.end <= s.last {
		return nil
	}
	size := u.end - u.start
	if size > scanBuffer/2 {
		return s.matchLarge(ctx, u)
	}
	b, err := s.bytes(u.start, u.end)
	if err != nil {
		return err
	}
	extended := false
	if s.v.m.Shape == Lines {
		if b[len(b)-1] == '\n' {
			b = bytes.TrimSuffix(b[:len(b)-1], []byte{'\r'})
		} else if u.end < s.v.m.Last {
			extended = true
			if b, err = s.bytes(u.start, min(u.end+overlap, s.v.m.Last)); err != nil {
				return err
			}
			if n := bytes.IndexByte(b, '\n'); n >= 0 {
				b = b[:n]
			}
		}
	}
	if at := s.p.re.FindIndex(b); at != nil && (int64(at[0]) < size || !extended) {
		s.count(u, u.start+int64(at[0]), u.start+int64(at[1]), b[at[0]:at[1]])
	}
	return nil
}

// bytes returns the text in a range of at most scanBuffer bytes; it is valid until the next call.
func (s *search) bytes(from, to int64) ([]byte, error) {
	if s.window == nil {
		s.window = make([]byte, 0, scanBuffer)
	}
	if from < s.windowFrom || to > s.windowFrom+int64(len(s.window)) {
		n := min(scanBuffer, s.v.m.Last-from)
		if len(s.p.literals) > 0 { // hits lie apart
			n = to - from
		}
		s.windowFrom, s.window = from, s.window[:n]
		if k, err := s.r.text.ReadAt(s.window, from); int64(k) < n {
			s.window = s.window[:0]
			return nil, &errDamaged{err.Error()}
		}
	}
	return s.window[from-s.windowFrom : to-s.windowFrom], nil
}

// count adds a match at [from,to), with its text, to the result, unless the unit or a later one was counted already.
func (s *search) count(u unit, from, to int64, text []byte) {
	if u.end > s.last {
		s.last = u.end
		s.found.add(hit{u.item, u.start, u.end, from, to}, s.v.m, text)
	}
}

// pageOfMatches returns the page of matches that q asks for, with excerpts. A page ends at q.Size matches or at the size of a page. For a
// page that does not exist the error is [*NoPage].
func (r *Result) pageOfMatches(ctx context.Context, v *view, q SearchRequest, found *searchResult) (Matches, error) {
	size := min(max(q.Size, 0), MaxPageMatches)
	if size == 0 {
		size = DefaultMatches
	}
	around := min(max(q.Context, 0), MaxContext)
	if v.m.Shape != Lines {
		around = 0
	}
	out := Matches{
		Number: max(q.Page, 1), Size: size, Total: found.total, Searched: v.m.Items, Shape: v.m.Shape, Cut: v.m.Cut,
		DocumentBytes: v.m.DocEnd - v.m.DocBegin, Offset: v.m.DocBegin,
	}
	page, inPage, bytes := int64(1), 0, 0
	s := &search{r: r, v: v, p: &pattern{}, page: -1}
	for i, h := range found.hits {
		m, err := s.excerpt(ctx, h, around)
		if err != nil {
			return Matches{}, err
		}
		if inPage > 0 && (inPage == size || bytes+m.size() > r.head.PageBytes) {
			page, inPage, bytes = page+1, 0, 0
		}
		inPage++
		bytes += m.size()
		if page == int64(out.Number) {
			if len(out.Matches) == 0 {
				out.From = int64(i) + 1
			}
			out.To = int64(i) + 1
			out.Matches = append(out.Matches, m)
		}
	}
	if out.TotalPages = page; q.Page < 0 || int64(out.Number) > page {
		return Matches{}, &NoPage{Page: int64(q.Page), Pages: page, Size: size, Noun: "matches", Items: found.total}
	}
	return out, nil
}

func (m *Match) size() int {
	n := len(m.Text) + 32
	for _, l := range slices.Concat(m.Before, m.After) {
		n += len(l) + 1
	}
	return n
}

// excerpt returns a match as it is shown: the whole item if it is small, else the text around the match; for lines with as many lines
// before and after it as around says.
func (s *search) excerpt(ctx context.Context, h hit, around int) (Match, error) {
	m := Match{Item: h.item + 1, Offset: h.start, Bytes: h.end - h.start, At: h.from}
	from, to := h.start, h.end
	if m.Whole = to-from <= int64(s.r.head.PageBytes)/4; !m.Whole {
		side := max(0, snippetSize-(h.to-h.from)) / 2
		from = max(h.start, h.from-side)
		to = min(max(h.end, h.to), from+snippetSize)
	}
	p, err := s.r.piece(from, to, s.v.m.Stored, true)
	if err != nil {
		return Match{}, err
	}
	if m.Text = p.Text; s.v.m.Shape == Lines {
		m.Text = bytes.TrimRight(m.Text, "\r\n")
	}
	at := h.start
	for range around {
		u, ok, err := s.locate(ctx, at-1)
		if err != nil {
			return Match{}, err
		}
		if at <= s.v.m.Begin || !ok {
			break
		}
		at = u.start
		m.Before = append(m.Before, s.lineOf(u))
	}
	slices.Reverse(m.Before)
	at = h.end
	for range around {
		u, ok, err := s.locate(ctx, at)
		if err != nil {
			return Match{}, err
		}
		if at >= s.v.m.Last || !ok {
			break
		}
		at = u.end
		m.After = append(m.After, s.lineOf(u))
	}
	return m, nil
}

// lineOf returns the text of a line, at most contextSize bytes; "" if it cannot be read.
func (s *search) lineOf(u unit) string {
	p, err := s.r.piece(u.start, min(u.end, u.start+contextSize), s.v.m.Stored, true)
	if err != nil {
		return ""
	}
	return string(bytes.TrimRight(p.Text, "\r\n"))
}
