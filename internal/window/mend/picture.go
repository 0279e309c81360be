package mend

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A picture is one block with an image in it.
type picture struct {
	block    wire.Span
	data     wire.Span // the base64 text, without quotes; zero when the bytes are elsewhere
	kind     string    // the media type that the block declares
	declared wire.Span // where it declares that: a literal, or within a data URL
	url      string    // an address
	line     bool      // mendPicture replaced it by a text
}

// countImages counts all images, and sets surplus, how many of the oldest have to go, and crowd. If an image before From would have to
// change, it records that as a Cut and removes none.
func (m *mending) countImages() {
	u := &m.rules.pictures
	if u.crowd == 0 && m.o.MaxImages == 0 {
		return
	}
	n := 0
	for i := range m.r.Messages {
		n += m.imagesIn(&m.r.Messages[i], nil)
	}
	if n == 0 {
		return
	}
	if limit := m.mostImages(n); limit > 0 && n > limit {
		// Some more go than have to: else the next image would change the beginning of the conversation again.
		m.surplus = n - max(limit*4/5, 1)
		n -= m.surplus
	}
	m.crowd = u.crowd > 0 && n > u.crowd
	if m.surplus == 0 && !m.crowd {
		return
	}
	// What was sent before is the caller's to change.
	left := m.surplus
	for i := range m.from {
		wrong, before := left > 0, left
		left -= m.imagesIn(&m.r.Messages[i], func(s *wire.MediaSource) {
			if m.crowd && s.Base64 > 0 {
				h := parseHeader(m.r.Body[s.Head.Start : s.Head.Start+s.Base64])
				wrong = wrong || max(h.width, h.height) > u.crowdSide
			}
		})
		if wrong && (left < before || m.crowd) {
			m.addAction(Cut, i, "", 0)
			m.surplus = 0 // without that nothing that is new has to go
			return
		}
	}
}

// imagesIn returns the number of images in a message, and calls each for every one unless each is nil.
func (m *mending) imagesIn(msg *wire.Message, each func(*wire.MediaSource)) (n int) {
	for j := range msg.Parts {
		p := &msg.Parts[j]
		for k := range p.Media {
			s := &p.Media[k]
			image := p.Type == "image" || strings.HasPrefix(s.Type, "image/") || s.Type == "" && (s.URL || s.FileID) && strings.Contains(p.Type, "image")
			if !image && p.Kind == wire.Result && s.Base64 > 0 && s.Type == "" {
				image = parseHeader(m.r.Body[s.Head.Start:s.Head.Start+min(s.Base64, 64)]).kind != ""
			}
			if image {
				n++
				if each != nil {
					each(s)
				}
			}
		}
	}
	return n
}

// mendMedia mends part j of message i if it is an image or a document that the provider would refuse.
func (m *mending) mendMedia(i, j int, p *wire.Part) {
	if line := m.replacementFor(i, j, p.Span); line != "" {
		m.draft().ReplacePart(i, j, m.describeInstead(i, p, &picture{block: p.Span}, line))
		return
	}
	pic, ok := m.readPicture(p.Span)
	if !ok {
		return
	}
	if with := m.mendPicture(i, p, &pic); with != nil {
		m.draft().ReplacePart(i, j, with)
	}
}

// readPicture reads a block as an image; false when it is not one that may be mended.
func (m *mending) readPicture(block wire.Span) (pic picture, ok bool) {
	if len(m.rules.pictures.types) == 0 || m.r.Body[block.Start] != '{' {
		return pic, false
	}
	pic.block = block
	for f, err := range rawjson.Members(m.r.Body[:block.End], block.Start) {
		if err != nil {
			return pic, false
		}
		switch string(f.Key) {
		case "source":
			if m.rules.dialect.Images == wire.ImageSource {
				m.readBase64Source(&pic, f.Value, "media_type")
			}
		case "image":
			if m.rules.dialect.Images == wire.ImageBytes {
				m.readFormatSource(&pic, f.Value)
			}
		case "image_url":
			m.readURL(&pic, f.Value)
		case "inlineData", "inline_data":
			if m.rules.dialect.Images == wire.ImageInline {
				m.readBase64Source(&pic, f.Value, "mimeType")
			}
		case "type":
			if kind := string(f.Value.Of(m.r.Body)); m.rules.dialect.Images == wire.ImageSource && kind != `"image"` || kind == `"computer_screenshot"` {
				return pic, false // a document is none; and a screen can be nothing but a screen
			}
		}
	}
	if m.rules.dialect.Images == wire.ImageInline && !strings.HasPrefix(pic.kind, "image/") && !pic.data.IsZero() && parseHeader(m.r.Raw(pic.data)).kind == "" {
		return pic, false // sound, a document
	}
	return pic, !pic.data.IsZero() || pic.url != ""
}

