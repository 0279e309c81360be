package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// seg is a piece of a composed message: mem, or, if mem is nil, the range from-to of the buffer kept.
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

// block is an element of content or an entry of contents as it is delivered: its raw members in their order, with a hole for its text.
type block struct {
	segs []seg
	hole int // the text goes before segs[hole]; -1 if the block has no text
	// part is the number of the block's text in the spool (-1 for none), size that text's length in bytes.
	// text is the whole text if whole is set, else its beginning or nil.
	part  int
	size  int64
	text  []byte
	whole bool
	// media is the size of media that are not delivered, 0 for none; mime and uri are the block's raw members.
	media     int64
	mime, uri []byte
	held      bool // one of segs is a range of kept
	unknown   bool // the type is not a known one, so its media counted as text
	broken    bool // a member that a model reads was too large to be kept
	kept      int  // bytes of the members in segs

	buf    []byte
	commas []bool // for each open object: the next member needs a comma
}

func newBlock() *block { return &block{hole: -1, part: -1} }

// openObject begins an object; key is the raw key of the member that it is the value of.
func (b *block) openObject(key []byte) {
	b.key(key)
	b.buf = append(b.buf, '{')
	b.commas = append(b.commas, false)
}

func (b *block) closeObject() {
	b.buf = append(b.buf, '}')
	b.commas = b.commas[:len(b.commas)-1]
}

// key writes a comma if needed, and the raw key of a member with its colon. At the top it writes nothing.
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

// endSegment makes the bytes in buf a segment, if there are any.
func (b *block) endSegment() {
	if len(b.buf) > 0 {
		b.segs = append(b.segs, seg{mem: b.buf})
		b.buf = nil
	}
}

// openHole adds a member whose value is the text, to be filled in later.
func (b *block) openHole(key []byte) {
	b.key(key)
	b.endSegment()
	b.hole = len(b.segs)
}

// holdRange appends a range of kept as the value of a member.
func (b *block) holdRange(from, to int64) {
	b.endSegment()
	b.segs = append(b.segs, seg{from: from, to: to})
	b.held = true
}

// countsAsText reports whether the members of the block count as text that a model reads: the block has neither text nor media, or
// unusually large members.
func (b *block) countsAsText() bool { return b.hole < 0 && !b.held && b.media == 0 || b.kept > maxClip }

// clip releases the text, except for a beginning of at most maxClip bytes if capture allows that.
func (b *block) clip(capture func(int) bool) {
	b.whole = false
	if n := min(len(b.text), maxClip); n > 0 && capture(n) {
		b.text = append([]byte{}, b.text[:n]...)
	} else {
		b.text = nil
	}
}

// maxClip bounds the beginning of a text that is delivered beside a page when there is no room for the whole, in bytes.
const maxClip = 256

// shown returns the text that is delivered beside a page: the whole, or its beginning with a mark; nil if nothing was kept.
func (b *block) shown() []byte {
	if b.whole || b.text == nil {
		return b.text
	}
	head := shorten(string(b.text), max(0, len(b.text)-utf8.UTFMax))
	return fmt.Appendf(nil, "%s\n[plimsoll: cut; all of this text has %s]", head, limit.Bytes(b.size).Human())
}

// fill returns the segments of the block with text in its hole; unchanged if it has none.
func (b *block) fill(text []byte) []seg {
	if b.hole < 0 {
		return b.segs
	}
	segs := append([]seg(nil), b.segs[:b.hole]...)
	segs = append(segs, seg{mem: rawjson.Quote(nil, text)})
	return append(segs, b.segs[b.hole:]...)
}

// members holds raw members of an object that a composed message keeps, separated by commas.
type members struct {
	raw []byte
}

func (m *members) add(key, value []byte) {
	if len(m.raw) > 0 {
		m.raw = append(m.raw, ',')
	}
	m.raw = append(append(append(m.raw, key...), ':'), value...)
}

// isValidMember reports whether a raw key and value are valid JSON, so that a composed message can contain them.
func isValidMember(key, value []byte) bool {
	return len(key) > 1 && json.Valid(key) && json.Valid(value)
}

// isString reports whether raw is a JSON string with this text.
func isString(raw []byte, text string) bool {
	return len(raw) > 1 && raw[0] == '"' && bytes.Equal(rawjson.Unquote(nil, raw), []byte(text))
}

// mediaPiece stores the next bytes of media for delivery as long as all media are within maxMedia; a larger one goes to the spool.
func (s *spoolWriter) mediaPiece(p []byte) {
	if s.over {
		s.putQuoted(p)
		s.block.media += int64(len(p))
		return
	}
	if s.heldMedia += int64(len(p)); s.heldMedia <= int64(s.o.maxMedia()) {
		if err := s.kept.write(p); err != nil {
			s.stop = err
		}
		return
	}
	s.over = true
	s.block.media = s.kept.size - s.from + int64(len(p))
	s.heldMedia -= s.block.media // smaller ones behind it have their room
	s.mediaToSpool(s.from, s.kept.size)
	s.kept.size = s.from
	s.kept.mem = s.kept.mem[:min(int64(len(s.kept.mem)), s.from)]
	s.putQuoted(p)
}

// mediaToSpool begins a part in the spool with the media in the range from-to of kept.
func (s *spoolWriter) mediaToSpool(from, to int64) {
	s.startPart(spool.Media, s.mime())
	s.quotes.Reset()
	s.tooLarge = false
	held := make([]byte, ChunkBytes)
	for r := s.kept.reader(from, to); ; {
		n, err := r.Read(held)
		s.putQuoted(held[:n])
		if err != nil {
			break
		}
	}
}

// putQuoted writes the unescaped text of a JSON string into the spool. The string comes in pieces, the first with its opening quote.
func (s *spoolWriter) putQuoted(p []byte) {
	if !s.tooLarge && len(p) > 0 {
		s.tooLarge = true // the opening quote
		p = p[1:]
	}
	for len(p) > 0 {
		text, n, closed := s.quotes.Feed(p)
		s.put(text)
		if p = p[n:]; closed {
			return
		}
	}
}
