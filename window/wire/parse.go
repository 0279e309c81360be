package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
)

// Bounds of a view, far above what any window holds. A request beyond them is a
// [SyntaxError], so that a small body of tiny elements cannot become a large view.
const (
	MaxMessages = 1 << 16
	MaxParts    = 1 << 17 // and as many tools
	MaxTexts    = 1 << 18
)

// Parse reads a request body. It is linear, does not recurse with the body's nesting, allocates only slices that grow with the number of
// messages and parts, and leaves the body as it is. The Request keeps body; nobody may change it any more.
//
// A [*SyntaxError] means that the body is not JSON, has bytes behind its end, has a shape that no request has, or has a known member twice
// (two readers of one body might then see different requests). Unknown members are skipped by their brackets alone, unchecked.
func Parse(d Dialect, body []byte) (*Request, error) {
	p := &parser{r: &Request{Dialect: d, Body: body}}
	p.Text = body
	if p.Begin('{', "not a JSON object") {
		p.readMembers()
	}
	return p.finish()
}

// readMembers reads the rest of the request's members.
func (p *parser) readMembers() {
	member := p.r.Dialect.Rules().member
	for p.More('}') {
		if member == nil {
			p.Fail(p.At, "an unknown dialect")
			break
		}
		member(p, p.readKey(), &p.seen)
	}
}

// finish checks what can only be checked at the end of the body, and returns the request or the first error.
func (p *parser) finish() (*Request, error) {
	if p.Peek(); p.Err == nil && p.At < len(p.Text) {
		p.Fail(p.At, "bytes behind the end")
	}
	if p.Err == nil && p.r.List.IsZero() {
		p.Fail(len(p.Text), "no messages")
	}
	if p.Err != nil {
		return nil, p.Err
	}
	p.r.Bypass = p.r.reasons()
	p.r.nparts, p.r.ntexts = p.nparts, p.ntexts
	return p.r, nil
}

// set is the known keys of an object that were seen, one bit each.
type set uint64

// parser builds the view. Parts and texts of the message being read are gathered in scratch slices and then moved into slabs, which
// messages share.
type parser struct {
	scanner
	r     *Request
	parts []Part
	texts []Span
	media []MediaSource

	partSlab  []Part
	textSlab  []Span
	mediaSlab []MediaSource

	nparts, ntexts int

	scratch  []byte
	declares bool // the part being read has Part.Declares: it holds a tool_reference

	seen   set    // the members of the request that were read
	brings Bypass // reasons for a bypass in the message being read
	start  *start // filled in with what was read before the messages, for [Views]; may be nil
	names  hasher
}

// noteKey records that a known key was met, and fails if it is the second time in one object.
func (p *parser) noteKey(seen *set, bit uint) {
	if *seen>>bit&1 == 1 {
		p.Fail(p.At, "a key for the second time")
	}
	*seen |= 1 << bit
}

// carve returns a copy of from in the memory of a slab, without spare capacity; nil for an empty one.
func carve[T any](slab *[]T, from []T) []T {
	n := len(from)
	if n == 0 {
		return nil
	}
	if cap(*slab)-len(*slab) < n {
		room := min(2*cap(*slab), 2048)
		room = cmp.Or(room, 32)
		*slab = make([]T, 0, max(n, room))
	}
	at := len(*slab)
	*slab = append(*slab, from...)
	return (*slab)[at : at+n : at+n]
}

// addPart appends a part with the texts and media that were gathered for it, and returns it. Too many parts or texts are an error.
func (p *parser) addPart(part Part) *Part {
	if p.nparts++; p.nparts > MaxParts {
		p.Fail(p.At, "too many parts")
	}
	if p.ntexts += len(p.texts); p.ntexts > MaxTexts {
		p.Fail(p.At, "too many texts")
	}
	part.Texts = carve(&p.textSlab, p.texts)
	if len(p.media) == 0 && (part.Kind == Other || part.Kind == Reasoning) {
		p.media = append(p.media, p.findBlobs(part.Raw)...)
	}
	part.Media = carve(&p.mediaSlab, p.media)
	p.texts, p.media = p.texts[:0], p.media[:0]
	p.parts = append(p.parts, part)
	return &p.parts[len(p.parts)-1]
}

