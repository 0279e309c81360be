package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// seg is a piece of a composed message: bytes in memory, or a range of what is held.
type seg struct {
	mem      []byte
	from, to int64
}

func segsLen(segs []seg) (n int64) {
	for _, g := range segs {
		n += int64(len(g.mem)) + g.to - g.from
	}
	return n
}

// block is a block of content or an entry of contents as it is delivered: its raw members
// in their order, with a hole where its text was.
type block struct {
	segs []seg
	hole int // the text comes before segs[hole]; -1 is no text
	// part is the number of its text in the spool, -1 none, and size the bytes of that
	// text; text is all of it where whole says so, else its beginning or nothing.
	part  int
	size  int64
	text  []byte
	whole bool
	// media is the size of a value that is not delivered, mime and uri (raw) what it is.
	media     int64
	mime, uri []byte
	held      bool // some of it is in the hold
	unknown   bool // it is of no kind that is known, so its media counted as text
	broken    bool // a member that a model reads was too large to be kept
	kept      int  // bytes of members

	buf    []byte
	commas []bool // of the object that is open: the next member needs a comma
}

func newBlock() *block { return &block{hole: -1, part: -1} }

func (b *block) openObject(key []byte) {
	b.key(key)
	b.buf = append(b.buf, '{')
	b.commas = append(b.commas, false)
}

func (b *block) closeObject() {
	b.buf = append(b.buf, '}')
	b.commas = b.commas[:len(b.commas)-1]
}

func (b *block) key(key []byte) {
	if len(b.commas) == 0 {
		return
	}
	top := &b.commas[len(b.commas)-1]
	if *top {
		b.buf = append(b.buf, ',')
	}
	*top = true
	b.buf = append(append(b.buf, key...), ':')
}

func (b *block) member(key, value []byte) {
	b.key(key)
	b.buf = append(b.buf, value...)
	b.kept += len(key) + len(value)
}

// cut ends the segment under way.
func (b *block) cut() {
	if len(b.buf) > 0 {
		b.segs = append(b.segs, seg{mem: b.buf})
		b.buf = nil
	}
}

func (b *block) openHole(key []byte) {
	b.key(key)
	b.cut()
	b.hole = len(b.segs)
}

// holdRange puts a range of what is held in the place of a value.
func (b *block) holdRange(from, to int64) {
	b.cut()
	b.segs = append(b.segs, seg{from: from, to: to})
	b.held = true
}

// readable reports whether the members of the block count as text.
func (b *block) readable() bool { return b.hole < 0 && !b.held && b.media == 0 || b.kept > maxClip }

// clip lets go of the text but for a beginning, if there is room for that.
func (b *block) clip(capture func(int) bool) {
	b.whole = false
	if n := min(len(b.text), maxClip); n > 0 && capture(n) {
		b.text = append([]byte{}, b.text[:n]...)
	} else {
		b.text = nil
	}
}

// maxClip bounds the part of a text that is shown beside a page when the whole has no room, in bytes.
const maxClip = 256

// shown returns the text that stands beside a page.
func (b *block) shown() []byte {
	if b.whole || b.text == nil {
		return b.text
	}
	head := shorten(string(b.text), max(0, len(b.text)-utf8.UTFMax))
	return fmt.Appendf(nil, "%s\n[plimsoll: cut; all of this text has %s]", head, limit.Bytes(b.size).Human())
}

// fill returns the block with this text in its hole.
func (b *block) fill(text []byte) []seg {
	if b.hole < 0 {
		return b.segs
	}
	segs := append([]seg(nil), b.segs[:b.hole]...)
	segs = append(segs, seg{mem: rawjson.Quote(nil, text)})
	return append(segs, b.segs[b.hole:]...)
}

// members are raw members of an object that a composed message keeps.
type members struct {
	raw []byte
}

func (m *members) add(key, value []byte) {
	if len(m.raw) > 0 {
		m.raw = append(m.raw, ',')
	}
	m.raw = append(append(append(m.raw, key...), ':'), value...)
}

// isValidMember reports whether a member can be part of a message that must be valid JSON.
func isValidMember(key, value []byte) bool {
	return len(key) > 1 && json.Valid(key) && json.Valid(value)
}

// isString reports whether a raw value is this string.
func isString(raw []byte, text string) bool {
	return len(raw) > 1 && raw[0] == '"' && bytes.Equal(rawjson.Unquote(nil, raw), []byte(text))
}
