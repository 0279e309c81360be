package wire

import (
	"bytes"
	lru "container/list"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
)

const (
	// DefaultViewsBytes is the memory that [Views] may use: about 50 conversations of 300 KB.
	DefaultViewsBytes = 4 << 20
	// viewBlock is the step in which bodies are compared, in bytes.
	viewBlock = 8 << 10
	// viewsFrom is the size from which a body is remembered: a smaller one is read in 20 µs.
	viewsFrom = 2 * viewBlock
	// viewTail messages, or viewTailBytes bytes, at the end of a body may differ in the next request of a conversation: clients move their
	// cache marks there.
	viewTail, viewTailBytes = 8, 4 * viewBlock
)

// noteBytes is the size in bytes that a note is assumed to have for each message: see [Request.Note].
const noteBytes = 64

// Views remembers how the newest bodies were read. A body that begins with the same bytes, as the next request of a conversation does, is
// read from the first message that differs: the rest of it is only hashed. It is safe for concurrent use.
//
// It remembers where in a body each message and part lies, with their names and ids; nothing else of the body. A caller can keep what it
// found out about the messages beside it: see [Request.Note].
type Views struct {
	seed  maphash.Seed
	limit int

	mu     sync.Mutex
	blocks map[uint64]*lru.Element // elements of newest, by the hash of a body's first blocks: the newest view with them
	newest lru.List                // of *view, the one used last in front
	bytes  int
}

// view is the parse result of one body. It is immutable.
type view struct {
	start    start
	messages []Message
	marks    []Span
	hashes   []uint64 // of the body's first block, its first two, ...
	objects  []int32  // number of objects that begin in the first block, in the first two, ...
	size     int      // of the body
	bytes    int
	note     atomic.Value
}

// start is the parsed part of a request that precedes its messages.
type start struct {
	r              Request
	seen           set
	nparts, ntexts int
}

// NewViews returns empty Views that use at most limit bytes; 0 means [DefaultViewsBytes].
func NewViews(limit int) *Views {
	if limit <= 0 {
		limit = DefaultViewsBytes
	}
	return &Views{seed: maphash.MakeSeed(), limit: limit, blocks: map[uint64]*lru.Element{}}
}

// A Look is a body for which it is known how much of it was read before.
type Look struct {
	v       *Views
	dialect Dialect
	body    []byte
	next    *view // nil for a body that is not to be remembered
	known   known
	objects int
}

// Look finds the remembered body that has the most leading bytes in common with this one. It hashes this one and counts its objects, but does not
// parse it. Of a short body it only counts the objects.
func (v *Views) Look(d Dialect, body []byte) *Look {
	l := &Look{v: v, dialect: d, body: body}
	if len(body) < viewsFrom || d.Rules().element == nil {
		l.objects = bytes.Count(body, brace)
		return l
	}
	l.next = &view{hashes: v.hash(d, body), size: len(body)}
	l.known = v.find(l.next.hashes)
	l.objects = l.countObjects()
	return l
}

// Objects returns the number of objects that begin in the body, an upper bound of its messages and parts.
func (l *Look) Objects() int { return l.objects }

var brace = []byte{'{'}

// countObjects returns the number of opening braces in the body, a bound for its objects, and sets next.objects. Blocks that are known are
// not counted again.
func (l *Look) countObjects() int {
	n := 0
	l.next.objects = make([]int32, len(l.next.hashes))
	if l.known.view != nil {
		same := copy(l.next.objects, l.known.view.objects[:l.known.same/viewBlock])
		n = int(l.next.objects[same-1])
	}
	for i := l.known.same / viewBlock; i < len(l.next.objects); i++ {
		n += bytes.Count(l.body[i*viewBlock:(i+1)*viewBlock], brace)
		l.next.objects[i] = int32(n)
	}
	return n + bytes.Count(l.body[len(l.next.objects)*viewBlock:], brace)
}

// Parse is [Views.Look] followed by [Look.Parse].
func (v *Views) Parse(d Dialect, body []byte) (*Request, error) { return v.Look(d, body).Parse() }

// Parse returns what the function [Parse] returns, but parses only the part of the body that is not known, and remembers the body for the
// next look. A short body is parsed as a whole and not remembered; the strings of its Request share its memory, those of a remembered body
// are copies.
func (l *Look) Parse() (*Request, error) {
	d, next, known := l.dialect, l.next, l.known
	if next == nil {
		return Parse(d, l.body)
	}
	p := &parser{r: &Request{Dialect: d, Body: l.body}, start: &next.start}
	p.Text = l.body
	from := 0
	if known.view != nil {
		from = p.resume(known.view, known.same)
	}
	if from > 0 {
		next.start = known.view.start
		p.readElements(d.Rules().element)
		p.r.List.End = p.At
		p.readMembers()
	} else if p.Begin('{', "not a JSON object") {
		p.readMembers()
	}
	r, err := p.finish()
	if err == nil && next.start.r.List.Start > 0 {
		next.messages, next.marks = r.Messages, r.Marks
		next.copyStrings(r, from)
		l.v.put(next, known, from)
		r.view = next
		if from > 0 {
			r.before, r.same = known.view.note.Load(), from
		}
	}
	return r, err
}

// Note keeps a value about the messages of a request for as long as [Views] remembers the body; nothing is kept of a body that is not
// remembered. The value is not changed any more, and all notes are of one type.
func (r *Request) Note(note any) {
	if r.view != nil {
		r.view.note.Store(note)
	}
}

// Before returns the note of an earlier body that begins with the same messages, and the number of those messages. What surrounds
// the messages may differ. Without such a body note is nil.
func (r *Request) Before() (note any, same int) { return r.before, r.same }