// readBase64Source sets pic from an object with base64 data and its media type, which is in the member typed or in mime_type, or with an
// address.
func (m *mending) readBase64Source(pic *picture, source wire.Span, typed string) {
	if m.r.Body[source.Start] != '{' {
		return
	}
	for f, err := range rawjson.Members(m.r.Body[:source.End], source.Start) {
		if err != nil {
			return
		}
		lit := f.Value.Of(m.r.Body)
		if lit[0] != '"' {
			continue
		}
		switch string(f.Key) {
		case typed, "mime_type":
			pic.kind, pic.declared = string(wire.Unquote(nil, lit)), f.Value
		case "data":
			pic.data = wire.Span{Start: f.Value.Start + 1, End: f.Value.End - 1}
			if pic.data.Len() == 0 {
				pic.data.Start-- // an empty image is one that cannot be read
			}
		case "url":
			pic.url = string(wire.Unquote(nil, lit))
		case "file_id":
			pic.url = "" // the provider has it
		}
	}
}

// readFormatSource sets pic from an object with a format, and bytes in a source, as Bedrock's Converse has it.
func (m *mending) readFormatSource(pic *picture, value wire.Span) {
	raw := m.r.Raw(value)
	within := func(s wire.Span) wire.Span {
		return wire.Span{Start: value.Start + s.Start, End: value.Start + s.End}
	}
	format, data := rawjson.Get(raw, "format"), rawjson.Get(raw, "source", "bytes")
	if format.Len() < 2 || data.Len() < 2 || raw[format.Start] != '"' || raw[data.Start] != '"' {
		return
	}
	pic.declared = within(format)
	pic.kind = "image/" + string(wire.Unquote(nil, format.Of(raw)))
	pic.data = within(wire.Span{Start: data.Start + 1, End: data.End - 1})
	if pic.data.Len() == 0 {
		pic.data.Start--
	}
}

// readURL sets pic from an address or data URL, or from an object with one as url.
func (m *mending) readURL(pic *picture, value wire.Span) {
	if m.r.Body[value.Start] == '{' {
		url := rawjson.Get(m.r.Raw(value), "url")
		if url.IsZero() {
			return
		}
		value = wire.Span{Start: value.Start + url.Start, End: value.Start + url.End}
	}
	lit := m.r.Raw(value)
	if len(lit) < 2 || lit[0] != '"' {
		return
	}
	if !bytes.HasPrefix(lit[1:], []byte("data:")) {
		pic.url = string(wire.Unquote(nil, lit))
		return
	}
	comma := bytes.IndexByte(lit[:min(len(lit), 256)], ',')
	if comma < 0 {
		return
	}
	kind, _, _ := bytes.Cut(lit[6:comma], []byte(";"))
	pic.declared = wire.Span{Start: value.Start + 6, End: value.Start + 6 + len(kind)}
	pic.kind = strings.ReplaceAll(string(kind), `\/`, "/")
	pic.data = wire.Span{Start: value.Start + comma + 1, End: value.End - 1}
}

