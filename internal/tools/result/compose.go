package result

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// composer builds a message from segments.
type composer struct {
	segs  []seg
	buf   []byte
	comma bool // the next element or member needs a comma
}

func (c *composer) raw(text string) { c.buf = append(c.buf, text...) }

// splice appends segments: those of the file as they are, those in memory to the buffer.
func (c *composer) splice(segs ...seg) {
	for _, g := range segs {
		if g.to > g.from {
			c.endSegment()
			c.segs = append(c.segs, g)
		} else {
			c.buf = append(c.buf, g.mem...)
		}
	}
}

// endSegment makes the bytes in buf a segment, if there are any.
func (c *composer) endSegment() {
	if len(c.buf) > 0 {
		c.segs = append(c.segs, seg{mem: c.buf})
		c.buf = nil
	}
}

// next appends a comma, except before the first element or member.
func (c *composer) next() {
	if c.comma {
		c.buf = append(c.buf, ',')
	}
	c.comma = true
}

// member appends a member; value is raw JSON.
func (c *composer) member(key string, value []byte) {
	c.next()
	c.buf = append(append(rawjson.Quote(c.buf, key), ':'), value...)
}

// members appends raw members, if there are any.
func (c *composer) members(m members) {
	if len(m.raw) > 0 {
		c.next()
		c.buf = append(c.buf, m.raw...)
	}
}

// beginMessage begins the message, with the id and the members beside the result, and leaves its object open.
func (s *spoolWriter) beginMessage(id jsonrpc.ID) *composer {
	c := &composer{comma: true}
	c.raw(`{"jsonrpc":"2.0"`)
	task := `"result":{`
	if s.o.Method == TaskStatus {
		c.raw(`,"method":"` + TaskStatus + `"`)
		task = `"params":{`
	} else {
		c.member("id", []byte(cmp.Or(id, "null")))
	}
	c.members(s.message)
	if s.inTask {
		c.next()
		c.raw(task)
		for i, g := range s.task {
			if i == 0 {
				g.mem = g.mem[1:]
			}
			c.splice(g)
		}
		c.comma = len(s.task) > 0
	}
	return c
}

// endMessage closes the objects that beginMessage left open and returns the segments of the message.
func (s *spoolWriter) endMessage(c *composer) []seg {
	c.raw("}}")
	if s.inTask {
		c.raw("}")
	}
	c.endSegment()
	return c.segs
}

// composeError returns the error response that was read, with its message bounded.
func (s *spoolWriter) composeError(id jsonrpc.ID) []seg {
	c := s.beginMessage(id)
	c.next()
	c.raw(`"error":{`)
	c.comma = false
	if rawjson.Get(append(append([]byte{'{'}, s.err.raw...), '}'), "code").IsZero() {
		c.member("code", []byte("-32603"))
	}
	c.members(s.err)
	c.member("message", rawjson.Quote(nil, s.errorText.text()))
	return s.endMessage(c)
}

// composeResult returns the result with page 1 (v) in the place of the document's text, and whether the result is an error. v is nil if the
// text fits and only media are too large: then all of the text is delivered.
func (s *spoolWriter) composeResult(id jsonrpc.ID, v *View, handle string) (segs []seg, failed bool) {
	structured := s.structuredPart(v)
	failed = s.prescan.failed
	c := s.beginMessage(id)
	c.next()
	c.raw(`"result":{`)
	c.comma = false
	c.members(s.result)
	if s.o.Modern && !s.typed && !s.inTask {
		c.member("resultType", []byte(`"complete"`))
	}
	c.next()
	if s.o.Method == ReadResource {
		c.raw(`"contents":[`)
	} else {
		c.raw(`"content":[`)
	}
	c.comma = false
	s.blocksPart(c, v, handle)
	if v != nil {
		s.note(c, handle, v.Notice())
	}
	if s.dropped > 0 {
		s.note(c, handle, fmt.Sprintf("[plimsoll] Left out as too large or too many: %d other parts of the result.", s.dropped))
	}
	c.raw("]")
	c.comma = true
	if s.o.Method == CallTool && (failed || len(s.isError) > 0) {
		c.member("isError", fmt.Append(nil, failed))
	}
	if structured != nil {
		c.next()
		c.raw(`"structuredContent":`)
		c.splice(structured...)
	}
	s.metaPart(c, v)
	return s.endMessage(c), failed
}

