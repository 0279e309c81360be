package spool

import (
	"context"
	"io"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
)

// Sizes of the buffers for reading a document, in bytes.
const (
	pageBuffer = 16 << 10
	scanBuffer = 128 << 10
)

// walker passes the items of a document on to tell.
type walker struct {
	ctx   context.Context
	text  io.ReaderAt
	end   int64 // where the last item ends
	large *table
	tell  func(start, end int64) bool
}

// Opened does nothing.
func (w *walker) Opened(int64) {}

// Closed does nothing.
func (w *walker) Closed(int64) {}

// Object does nothing.
func (w *walker) Object(int, int64, int64) {}

// Item passes an item on; false ends the walk.
func (w *walker) Item(start, end int64) (m bool) { return w.tell(start, end) }

// walkJSON calls tell with the positions of the items of an array, or with members set of the members of an object, beginning at off, until
// tell returns false or the offset end is reached. It reads one byte behind end, to see the end of a number. Items that the table large
// contains are skipped without reading them. buf is used for reading.
func walkJSON(ctx context.Context, text io.ReaderAt, members bool, off, end int64, large *table, buf []byte, tell func(start, end int64) bool) error {
	w := &walker{ctx: ctx, text: text, end: end, large: large, tell: tell}
	s := jsonstream.ItemsFrom(w, off, members)
	at, jump, stop := int64(0), row{}, end+1
	next := func(from int64) error {
		s.SkipAt = -1
		if large == nil {
			return nil
		}
		var err error
		if at, err = large.find(1, from); err != nil || at >= large.len() {
			return err
		}
		if jump, err = large.get(at); err == nil {
			s.SkipAt = jump[1]
		}
		return err
	}
	if err := next(off); err != nil {
		return err
	}
	for s.Off < stop && !s.Whole() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := text.ReadAt(buf[:min(int64(len(buf)), stop-s.Off)], s.Off)
		if n == 0 {
			return &errDamaged{"the text ends too early: " + err.Error()}
		}
		for b := buf[:n]; len(b) > 0; {
			k, ok := s.Feed(b)
			if !ok {
				return &errDamaged{"the text is not the JSON it was"}
			}
			b = b[k:]
			if !s.Stopped {
				break
			}
			if s.Off != s.SkipAt {
				return nil
			}
			if jump[2] <= jump[1] || jump[2] > end {
				return &errDamaged{"a large item ends where it cannot"}
			}
			over := jump[2] - s.Off
			s.Skipped(jump[2])
			if !tell(jump[1], jump[2]) {
				return nil
			}
			b = b[min(over, int64(len(b))):]
			if err := next(s.Off); err != nil {
				return err
			}
		}
	}
	return nil
}

// walkLines calls tell with the positions of the lines from off to end, until it returns false. A line longer than longest is cut into several. buf
// is used for reading.
func walkLines(ctx context.Context, text io.ReaderAt, off, end, longest int64, buf []byte, tell func(start, end int64) bool) error {
	s := newLineScanner(tell, off, longest)
	for s.off < end && !s.stopped {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := text.ReadAt(buf[:min(int64(len(buf)), end-s.off)], s.off)
		if n == 0 {
			return &errDamaged{"the text ends too early: " + err.Error()}
		}
		s.feed(buf[:n])
	}
	s.finish()
	return nil
}

// walkAll adds all items between off and end to p. large, if not nil, has the positions of the large ones, which then need not be read.
func walkAll(ctx context.Context, text io.ReaderAt, p *paging, off, end int64, large *table) error {
	buf := make([]byte, scanBuffer)
	add := func(start, end int64) bool {
		p.add(start, end)
		return p.pages.healthy() && p.large.healthy()
	}
	if p.shape == Lines {
		return walkLines(ctx, text, off, end, p.longestLine(), buf, add)
	}
	return walkJSON(ctx, text, p.shape == Object, off, end, large, buf, add)
}
