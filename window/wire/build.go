package wire

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Build returns the request with all edits made: a new body, read anew, or only its edited messages if all edits lie within messages.
// Without edits it returns the request the draft began with. The result may share memory with that one. The error is that of a wrong edit.
func (d *Draft) Build() (*Request, error) {
	if d.err != nil {
		return nil, d.err
	}
	if len(d.edits)+len(d.drops)+len(d.inserts)+len(d.messages) == 0 {
		return d.r, nil
	}
	b := builder{r: d.r, edits: slices.Clone(d.edits)}
	drops := maps.Clone(d.drops)
	if drops == nil {
		drops = map[int]bool{}
	}
	for i, a := range d.messages {
		if d.r.Messages[i].onlyReasoning(a) {
			drops[i] = true
		}
	}
	kept := func(i int) bool { return !drops[i] }
	// The order in which edits are gathered decides among insertions at one place.
	closing := b.editList(d, kept)
	for _, i := range slices.Sorted(maps.Keys(d.messages)) {
		if kept(i) {
			b.editMessage(&d.r.Messages[i], d.messages[i])
		}
	}
	b.edits = append(b.edits, closing...)
	edits := joinEdits(b.edits)
	body, err := Splice(d.r.Body, edits)
	if err != nil {
		return nil, err
	}
	if next := d.r.rebuilt(body, edits); next != nil {
		return next, nil
	}
	next, err := Parse(d.r.Dialect, body)
	if err != nil {
		return nil, fmt.Errorf("wire: the edited request: %w", err)
	}
	if d.r.ModelSpan.IsZero() { // the caller has it from the path
		next.Model = d.r.Model
	}
	next.Stream = next.Stream || d.r.Stream // and so has he whether it is a stream
	return next, nil
}

// joinEdits returns edits sorted by position, without those that begin inside another one. Of two for the same bytes the later call wins; insertions
// at one place stay, in their order.
func joinEdits(edits []Edit) []Edit {
	type numbered struct {
		Edit
		n int
	}
	all := make([]numbered, len(edits))
	for i, e := range edits {
		all[i] = numbered{e, i}
	}
	sorting.By(all, func(a, b numbered) int {
		switch {
		case a.Span.Start != b.Span.Start:
			return cmp.Compare(a.Span.Start, b.Span.Start)
		case a.Span.Len() == 0 && b.Span.Len() == 0:
			return cmp.Compare(a.n, b.n)
		case a.Span.Len() == 0 || b.Span.Len() == 0: // what is inserted stands before
			return cmp.Compare(a.Span.Len(), b.Span.Len())
		case a.Span.End != b.Span.End: // the larger one wins
			return cmp.Compare(b.Span.End, a.Span.End)
		}
		return cmp.Compare(b.n, a.n)
	})
	out := edits[:0:0]
	end := 0
	for _, e := range all {
		if e.Span.Start >= end {
			out = append(out, e.Edit)
			end = e.Span.End
		}
	}
	return out
}

// onlyReasoning reports whether a's drops leave m with nothing, or nothing but reasoning; false if a drops nothing or inserts something.
func (m *Message) onlyReasoning(a *amendment) bool {
	if len(a.drops) == 0 || len(a.inserts) > 0 {
		return false
	}
	for i := range m.Parts {
		if !a.drops[i] && m.Parts[i].Kind != Reasoning {
			return false
		}
	}
	return true
}

// builder turns the edits of a Draft into edits of bytes.
type builder struct {
	r     *Request
	edits []Edit
}

func (b *builder) insert(at int, raw []byte) {
	b.edits = append(b.edits, Edit{Span: Span{Start: at, End: at}, With: raw})
}

// editList drops and inserts messages. An input that is one string or object becomes an array if it is dropped or anything is inserted; closing are
// the edits that close its brackets, which must come after the edits of the messages.
func (b *builder) editList(d *Draft, kept func(int) bool) (closing []Edit) {
	r := b.r
	amended := false // a part goes into an input that is one string
	opening, ending := "", ""
	switch r.Body[r.List.Start] {
	case '"':
		opening, ending = `{"role":"user","content":`, "}"
		amended = len(d.messages) > 0
	case '{':
	default:
		spans := make([]Span, len(r.Messages))
		for i := range r.Messages {
			spans[i] = r.Messages[i].Span
		}
		b.arrange(r.List, spans, kept, func(i int) [][]byte { return d.inserts[i] })
		return nil
	}
	if kept(0) && len(d.inserts) == 0 && !amended {
		return nil
	}
	before, behind := bytes.Join(d.inserts[0], comma), bytes.Join(d.inserts[1], comma)
	if !kept(0) {
		all := bytes.Join(slices.Concat(d.inserts[0], d.inserts[1]), comma)
		b.edits = append(b.edits, Edit{Span: r.List, With: join("[", all, "]")})
		return nil
	}
	if len(before) > 0 {
		opening = "," + opening
	}
	if len(behind) > 0 {
		ending += ","
	}
	b.insert(r.List.Start, join("[", before, opening))
	return []Edit{{Span: Span{Start: r.List.End, End: r.List.End}, With: join(ending, behind, "]")}}
}

var comma = []byte{','}

