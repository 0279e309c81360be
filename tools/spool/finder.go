package spool

import (
	"context"
	"io"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
)

// extent is the position of an object in the text, with the positions of the keys that lead to it.
type extent struct {
	begin, end int64
	keys       [][2]int64
}

func (e extent) size() int64 { return e.end - e.begin }

// finder finds the shape of one part while it streams: it checks JSON against the grammar and keeps page tables of two arrays, the largest
// so far and the one under way. Text that is not JSON, or turns out not to be, is lines; the text before is then read again from the disk.
type finder struct {
	w     *Writer
	p     *part
	mode  mode
	first int64 // where the JSON begins, behind a byte order mark and white space
	js    *jsonstream.Items
	ls    *lineScanner

	now   *paging // the array under way, or nil
	best  *paging // the largest array that has ended, or nil
	lines *paging
	maps  [jsonstream.MaxKeys + 1]extent // by depth, the largest object that so many keys lead to
}

type mode uint8

const (
	undecided mode = iota
	asJSON
	asLines
	settled // readers already have pages of an array, although the text turned out not to be JSON
)

func newFinder(w *Writer, p *part) *finder { return &finder{w: w, p: p} }

// feed processes b, which is stored already and ends where the part ends so far.
func (f *finder) feed(b []byte) error {
	if f.mode == undecided {
		b = f.chooseMode(b)
		if f.mode == undecided {
			return nil
		}
	}
	if f.mode == asJSON {
		if _, ok := f.js.Feed(b); !ok {
			return f.fallBackToLines()
		}
		return f.err()
	}
	if f.mode == asLines {
		if err := f.catchUp(f.ls.off, f.p.end-int64(len(b))); err != nil {
			return err
		}
		f.ls.feed(b)
	}
	return f.err()
}

// chooseMode chooses JSON or lines by the first byte that is not white space or a byte order mark, and returns the bytes of b to process in
// that mode; nil if there is no such byte in b.
func (f *finder) chooseMode(b []byte) []byte {
	for i, c := range b {
		at := f.p.end - int64(len(b)) + int64(i)
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			continue
		case at-f.p.begin < 3 && c == "\xef\xbb\xbf"[at-f.p.begin]:
			continue
		case c == '{' || c == '[':
			f.mode, f.first = asJSON, at
			f.js = jsonstream.NewItems(f, at)
			return b[i:]
		}
		f.beginLines()
		return b
	}
	return nil
}

// beginLines drops what was found as JSON, and begins again with lines at the part's beginning. The caller then passes the text that is
// already stored to catchUp.
func (f *finder) beginLines() {
	f.mode, f.js = asLines, nil
	f.w.release(f.now)
	f.w.release(f.best)
	f.now, f.best = nil, nil
	f.lines = f.w.newPaging(rulesFor(Lines, DefaultPageLines, int64(f.w.head.PageBytes), false), f.p.begin)
	f.ls = newLineScanner(f.addLine, f.p.begin, f.lines.longestLine())
}

// addLine adds a line, at [start,end) of the text, to the page table. It always returns true, so that the scanner goes on.
func (f *finder) addLine(start, end int64) bool {
	f.lines.add(start, end)
	return true
}

// catchUp reads the stored text in [from,to) and feeds it to the line scanner.
func (f *finder) catchUp(from, to int64) error {
	if from >= to {
		return nil
	}
	buf := make([]byte, writeBuffer)
	for from < to {
		n, err := f.w.text.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		f.ls.feed(buf[:n])
		from += int64(n)
		if err != nil && (err != io.EOF || n == 0) {
			return err
		}
		if err := f.err(); err != nil {
			return err
		}
	}
	return nil
}

// fallBackToLines reads the part as lines, because it turned out not to be JSON. If readers already have pages of it, it keeps those
// instead.
func (f *finder) fallBackToLines() error {
	if f.w.frozenPart == f.p {
		f.mode = settled
		return nil
	}
	f.beginLines()
	return f.catchUp(f.p.begin, f.p.end)
}

