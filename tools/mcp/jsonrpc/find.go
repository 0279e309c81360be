package jsonrpc

import "github.com/plimsoll/plimsoll/internal/rawjson"

// Place is a range of bytes of a message that may be larger than memory.
type Place struct{ Start, End int64 }

// Finder reads a message that is written to it, in pieces of any size, and finds its head
// without holding more than that. The zero value is ready. Its Write never fails.
type Finder struct {
	at     int64
	depth  int
	text   bool // within a string
	escape bool
	value  bool   // at depth 1, behind a colon
	word   []byte // the string or scalar at depth 1 that is being read
	from   int64
	long   bool // word would be longer than an id may be
	key    string
	ended  bool // the object is closed
	bad    bool

	head Head
	id   Place
}

// Write implements io.Writer.
func (f *Finder) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i++ {
		if f.depth > 1 { // the bulk of a large message
			n := f.skip(p[i:])
			i += n
			f.at += int64(n)
			if i >= len(p) {
				break
			}
		}
		f.step(p[i])
		f.at++
	}
	return len(p), nil
}

// skip steps over what is deeper than the message's own members. It returns how many bytes
// were done; the byte behind them is for step.
func (f *Finder) skip(p []byte) int {
	for i, c := range p {
		switch {
		case f.escape:
			f.escape = false
		case f.text:
			switch c {
			case '\\':
				f.escape = true
			case '"':
				f.text = false
			}
		case c == '"':
			f.text = true
		case c == '{' || c == '[':
			f.depth++
		case c == '}' || c == ']':
			if f.depth == 2 {
				return i
			}
			f.depth--
		}
	}
	return len(p)
}

func (f *Finder) step(c byte) {
	switch {
	case f.escape:
		f.escape = false
		f.take(c)
	case f.text:
		f.take(c)
		switch c {
		case '\\':
			f.escape = true
		case '"':
			f.text = false
			if !f.value && f.depth == 1 {
				f.key = string(rawjson.Unquote(nil, f.word))
				f.word = f.word[:0]
			}
		}
	case c == ' ' || c == '\n' || c == '\t' || c == '\r': // a scalar before it has ended
	case f.ended || f.bad:
		f.bad = true
	case f.depth == 0:
		f.depth, f.bad = 1, c != '{'
	case c == ':' && !f.value:
		f.value, f.word, f.long = true, f.word[:0], false
	case c == ',' && f.depth == 1, c == '}' && f.depth == 1:
		f.member()
		f.value, f.key, f.word, f.long = false, "", f.word[:0], false
		if c == '}' {
			f.depth, f.ended = 0, true
		}
	case c == '{' || c == '[':
		f.depth++
		f.begin(c)
	case c == '}' || c == ']':
		f.depth--
	default:
		f.text = c == '"'
		if len(f.word) == 0 {
			f.begin(c)
			return
		}
		f.take(c)
	}
}

func (f *Finder) begin(c byte) {
	if f.depth <= 2 && len(f.word) == 0 {
		f.from = f.at
		f.word = append(f.word, c)
	}
}

func (f *Finder) take(c byte) {
	if len(f.word) >= MaxIDBytes {
		f.long = true
		return
	}
	f.word = append(f.word, c)
}

// member takes the member of the message that ends here.
func (f *Finder) member() {
	if !f.value || len(f.word) == 0 {
		return
	}
	// Spans of values that may be beyond an int's reach are not told: only that they are there.
	there := Span{Start: 0, End: 1}
	switch f.key {
	case "id":
		f.head.ID = ""
		if !f.long {
			f.head.ID = idOf(f.word)
		}
		f.id = Place{f.from, f.from + int64(len(f.word))}
	case "method":
		if f.word[0] == '"' && !f.long {
			f.head.Method = string(rawjson.Unquote(nil, f.word))
		}
	case "params":
		f.head.Params = there
	case "result":
		f.head.Result = there
	case "error":
		f.head.Error = there
	}
}

// Head is what was found, and where the id stands, once the message was written: as [Scan]
// has it, but for the spans, of which only those that are zero mean something. What is no
// message is of the kind Invalid.
func (f *Finder) Head() (Head, Place) {
	h := f.head
	switch {
	case !f.ended || f.bad:
		return Head{}, Place{}
	case h.Method != "" && h.ID != "":
		h.Kind = Request
	case h.Method != "":
		h.Kind = Notification
	case !h.Result.IsZero() || !h.Error.IsZero():
		h.Kind = Response
	}
	return h, f.id
}