// mendPicture returns the block to put in place of a picture's in message i: another image, or a text; nil if it stays.
func (m *mending) mendPicture(i int, p *wire.Part, pic *picture) []byte {
	u := &m.rules.pictures
	tooMany := m.surplus > 0
	if tooMany {
		m.surplus--
	}
	text := m.r.Raw(pic.data)
	switch {
	case m.rules.dialect.SilentError && p.Failed:
		// "all content must be type 'text' if 'is_error' is true" (vellum-assistant#18387)
		return m.describeInstead(i, p, pic, "[An image stood here; a result that says it failed may have none.]")
	case tooMany:
		return m.describeInstead(i, p, pic, surplusImage)
	case pic.data.IsZero():
		if u.fetched {
			return nil
		}
		return m.describeInstead(i, p, pic, "[An image at "+pic.url+" stood here; the provider does not fetch any.]")
	}
	if bytes.IndexByte(text, '\\') >= 0 {
		text = wire.Unquote(nil, append(append([]byte{'"'}, text...), '"'))
	}
	h := parseHeader(text)
	switch {
	case !isBase64(text), h.kind == "" && strings.HasPrefix(pic.kind, "image/"), h.kind != "" && h.kind != "image/heic" && !h.late && min(h.width, h.height) == 0:
		return m.describeInstead(i, p, pic, "[An image that could not be read stood here.]")
	case h.kind == "":
		return m.describeInstead(i, p, pic, "[A file of the type "+cleanType(pic.kind)+" stood here, where only images may.]")
	}
	side := u.side
	if m.crowd {
		side = u.crowdSide
	}
	tooLarge := side > 0 && max(h.width, h.height) > side || u.base64 > 0 && len(text) > u.base64
	known := slices.Contains(u.types, h.kind)
	if tooLarge || !known || m.o.Decode {
		small, err := m.checkImage(text, h, tooLarge || !known)
		switch {
		case err != nil && tooLarge:
			why := "the provider takes at most " + grouped(side) + " on a side"
			if max(h.width, h.height) <= side {
				why = "the provider takes at most 5 MB for one"
			}
			return m.describeInstead(i, p, pic, fmt.Sprintf("[An image of %s x %s pixels stood here; %s.]", grouped(h.width), grouped(h.height), why))
		case err != nil && !known:
			return m.describeInstead(i, p, pic, "[An image of the type "+h.kind+" stood here, which the provider does not take.]")
		case err != nil:
			return m.describeInstead(i, p, pic, "[An image that could not be read stood here.]")
		case small.base64 != nil:
			m.addAction(Scaled, i, p.CallID, max(0, len(text)-len(small.base64)))
			return m.rewritePicture(pic, small.kind, small.base64)
		}
	}
	if !pic.declared.IsZero() && pic.kind != h.kind && (u.exact || !slices.Contains(u.types, pic.kind)) {
		m.addAction(Retyped, i, p.CallID, 0)
		return m.rewritePicture(pic, h.kind, nil)
	}
	return nil
}

// describeInstead returns a text block with line to put in place of an image, and records that. The image's cache mark stays.
func (m *mending) describeInstead(i int, p *wire.Part, pic *picture, line string) []byte {
	m.addAction(Described, i, p.CallID, pic.block.Len())
	pic.line = true
	role := m.r.Messages[i].Role
	if role == wire.RoleTool {
		role = wire.RoleUser
	}
	with := wire.TextElement(m.r.Dialect, role, line)
	if mark := m.markIn(pic.block); mark != nil {
		with = append(append(with[:len(with)-1], `,"cache_control":`...), mark...)
		with = append(with, '}')
	}
	return with
}

// rewritePicture returns the block of an image with kind as its media type, and with data as its base64 text unless that is nil.
func (m *mending) rewritePicture(pic *picture, kind string, data []byte) []byte {
	edits := []wire.Edit{}
	move := func(s wire.Span) wire.Span {
		return wire.Span{Start: s.Start - pic.block.Start, End: s.End - pic.block.Start}
	}
	if m.rules.dialect.Images == wire.ImageBytes {
		kind = strings.TrimPrefix(kind, "image/")
	}
	switch {
	case pic.declared.IsZero(): // it says none
	case m.r.Body[pic.declared.Start] == '"':
		edits = append(edits, wire.Edit{Span: move(pic.declared), With: wire.Quote(nil, kind)})
	default:
		edits = append(edits, wire.Edit{Span: move(pic.declared), With: []byte(kind)})
	}
	if data != nil {
		edits = append(edits, wire.Edit{Span: move(pic.data), With: data})
	}
	sorting.By(edits, func(a, b wire.Edit) int { return a.Span.Start - b.Span.Start })
	out, err := wire.Splice(m.r.Raw(pic.block), edits)
	if err != nil {
		return nil
	}
	return out
}

// grouped returns a number in decimal with commas between its thousands.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// cleanType returns a media type without characters that could end a line or a bracket, in at most 64 bytes; "(none)" for "".
func cleanType(kind string) string {
	if kind == "" {
		return "(none)"
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == ']' {
			return -1
		}
		return c
	}, kind[:min(len(kind), 64)])
}