// arrange edits an array or object: it drops the elements for which kept is false, inserts those of insert(i) before element i, and keeps
// the commas right. Neighbours that both stay are not touched.
func (b *builder) arrange(list Span, elements []Span, kept func(int) bool, insert func(int) [][]byte) {
	some := false // an element stands already
	for i := range len(elements) + 1 {
		var with []byte
		inserts := insert(i)
		for _, raw := range inserts {
			if some {
				with = append(with, ',')
			}
			with, some = append(with, raw...), true
		}
		if i == len(elements) {
			if len(with) > 0 {
				at := list.Start + 1
				if i > 0 {
					at = elements[i-1].End
				}
				b.insert(at, with)
			}
			break
		}
		stays := kept(i)
		if !stays {
			b.edits = append(b.edits, Edit{Span: elements[i]})
		}
		if i == 0 {
			if stays && some {
				with = append(with, ',')
			}
			if len(with) > 0 {
				b.insert(elements[0].Start, with)
			}
		} else if !stays || !some || len(inserts) > 0 {
			if stays && some {
				with = append(with, ',')
			}
			b.edits = append(b.edits, Edit{Span: Span{Start: elements[i-1].End, End: elements[i].Start}, With: with})
		}
		some = some || stays
	}
}

// editMessage makes the edits of the parts of a message that stays.
func (b *builder) editMessage(m *Message, a *amendment) {
	var blocks, calls []insertion
	isCall := b.r.Dialect.Rules().isCall
	for _, in := range a.inserts {
		if isCall != nil && isCall(in.raw) {
			calls = append(calls, in)
		} else {
			blocks = append(blocks, in)
		}
	}
	var gone []string
	var added [][]byte
	for i := range m.Parts {
		if p := &m.Parts[i]; a.drops[i] && p.place == placeMember {
			gone = append(gone, p.Type)
		}
	}
	switch n := b.editElements(m, a, m.calls, placeCall, calls); {
	case m.calls.IsZero() && len(calls) > 0:
		gone = append(gone, "tool_calls") // it is there and null
		added = append(added, join(`"tool_calls":[`, bytes.Join(raws(calls), comma), "]"))
	case !m.calls.IsZero() && n == 0:
		gone = append(gone, "tool_calls")
	}
	switch {
	case m.Content.IsZero():
		if len(blocks) > 0 {
			name := b.r.Dialect.Rules().content
			gone = append(gone, name)
			added = append(added, join(`"`+name+`":[`, bytes.Join(raws(blocks), comma), "]"))
		}
	case m.Plain, b.r.Body[m.Content.Start] == '{':
		b.editSingle(m, a, blocks)
	default:
		if n := b.editElements(m, a, m.Content, placeBlock, blocks); n == 0 {
			b.edits = append(b.edits, Edit{Span: m.Content, With: []byte("null")})
		}
	}
	if len(gone)+len(added) > 0 {
		b.editMembers(m.Span, gone, added)
	}
}

// editElements edits one of the arrays of a message: list, which has the parts at where. It returns how many elements it has afterwards: 0 also if
// there is no array, and 1 for an empty one that stays as it is.
func (b *builder) editElements(m *Message, a *amendment, list Span, where place, in []insertion) (n int) {
	if list.IsZero() {
		return 0
	}
	var spans []Span
	var index []int // of the part, for each element
	for i := range m.Parts {
		if m.Parts[i].place == where {
			spans, index = append(spans, m.Parts[i].Span), append(index, i)
		}
	}
	n = len(spans) + len(in)
	before := make([][][]byte, len(spans)+1)
	for _, e := range in {
		i, _ := slices.BinarySearch(index, e.at)
		before[i] = append(before[i], e.raw)
	}
	touched := len(in) > 0
	for _, i := range index {
		if a.drops[i] {
			touched = true
			n--
		}
	}
	if touched {
		b.arrange(list, spans, func(i int) bool { return !a.drops[index[i]] }, func(i int) [][]byte { return before[i] })
	} else if n == 0 {
		return 1 // it was empty before, and stays as it is
	}
	return n
}

// editSingle makes the edits of a content that is one string or one object. It becomes an array if something is inserted, and null if it is
// dropped.
func (b *builder) editSingle(m *Message, a *amendment, in []insertion) {
	at := slices.IndexFunc(m.Parts, func(p Part) bool { return p.place == placePlain || p.place == placeOnly })
	if a.drops[at] {
		with := []byte("null")
		if len(in) > 0 {
			with = join("[", bytes.Join(raws(in), comma), "]")
		}
		b.edits = append(b.edits, Edit{Span: m.Content, With: with})
		return
	}
	if len(in) == 0 && a.instead == nil {
		return
	}
	var before, behind [][]byte
	for _, e := range in {
		if e.at <= at {
			before = append(before, e.raw)
		} else {
			behind = append(behind, e.raw)
		}
	}
	opening, ending := "", ""
	switch {
	case a.instead != nil:
		b.edits = append(b.edits, Edit{Span: m.Content, With: a.instead})
	case m.Plain:
		opening, ending = `{"type":"`+b.r.Dialect.Rules().textType(m.Role)+`","text":`, "}"
	}
	if len(before) > 0 {
		opening = "," + opening
	}
	if len(behind) > 0 {
		ending += ","
	}
	b.insert(m.Content.Start, join("[", bytes.Join(before, comma), opening))
	b.insert(m.Content.End, join(ending, bytes.Join(behind, comma), "]"))
}

func raws(in []insertion) [][]byte {
	out := make([][]byte, len(in))
	for i, e := range in {
		out[i] = e.raw
	}
	return out
}