// takeParts returns the gathered parts and gathers anew.
func (p *parser) takeParts() []Part {
	parts := carve(&p.partSlab, p.parts)
	p.parts = p.parts[:0]
	return parts
}

// addText gathers a literal that the model reads.
func (p *parser) addText(lit Span) {
	if !lit.IsZero() {
		p.texts = append(p.texts, lit)
	}
}

// addWhole replaces the parts that were read of the message by one part, which has all their texts and media in order.
func (p *parser) addWhole(part Part) {
	// What was gathered last and belongs to no part yet comes last, as in the body.
	texts, media := p.texts, p.media
	p.texts, p.media = nil, nil
	for i := range p.parts {
		if raw := p.parts[i].Raw; !raw.IsZero() && len(p.parts[i].Texts) == 0 {
			// A block nobody knows.
			at := p.At
			p.At = raw.Start
			p.gatherStrings()
			p.At = max(p.At, at)
			continue
		}
		p.texts = append(p.texts, p.parts[i].Texts...)
		p.media = append(p.media, p.parts[i].Media...)
	}
	p.texts, p.media = append(p.texts, texts...), append(p.media, media...)
	p.parts = p.parts[:0]
	part.place = placeWhole
	p.addPart(part)
}

// readList reads the array of messages and calls element for each.
func (p *parser) readList(element func(*parser)) {
	p.Peek()
	p.r.List.Start = p.At
	if p.Begin('[', "the messages are no array") {
		// A guess that spares most of the growing: half of what coding agents have.
		p.r.Messages = make([]Message, 0, min(4+len(p.Text)/4096, 4096))
		if p.start != nil {
			*p.start = start{r: *p.r, seen: p.seen, nparts: p.nparts, ntexts: p.ntexts}
		}
		p.readElements(element)
	}
	p.r.List.End = p.At
}

// readElements reads the rest of the messages.
func (p *parser) readElements(element func(*parser)) {
	for p.More(']') {
		if len(p.r.Messages) == MaxMessages {
			p.Fail(p.At, "too many messages")
		}
		element(p)
	}
}

// addMessage appends m to the messages, with the parts gathered for it and its key.
func (p *parser) addMessage(m Message) {
	m.Parts = p.takeParts()
	m.bypass, p.brings = p.brings, 0
	if p.Err == nil {
		p.checkArguments(m.Parts)
		m.Key = p.names.key(p.r, &m)
	}
	p.r.Messages = append(p.r.Messages, m)
}

// checkArguments sets Part.Sound, whether the arguments are JSON, of the calls that have them in a text, in Chat and Responses; not of tools with
// free text.
func (p *parser) checkArguments(parts []Part) {
	for i := range parts {
		if c := &parts[i]; c.Kind == Call && len(c.Texts) > 0 && (c.Type == "function" || c.Type == "function_call") {
			text := p.Text[c.Texts[0].Start:c.Texts[0].End]
			if bytes.IndexByte(text, '\\') >= 0 {
				p.scratch = Unquote(p.scratch[:0], text)
				text = p.scratch
			} else {
				text = text[1 : len(text)-1]
			}
			c.Sound = json.Valid(text)
		}
	}
}

// cacheControl reads the value of a cache mark and adds the mark to Marks; key is the position of its key.
func (p *parser) cacheControl(key int) {
	comma := p.Comma
	v := p.Skip()
	if p.Err == nil {
		p.r.Marks = append(p.r.Marks, p.removable(comma, key, v.End))
	}
}

// member reads a key, and returns the position it begins at, and the key.
func (p *parser) member() (int, []byte) {
	p.Peek()
	at := p.At
	return at, p.readKey()
}