// blocksPart writes the elements of content or the entries of contents.
func (s *spoolWriter) blocksPart(c *composer, v *View, handle string) {
	placed := v == nil
	page := func() {
		placed = true
		c.next()
		c.splice(s.textBlock(handle, v.Page.Text, v.Page.JSON)...)
	}
	for _, b := range s.blocks {
		switch {
		case b.media > 0:
			s.mediaNote(c, b, handle)
		case b.hole < 0:
			c.next()
			c.splice(b.segs...)
		case v != nil && v.Totals.Part == b.part:
			placed = true
			c.next()
			c.splice(b.fill(v.Page.Text)...)
		case v != nil && v.Totals.Shape == spool.Blocks:
			if !placed {
				page()
			}
		case b.text != nil || b.whole:
			c.next()
			c.splice(b.fill(b.shown())...)
		}
	}
	if !placed {
		page()
	}
}

// textBlock returns a text of our own as an element of content or, for resources/read, an entry of contents.
func (s *spoolWriter) textBlock(handle string, text []byte, isJSON bool) []seg {
	if s.o.Method == ReadResource {
		kind := "text/plain"
		if isJSON {
			kind = "application/json"
		}
		return []seg{{mem: resourceEntry(rawjson.Quote(nil, "plimsoll:result/"+handle), kind, text)}}
	}
	return []seg{{mem: appendText(nil, text)}}
}

func appendText[T string | []byte](dst []byte, text T) []byte {
	return append(rawjson.Quote(append(dst, `{"type":"text","text":`...), text), '}')
}

// resourceEntry returns an entry of the contents of resources/read; uri is raw JSON.
func resourceEntry[T string | []byte](uri []byte, mime string, text T) []byte {
	b := append([]byte(`{"uri":`), uri...)
	b = append(b, `,"mimeType":`...)
	b = rawjson.Quote(b, mime)
	b = append(b, `,"text":`...)
	return append(rawjson.Quote(b, text), '}')
}

// note writes a note of the gateway's own as a block.
func (s *spoolWriter) note(c *composer, handle, text string) {
	c.next()
	c.splice(s.textBlock(handle, []byte(text), false)...)
}

// mediaNote writes a note in place of media that are not delivered.
func (s *spoolWriter) mediaNote(c *composer, b *block, handle string) {
	kind := "Media"
	if b.mime != nil {
		kind = shorten(unquoted(b.mime), 100)
	}
	text := fmt.Sprintf("[plimsoll] %s of %s (as base64) is not delivered: a result may have %s of media.",
		kind, limit.Bytes(b.media).Human(), limit.Bytes(s.o.maxMedia()).Human())
	if b.unknown {
		text = fmt.Sprintf("[plimsoll] A block of an unknown type with %s of data is not delivered.", limit.Bytes(b.media).Human())
	}
	if s.failed == nil {
		text += fmt.Sprintf(" It is kept under the handle %s.", rawjson.Quote(nil, handle))
	}
	c.next()
	if s.o.Method == ReadResource && b.uri != nil {
		c.splice(seg{mem: resourceEntry(b.uri, "text/plain", text)})
		return
	}
	c.splice(s.textBlock(handle, []byte(text), false)...)
}

// metaPart writes _meta: the server's own if it is small, with the description of page v unless that is nil.
func (s *spoolWriter) metaPart(c *composer, v *View) {
	meta := s.meta
	if v != nil {
		if meta == nil {
			meta = []byte("{}")
		}
		if set, err := rawjson.Set(meta, MetaKey, v.meta()); err == nil {
			meta = set
		}
	}
	if meta != nil {
		c.member("_meta", bytes.TrimSpace(meta))
	}
}

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

// PageResult returns the response to a tools/call that read a page of a kept result: the page, the notice, and the description of the page
// in _meta. modern is Options.Modern.
func PageResult(id jsonrpc.ID, v View, modern bool) []byte {
	b := beginResult(modern)
	b = appendText(b, v.Page.Text)
	b = appendText(append(b, ','), v.Notice())
	b = append(b, ']')
	b = append(b, `,"_meta":{`...)
	b = append(rawjson.Quote(b, MetaKey), ':')
	b = append(append(b, v.meta()...), "}}"...)
	return jsonrpc.ResultResponse(id, b)
}

// TextResult returns the response to a tools/call with one block of text. modern is Options.Modern.
func TextResult(id jsonrpc.ID, text string, isError, modern bool) []byte {
	b := appendText(beginResult(modern), text)
	b = append(b, ']')
	if isError {
		b = append(b, `,"isError":true`...)
	}
	return jsonrpc.ResultResponse(id, append(b, '}'))
}

// beginResult returns the beginning of a tool's result, up to the first block.
func beginResult(modern bool) []byte {
	b := []byte{'{'}
	if modern {
		b = append(b, `"resultType":"complete",`...)
	}
	return append(b, `"content":[`...)
}