// err returns the error of the first paging that could not be written; nil if there is none.
func (f *finder) err() error {
	for _, p := range []*paging{f.now, f.best, f.lines} {
		if p != nil {
			if err := p.err(); err != nil {
				return f.w.s.full(err)
			}
		}
	}
	return nil
}

// Opened begins a paging of the array that begins at off, unless the pages of the part are frozen.
func (f *finder) Opened(off int64) {
	if f.w.frozenPart == f.p {
		f.now = nil
		return
	}
	wrapped := f.js.Depth() > 0
	f.now = f.w.newPaging(rulesFor(Array, f.w.head.PageItems, int64(f.w.head.PageBytes), wrapped), off)
	f.now.end = off + 1
	f.now.keys = f.js.Keys(f.js.Depth())
}

// Item adds an item of the array under way, at [start,end) of the text. It always returns true, so that the parser goes on.
func (f *finder) Item(start, end int64) bool {
	if f.now != nil {
		f.now.add(start, end)
	}
	return true
}

// Closed ends the array: its paging is kept if it is the largest so far, or the one that was frozen, and released otherwise.
func (f *finder) Closed(end int64) {
	if f.now == nil {
		return
	}
	f.now.close = end
	if f.best == nil || f.best != f.w.frozenPaging && (f.now == f.w.frozenPaging || f.now.size() > f.best.size()) {
		f.now, f.best = f.best, f.now
	}
	f.w.release(f.now)
	f.now = nil
}

// Object remembers the largest object at each depth.
func (f *finder) Object(depth int, start, end int64) {
	if end-start > f.maps[depth].size() {
		f.maps[depth] = extent{start, end, f.js.Keys(depth)}
	}
}

// items returns the number of items found so far.
func (f *finder) items() int64 {
	if p := f.growing(); p != nil {
		return p.count
	}
	return 0
}

// growing returns the page table that a reader can use before the end; nil if there is none.
func (f *finder) growing() *paging {
	switch {
	case f.mode == asLines:
		return f.lines
	case f.w.frozenPart == f.p:
		return f.w.frozenPaging
	case f.now != nil && (f.best == nil || f.now.size() > f.best.size()):
		return f.now
	}
	return f.best
}

// finish returns the page table of the part, whose text has ended. cut means that the text broke off, so JSON may lack its end.
func (f *finder) finish(cut bool) (*paging, error) {
	switch {
	case f.w.frozenPart == f.p && f.mode != asLines:
		return f.w.frozenPaging, f.err()
	case f.mode == asJSON && (f.js.Whole() || cut):
		array := f.growing()
		if array != nil && (array.count == 0 || 4*array.size() < f.p.size()) {
			array = nil
		}
		if array != nil {
			return array, f.err()
		}
		if e := f.innermostObject(); f.js.Whole() && e.size() > 2 {
			return f.members(e)
		}
	}
	if f.mode != asLines {
		f.beginLines()
	}
	if err := f.catchUp(f.ls.off, f.p.end); err != nil {
		return nil, err
	}
	f.ls.finish()
	f.lines.close = f.p.end
	return f.lines, f.err()
}

// innermostObject returns the object whose members are the items: the whole document, or the innermost object in it that still has 90 % of
// the one around it.
func (f *finder) innermostObject() extent {
	e := f.maps[0]
	for _, inner := range f.maps[1:] {
		if 10*inner.size() < 9*e.size() {
			break
		}
		e = inner
	}
	return e
}

// members returns a page table of an object's members, for which it reads the text again. If the object has none, it returns one of lines.
func (f *finder) members(e extent) (*paging, error) {
	p := f.w.newPaging(rulesFor(Object, f.w.head.PageItems, int64(f.w.head.PageBytes), len(e.keys) > 0), e.begin)
	p.end, p.keys = e.begin+1, e.keys
	err := walkAll(context.Background(), f.w.text, p, e.begin+1, e.end-1, nil)
	p.close = e.end
	if err != nil {
		return nil, err
	}
	if p.count == 0 {
		f.beginLines()
		return f.finish(false)
	}
	f.lines = p // so that its errors are seen
	return p, f.err()
}
