package result

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// spooledBuffer keeps the first HoldBytes in memory and the rest in an unlinked temporary file. Its bytes can be read while more are added.
type spooledBuffer struct {
	dir   string
	mem   []byte
	file  *os.File
	size  int64
	named bool // the file still has its name: the system could not remove that of an open file
}

// write appends p: to memory up to HoldBytes, and then to a temporary file.
func (h *spooledBuffer) write(p []byte) error {
	if n := min(len(p), HoldBytes-len(h.mem)); n > 0 && h.file == nil {
		h.mem = append(h.mem, p[:n]...)
		h.size += int64(n)
		p = p[n:]
	}
	if len(p) == 0 {
		return nil
	}
	if h.file == nil {
		f, err := os.CreateTemp(h.dir, "held-*") // 0600
		if err != nil {
			return fmt.Errorf("no temporary file for a large result: %w", err)
		}
		h.file = f
		h.named = os.Remove(f.Name()) != nil
	}
	n, err := h.file.WriteAt(p, h.size-int64(len(h.mem)))
	h.size += int64(n)
	if err != nil {
		return fmt.Errorf("a large result does not fit into a temporary file: %w", err)
	}
	return nil
}

// reader returns a reader of the bytes between two offsets.
func (h *spooledBuffer) reader(from, to int64) io.Reader {
	m := int64(len(h.mem))
	if to <= m {
		return bytes.NewReader(h.mem[from:to])
	}
	var first io.Reader
	if from < m {
		first, from = bytes.NewReader(h.mem[from:]), m
	}
	rest := io.NewSectionReader(h.file, from-m, to-from)
	if first == nil {
		return rest
	}
	return io.MultiReader(first, rest)
}

// close removes the temporary file, if there is one.
func (h *spooledBuffer) close() {
	if h.file == nil {
		return
	}
	_ = h.file.Close()
	if h.named {
		_ = os.Remove(h.file.Name())
	}
	h.file = nil
}

// headAndTail keeps the first and about the last max bytes of a text that is written in pieces.
type headAndTail struct {
	max        int
	head, tail []byte
	n          int64
}

// write appends p, of which only the first and the last e.max bytes of all are kept.
func (e *headAndTail) write(p []byte) {
	e.n += int64(len(p))
	if n := min(e.max-len(e.head), len(p)); n > 0 {
		e.head = append(e.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > e.max {
		p = p[len(p)-e.max:]
	}
	e.tail = append(e.tail, p...)
	if len(e.tail) > 2*e.max {
		e.tail = e.tail[:copy(e.tail, e.tail[len(e.tail)-e.max:])]
	}
}

// text returns the text in at most about max bytes, with a mark where a part was removed.
func (e *headAndTail) text() string {
	gap := int(e.n) - len(e.head) - len(e.tail)
	return limit.Cut(string(e.head)+string(e.tail), e.max, func(cut int) string {
		return fmt.Sprintf("\n[plimsoll: %s of this message cut]\n", limit.Bytes(cut+gap).Human())
	})
}

// shorten cuts s at a rune boundary to at most max bytes.
func shorten(s string, max int) string { return limit.Short(s, max) }

// unquoted returns the text of a raw JSON string.
func unquoted(raw []byte) string { return string(rawjson.Unquote(nil, raw)) }

// The bounds with defaults filled in, and a very large number for "no bound".

// maxText returns the bound of text in bytes; a negative MaxText means no bound, 0 the default.
func (o *Options) maxText() int64 {
	switch {
	case o.MaxText < 0:
		return 1 << 62
	case o.MaxText == 0:
		return int64(DefaultMaxText)
	}
	return int64(o.MaxText)
}

// textBudget bounds the text of a page together with the notes beside it, in bytes; it is at least minText and at least Source.PageBytes.
func (o *Options) textBudget() int64 {
	return max(o.maxText(), minText, int64(o.Source.PageBytes))
}

// minText is the smallest bound of a page, in bytes; it has room for an item.
const minText = 1 << 10

func (o *Options) maxMedia() int64 {
	if o.MaxMedia <= 0 {
		return int64(DefaultMaxMedia)
	}
	return int64(o.MaxMedia)
}

func (o *Options) maxFrame() int64 {
	if o.MaxFrame <= 0 {
		return int64(DefaultMaxFrame)
	}
	return int64(o.MaxFrame)
}

// reserve returns the part of textBudget for the text beside a page, in bytes.
func (o *Options) reserve() int64 {
	return max(0, min(o.textBudget()/8, maxPage/8, o.textBudget()-minText))
}

// pageBytes bounds a page, in bytes. With a Contract a page is sent twice, so the bound is half as much.
func (o *Options) pageBytes() int {
	n := o.textBudget() - o.reserve()
	if o.Contract != nil {
		n /= 2
	}
	return int(min(n, maxPage))
}

// maxPage bounds a page in bytes, even if text has no bound.
const maxPage = 1 << 20
