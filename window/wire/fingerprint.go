package wire

import (
	"bytes"
	"hash/maphash"
	"sort"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Fingerprint calls w with the bytes that decide whether a message is the same as one seen before: all of it, cache marks left out. A
// content that is one string and a content of one text block with the same literal are the same, since clients turn one into the other when
// the cache mark moves. w is given slices of the body.
func (r *Request) Fingerprint(msg int, w func([]byte)) {
	m := &r.Messages[msg]
	r.writeUnmarked(m.Span, m.Content, m.lone, w)
}

// Key identifies a message by its content within this process: two hashes of its [Request.Fingerprint]. Nobody outside can make two
// messages with the same key, since the seeds are not known.
type Key [2]uint64

var keySeeds = [len(Key{})]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

// KeyOf returns the key of bytes that are not a message, given in pieces.
func KeyOf(pieces ...[]byte) (k Key) {
	for i, seed := range keySeeds {
		if len(pieces) == 1 {
			k[i] = maphash.Bytes(seed, pieces[0])
			continue
		}
		var h maphash.Hash
		h.SetSeed(seed)
		for _, b := range pieces {
			h.Write(b)
		}
		k[i] = h.Sum64()
	}
	return k
}

// hasher computes keys of bytes that come in pieces.
type hasher struct {
	of    [len(Key{})]maphash.Hash
	write func([]byte) // made once: a method value would be an allocation for each message
}

// key returns the key of m, the message that was just read: its cache marks are the last ones in r.Marks.
func (h *hasher) key(r *Request, m *Message) (k Key) {
	if n := len(r.Marks); m.lone.IsZero() && (n == 0 || r.Marks[n-1].Start < m.Span.Start) {
		return KeyOf(r.Raw(m.Span))
	}
	if h.write == nil {
		for i, seed := range keySeeds {
			h.of[i].SetSeed(seed)
		}
		h.write = func(b []byte) {
			for i := range h.of {
				h.of[i].Write(b)
			}
		}
	}
	r.writeUnmarked(m.Span, m.Content, m.lone, h.write)
	for i := range h.of {
		k[i] = h.of[i].Sum64()
		h.of[i].Reset()
	}
	return k
}

var systemName, toolsName = []byte("system:"), []byte("tools:")

// FingerprintHead is [Request.Fingerprint] for system and tools.
func (r *Request) FingerprintHead(w func([]byte)) {
	w(systemName)
	r.writeUnmarked(r.SystemSpan, r.SystemSpan, r.systemLone, w)
	w(toolsName)
	r.Unmarked(r.ToolsSpan, w)
}

// writeUnmarked calls w with the bytes of a message without its cache marks. If lone is set, a content of one text block is written as that
// text alone, so that both forms of it are equal.
func (r *Request) writeUnmarked(s, content, lone Span, w func([]byte)) {
	if !lone.IsZero() {
		r.Unmarked(Span{Start: s.Start, End: content.Start}, w)
		w(r.Raw(lone))
		s.Start = content.End
	}
	r.Unmarked(s, w)
}

// Unmarked calls w with the bytes of a span without the cache marks in it. They are slices of the body.
func (r *Request) Unmarked(s Span, w func([]byte)) {
	at := s.Start
	if len(r.Marks) > 0 {
		first := sort.Search(len(r.Marks), func(i int) bool { return r.Marks[i].Start >= s.Start })
		for _, m := range r.Marks[first:] {
			if m.End > s.End {
				break
			}
			if m.Start > at {
				w(r.Body[at:m.Start])
			}
			at = m.End
		}
	}
	if at < s.End {
		w(r.Body[at:s.End])
	}
}

// Remarked returns raw, which takes the place of a message, with the cache mark that the client has on that message: on its last block, if
// that may have one. Without it the provider would find the client's marks only at other messages, and cache less. It returns raw itself if
// there is no mark, or no block to put it on.
func (r *Request) Remarked(msg int, raw []byte) []byte {
	span := r.Messages[msg].Span
	first := sort.Search(len(r.Marks), func(i int) bool { return r.Marks[i].Start >= span.Start })
	if first == len(r.Marks) || r.Marks[first].End > span.End {
		return raw
	}
	mark := bytes.Trim(r.Raw(r.Marks[first]), ", \t\r\n")
	var content Span
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil {
			return raw
		}
		if string(m.Key) == "content" {
			content = m.Value
		}
	}
	if content.IsZero() || raw[content.Start] != '[' {
		return raw
	}
	var last Span
	for e, err := range rawjson.Elements(raw[content.Start:content.End], 0) {
		if err != nil {
			return raw
		}
		last = Span{Start: content.Start + e.Start, End: content.Start + e.End}
	}
	if last.Len() < 3 || raw[last.Start] != '{' {
		return raw
	}
	if r.Dialect.Rules().MarkBlocks { // it says "cachePoint" in an element of its own
		out := make([]byte, 0, len(raw)+len(mark)+1)
		return append(append(append(append(out, raw[:last.End]...), ','), mark...), raw[last.End:]...)
	}
	for m, err := range rawjson.Members(raw[last.Start:last.End], 0) {
		if err != nil || string(m.Key) == "type" && bytes.Contains(m.Value.Of(raw[last.Start:last.End]), []byte("thinking")) {
			return raw
		}
	}
	out := make([]byte, 0, len(raw)+len(mark)+1)
	out = append(append(append(out, raw[:last.End-1]...), ','), mark...)
	return append(out, raw[last.End-1:]...)
}
