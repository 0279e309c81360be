package spool

import (
	"fmt"
	"os"
)

// Bounds of the parts of a page, in bytes.
const (
	// maxEnvelope bounds the part of an object around the main array that each page repeats, in bytes.
	maxEnvelope = 2 << 10
	// maxGap bounds the white space between two items that a page keeps; a longer one becomes a comma.
	maxGap = 64
	// stubSize bounds the stub of an item that is larger than a page; for a member of an object maxStubKey is
	// added for its key.
	stubSize    = 160
	maxStubKey  = 320
	minPageSize = 1 << 10
)

// rules say how items are packed into pages: greedily, at most items of them and at most budget bytes, without the envelope.
type rules struct {
	shape  Shape
	items  int
	budget int64
}

// envelopeBytes returns how many bytes of a page of pageBytes are reserved for the object around the items.
func envelopeBytes(pageBytes int64) int64 { return min(maxEnvelope, pageBytes/4) }

// rulesFor returns the rules by which items of a shape are put into pages; wrapped means that an object may surround the items, whose text
// each page repeats.
func rulesFor(shape Shape, items int, pageBytes int64, wrapped bool) rules {
	budget := pageBytes
	if wrapped {
		budget -= envelopeBytes(pageBytes)
	}
	return rules{shape, items, budget}
}

// isJSON reports whether pages are rendered as JSON.
func (r rules) isJSON() bool { return r.shape == Array || r.shape == Object }

// longestLine returns the length in bytes at which lines are cut.
func (r rules) longestLine() int64 { return min(maxLine, r.budget) }

// omits reports whether a page has a stub in place of an item of size bytes, because the item is larger than a page.
func (r rules) omits(size int64) bool { return r.isJSON() && size > r.budget-2 }

// paging is the growing page table of one sequence of items.
type paging struct {
	rules
	dir    *os.Root
	pages  *table
	large  *table
	begin  int64 // of the container, with its bracket; of the first line
	close  int64 // end of the container; 0 while it is open
	end    int64 // of the last item
	count  int64 // items
	inPage int
	bytes  int64 // bytes on the page under way
	keys   [][2]int64
}

// add adds the next item, at [start,end) of the text, to the page under way, or to a new page if there it does not fit. An item that is
// larger than a page is recorded as large, and counts with the size of its stub.
func (p *paging) add(start, end int64) {
	size, gap := end-start, int64(0)
	if p.isJSON() {
		if p.omits(size) {
			p.large.append(row{p.count, start, end})
			if size = stubSize; p.shape == Object {
				size += maxStubKey
			}
		}
		if gap = start - p.end; gap > maxGap {
			gap = 1
		}
	}
	framing := int64(0)
	if p.isJSON() {
		framing = 2
	}
	if p.inPage == 0 || p.inPage == p.items || p.bytes+gap+size > p.budget-framing {
		p.pages.append(row{p.count, start})
		p.inPage, p.bytes, gap = 0, 0, 0
	}
	p.inPage++
	p.bytes += gap + size
	p.count++
	p.end = end
}

// reset empties p for the items of another container, which begins at begin.
func (p *paging) reset(r rules, begin int64) {
	p.rules, p.begin, p.close, p.end, p.count, p.inPage, p.bytes, p.keys = r, begin, 0, 0, 0, 0, 0, nil
	p.pages.reset()
	p.large.reset()
}

// size returns the bytes from the beginning of the container to the end of its last item, or to its own end once that has come.
func (p *paging) size() int64 {
	if p.close > 0 {
		return p.close - p.begin
	}
	return max(0, p.end-p.begin)
}

// err returns the error of the first of its tables that could not be written; nil if there is none.
func (p *paging) err() error {
	for _, t := range []*table{p.pages, p.large} {
		t.mu.Lock()
		err := t.err
		t.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// newPaging returns an empty page table; it uses a released one again if there is one.
func (w *Writer) newPaging(r rules, begin int64) *paging {
	if n := len(w.idlePagings); n > 0 {
		p := w.idlePagings[n-1]
		w.idlePagings = w.idlePagings[:n-1]
		p.reset(r, begin)
		return p
	}
	w.made++
	p := &paging{dir: w.dir, rules: r, begin: begin, end: begin}
	p.pages = &table{dir: w.dir, name: fmt.Sprintf("pages.%d", w.made), grow: w.grow}
	p.large = &table{dir: w.dir, name: fmt.Sprintf("large.%d", w.made), grow: w.grow}
	return p
}

// release makes p free to be used again, unless readers use it.
func (w *Writer) release(p *paging) {
	if p != nil && p != w.frozenPaging {
		w.idlePagings = append(w.idlePagings, p)
	}
}
