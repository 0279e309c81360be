package spool

import (
	"fmt"
	"os"
)

// Bounds of what a page is made of, in bytes.
const (
	// maxEnvelope bounds the part of an object around the main array that each page repeats, in bytes.
	maxEnvelope = 2 << 10
	// maxGap bounds the space between two items that a page keeps, in bytes; beyond, a comma will do.
	maxGap = 64
	// stubSize bounds what stands for an item that is larger than a page; for a member of
	// an object its key comes on top.
	stubSize    = 160
	maxStubKey  = 320
	minPageSize = 1 << 10
)

// rules pack items into pages: greedily, at most `items` of them and at most
// `budget` bytes, envelope excluded.
type rules struct {
	shape  Shape
	items  int
	budget int64
}

// envelopeOf returns the bytes of a page of pageBytes that are set aside for the envelope.
func envelopeOf(pageBytes int64) int64 { return min(maxEnvelope, pageBytes/4) }

// rulesFor returns the rules of a shape; wrapped is set when an object may surround the items.
func rulesFor(shape Shape, items int, pageBytes int64, wrapped bool) rules {
	budget := pageBytes
	if wrapped {
		budget -= envelopeOf(pageBytes)
	}
	return rules{shape, items, budget}
}

// json reports whether pages are JSON.
func (r rules) json() bool { return r.shape == Array || r.shape == Object }

// longest bounds a line, in bytes.
func (r rules) longest() int64 { return min(maxLine, r.budget) }

// omits reports whether an item of size bytes is left out of its page.
func (r rules) omits(size int64) bool { return r.json() && size > r.budget-2 }

// paging is the page table of one run of items as it grows.
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
	bytes  int64 // of the page under way
	keys   [][2]int64
}

// add puts the next item in.
func (p *paging) add(start, end int64) {
	size, gap := end-start, int64(0)
	if p.json() {
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
	if p.json() {
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

// reset makes p ready for other items.
func (p *paging) reset(r rules, begin int64) {
	p.rules, p.begin, p.close, p.end, p.count, p.inPage, p.bytes, p.keys = r, begin, 0, 0, 0, 0, 0, nil
	p.pages.reset()
	p.large.reset()
}

// size returns the bytes of the items, brackets included.
func (p *paging) size() int64 {
	if p.close > 0 {
		return p.close - p.begin
	}
	return max(0, p.end-p.begin)
}

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

// paging returns an empty page table.
func (w *Writer) paging(r rules, begin int64) *paging {
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

// release takes a page table back that nobody reads.
func (w *Writer) release(p *paging) {
	if p != nil && p != w.frozenPaging {
		w.idlePagings = append(w.idlePagings, p)
	}
}