// gatherMedia gathers the media in a string: a data URL, an address, or if base64 is set, base64. kind is the media type, "" if unknown. An empty
// string has none, and a data URL without a comma near its beginning counts as an address.
func (p *parser) gatherMedia(lit Span, kind string, base64 bool) {
	if lit.Len() <= 2 {
		return
	}
	at, end := lit.Start+1, lit.End-1
	m := MediaSource{Type: kind, Span: lit}
	if head := p.Text[at:min(end, at+256)]; !base64 && bytes.HasPrefix(head, []byte("data:")) {
		if comma := bytes.IndexByte(head, ','); comma > 0 {
			kind, _, _ := bytes.Cut(head[5:comma], []byte(";"))
			m.Type = p.decoded(Span{Start: at + 4, End: at + 6 + len(kind)})
			at, base64 = at+comma+1, true
		}
	}
	if base64 {
		m.Base64 = end - at
		m.Head = Span{Start: at, End: min(end, at+HeadBytes)}
	} else {
		m.URL = true
	}
	p.media = append(p.media, m)
}

// anyText reads a value that is a string, or any other JSON of which the model may read all strings. It returns its span, zero for null.
func (p *parser) anyText() Span {
	c := p.Peek()
	at := p.At
	if c == '"' {
		lit := p.String()
		p.addText(lit)
		return lit
	}
	p.gatherStrings()
	if c == 'n' {
		return Span{}
	}
	return Span{Start: at, End: p.At}
}

// tools reads an array of tools; name reads one tool and returns its name.
func (p *parser) tools(name func(*parser) string) {
	p.Peek()
	at := p.At
	if p.null() || !p.Begin('[', "the tools are no array") {
		return
	}
	for p.More(']') {
		p.Peek()
		from := p.At
		p.tool(name(p), from)
	}
	p.r.ToolsSpan = Span{Start: at, End: p.At}
}

// tool adds the tool that begins at from and was just read.
func (p *parser) tool(name string, from int) {
	if len(p.r.Tools) == MaxParts {
		p.Fail(p.At, "too many tools")
	}
	p.r.Tools = append(p.r.Tools, Tool{Name: name, Span: Span{Start: from, End: p.At}})
}

// namedTool reads one tool of the OpenAI and Anthropic dialects and returns its name, "" if it has none.
func namedTool(p *parser) (name string) {
	if !p.Begin('{', "a tool is no object") {
		return ""
	}
	var seen set
	for p.More('}') {
		key, k := p.member()
		switch string(k) {
		case "name":
			p.noteKey(&seen, 0)
			name, _ = p.word("a tool's name is no string")
		case "function", "custom":
			if p.null() {
				break
			}
			p.noteKey(&seen, 1)
			if p.Peek() != '{' {
				p.Skip()
				break
			}
			p.Begin('{', "")
			var inner set
			for p.More('}') {
				if string(p.readKey()) != "name" {
					p.Skip()
					continue
				}
				p.noteKey(&inner, 0)
				name, _ = p.word("a tool's name is no string")
			}
		case "cache_control":
			p.noteKey(&seen, 2)
			p.cacheControl(key)
		default:
			p.Skip()
		}
	}
	return name
}

// model reads the name of the model.
func (p *parser) model() { p.r.Model, p.r.ModelSpan = p.word("the model is no string") }

// maxOutput reads the most tokens that the answer may have.
func (p *parser) maxOutput() { p.r.MaxOutput, p.r.MaxOutputSpan = p.readNumber() }

// extra adds a value that counts as input and is not looked into to Extra; null is left out.
func (p *parser) extra() {
	if v := p.Skip(); p.Err == nil && p.Text[v.Start] != 'n' {
		p.r.Extra = append(p.r.Extra, v)
	}
}

// isSet reads a value and reports whether it is anything but null, false and "".
func (p *parser) isSet() bool {
	v := p.Skip()
	return p.Err == nil && p.Text[v.Start] != 'n' && p.Text[v.Start] != 'f' && string(p.Text[v.Start:v.End]) != `""`
}
