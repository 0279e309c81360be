package wire

import "sort"

// Fingerprint feeds w with what decides whether a message is the same as one seen before:
// its bytes, cache marks left out. A content that is one string and a content of one text
// block with the same literal are the same, since clients turn one into the other when
// the cache mark moves. What w is given is a view of the body.
func (r *Request) Fingerprint(msg int, w func([]byte)) {
	m := &r.Messages[msg]
	r.unmarked(m.Span, m.Content, m.lone, w)
}

var systemName, toolsName = []byte("system:"), []byte("tools:")

// FingerprintHead does the same for system and tools.
func (r *Request) FingerprintHead(w func([]byte)) {
	w(systemName)
	r.unmarked(r.SystemSpan, r.SystemSpan, r.systemLone, w)
	w(toolsName)
	r.Unmarked(r.ToolsSpan, w)
}

func (r *Request) unmarked(s, content, lone Span, w func([]byte)) {
	if !lone.IsZero() {
		r.Unmarked(Span{Start: s.Start, End: content.Start}, w)
		w(r.Raw(lone))
		s.Start = content.End
	}
	r.Unmarked(s, w)
}

// Unmarked feeds w with the bytes of a span without the cache marks in it: views of the body.
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