// resume sets the parser behind the last message that ends within the first same bytes, which its body has in common with v's, and returns
// the number of messages up to there; 0 where there is none.
func (p *parser) resume(v *view, same int) int {
	n := len(v.messages)
	for n > 0 && v.messages[n-1].Span.End > same {
		n--
	}
	if n == 0 {
		return 0
	}
	body := p.Text
	*p.r = v.start.r
	p.r.Body = body
	p.r.Messages = append(make([]Message, 0, len(v.messages)+viewTail), v.messages[:n]...)
	p.At = v.messages[n-1].Span.End
	marks := len(v.marks)
	for marks > 0 && v.marks[marks-1].Start >= p.At {
		marks--
	}
	p.r.Marks = append([]Span(nil), v.marks[:marks]...)
	p.r.Extra, p.r.Tools = slices.Clip(p.r.Extra), slices.Clip(p.r.Tools) // others have them too
	p.seen, p.nparts, p.ntexts = v.start.seen, v.start.nparts, v.start.ntexts
	for i := range p.r.Messages {
		m := &p.r.Messages[i]
		for j := range m.Parts {
			p.nparts, p.ntexts = p.nparts+1, p.ntexts+len(m.Parts[j].Texts)
		}
	}
	// A slab is kept for as long as anything in it, so what little follows gets little room.
	p.partSlab, p.textSlab = make([]Part, 0, 4), make([]Span, 0, 4)
	return n
}

// hash returns for each block of a body the hash of all blocks up to it.
func (v *Views) hash(d Dialect, body []byte) []uint64 {
	out := make([]uint64, len(body)/viewBlock)
	sum := uint64(d)
	for i := range out {
		hi, lo := bits.Mul64(sum^maphash.Bytes(v.seed, body[i*viewBlock:(i+1)*viewBlock]), 0x9e3779b97f4a7c15)
		sum = hi ^ lo
		out[i] = sum
	}
	return out
}

// known is a remembered view whose body begins with the same bytes as another; the zero value means none.
type known struct {
	element *lru.Element
	view    *view
	same    int // bytes
}

// find returns the view with which a body has the most leading blocks in common; the zero known if there is none. The view counts as used
// now.
func (v *Views) find(hashes []uint64) known {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(hashes) - 1; i >= 0; i-- {
		if e := v.blocks[hashes[i]]; e != nil {
			v.newest.MoveToFront(e)
			return known{e, e.Value.(*view), (i + 1) * viewBlock}
		}
	}
	return known{}
}

// put remembers a view, and drops the oldest ones beyond the limit. A view of more than a quarter of the limit is not remembered. before is the view
// that it was parsed from, with from messages in common; it is dropped if nearly all of it is in the new one.
func (v *Views) put(next *view, before known, from int) {
	if next.bytes > v.limit/4 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if before.view != nil && (from >= len(before.view.messages)-viewTail || before.view.size-before.same <= viewTailBytes) {
		v.drop(before.element)
	}
	e := v.newest.PushFront(next)
	v.bytes += next.bytes
	for _, h := range next.hashes {
		v.blocks[h] = e
	}
	for v.bytes > v.limit {
		v.drop(v.newest.Back())
	}
}

// drop forgets a view and its blocks. It does nothing if another caller has done so already.
func (v *Views) drop(e *lru.Element) {
	if e.Value == nil { // by somebody else meanwhile
		return
	}
	old := e.Value.(*view)
	for _, h := range old.hashes {
		if v.blocks[h] == e {
			delete(v.blocks, h)
		}
	}
	v.newest.Remove(e)
	e.Value = nil
	v.bytes -= old.bytes
}

// copyStrings replaces the strings that are new in a view, those from message from on, by copies, because the body's memory will be used
// again. It also sets v.bytes.
func (v *view) copyStrings(r *Request, from int) {
	each := func(do func(*string)) {
		if from == 0 {
			do(&v.start.r.Model)
			for i := range v.start.r.System {
				v.start.r.System[i].eachString(do)
			}
			for i := range v.start.r.Tools {
				do(&v.start.r.Tools[i].Name)
			}
		}
		for i := from; i < len(v.messages); i++ {
			for j := range v.messages[i].Parts {
				v.messages[i].Parts[j].eachString(do)
			}
		}
	}
	size := 0
	each(func(s *string) { size += len(*s) })
	var all strings.Builder
	all.Grow(size)
	each(func(s *string) {
		at := all.Len()
		all.WriteString(*s)
		*s = all.String()[at:]
	})
	v.bytes = int(unsafe.Sizeof(*v)) + 68*len(v.hashes) + noteBytes*len(v.messages) + size + int(unsafe.Sizeof(Tool{}))*len(r.Tools) + int(unsafe.Sizeof(Span{}))*len(v.marks)
	for i := range v.messages {
		m := &v.messages[i]
		v.bytes += int(unsafe.Sizeof(*m))
		for j := range m.Parts {
			one := &m.Parts[j]
			v.bytes += int(unsafe.Sizeof(*one)) + int(unsafe.Sizeof(Span{}))*len(one.Texts) + int(unsafe.Sizeof(MediaSource{}))*len(one.Media)
			v.bytes += len(one.Type) + len(one.CallID) + len(one.Name)
		}
	}
}

// eachString calls do with a pointer to each string of a part.
func (p *Part) eachString(do func(*string)) {
	do(&p.Type)
	do(&p.CallID)
	do(&p.Name)
	for i := range p.Media {
		do(&p.Media[i].Type)
	}
}
