package wire

import "bytes"

// maxWord is the number of bytes of a string or number that are kept.
const maxWord = 64

// lexer walks JSON that comes in pieces cut anywhere. It keeps track of the path of known names, and reports values to an Answer; it keeps
// a few words at most.
type lexer struct {
	closed  bool // the outermost object has just ended
	array   bool // the outermost value is an array, whose elements count as outermost objects
	awaited bool // in an object: a key comes next
	naming  bool // the string at hand is a key
	quoted  bool // in a string
	wanted  bool // the string at hand is at a path that may be of interest
	escaped bool // behind an odd number of backslashes
	dead    bool // nested too deep
	long    bool // word does not hold all of the string or number
	atom    bool // in a number or a literal
	depth   int
	from    int // where in the last piece the outermost object began or went on
	nword   int
	code    path // of the value that comes next in an object
	word    [maxWord]byte
	objects [lexerDepth / 64]uint64
	codes   [pathLength]path
}

const (
	// lexerDepth is beyond what a response nests; what lies deeper is not looked at.
	lexerDepth = 512
	pathLength = 8
)

// path is a row of names, one byte each, the last one lowest. The zero path is that of the outermost object.
type path uint64

// nowhere is the path of everything that is of no interest.
const nowhere = ^path(0)

// child returns the path of the member or element n in p; nowhere for an unknown name or a path that would be too long.
func (p path) child(n name) path {
	if n == nameUnknown || p == nowhere || p>>(8*(pathLength-2)) != 0 {
		return nowhere
	}
	return p<<8 | path(n)
}

func (l *lexer) reset() { *l = lexer{} }

// containerPath returns the path of the object or array being read.
func (l *lexer) containerPath() path {
	if l.depth == 0 {
		return 0
	}
	if l.depth > pathLength {
		return nowhere
	}
	return l.codes[l.depth-1]
}

// object reports whether the innermost container that is open is an object.
func (l *lexer) object() bool {
	return l.depth > 0 && l.objects[(l.depth-1)>>6]>>((l.depth-1)&63)&1 == 1
}

// valuePath returns the path of the value that begins here.
func (l *lexer) valuePath() path {
	switch {
	case l.depth == 0:
		return 0
	case l.object():
		return l.code
	}
	return l.containerPath().child(nameElement)
}

// feed reads p up to the end of the outermost value, and returns the number of bytes read. It calls opened and value of a for what it
// meets. A value may come in any number of pieces.
func (l *lexer) feed(p []byte, a *Answer) int {
	l.from = len(p)
	if l.depth > 0 {
		l.from = 0
	}
	for i := 0; i < len(p); {
		if l.dead {
			return len(p)
		}
		if l.quoted {
			i = l.readString(p, i, a)
			continue
		}
		c := p[i]
		if l.atom {
			switch c {
			case ',', ':', ']', '}', '[', '{', '"', ' ', '\t', '\n', '\r':
				l.atom = false
				a.value(l.valuePath(), l.token(), false)
				if l.depth == 0 && l.array && string(l.token()) == "DONE" {
					a.Done = true
				}
			default:
				l.keep(p[i : i+1])
				i++
				continue
			}
		}
		switch c {
		case ' ', '\t', '\n', '\r', ':':
		case ',':
			l.awaited = l.object()
		case '"':
			l.quoted, l.naming = true, l.awaited && l.object()
			if l.naming {
				l.wanted = l.containerPath() != nowhere
			} else {
				l.wanted = l.valuePath() != nowhere
			}
			l.nword, l.long = 0, false
		case '{', '[':
			if c == '[' && l.depth == 0 {
				l.array = true
				break
			}
			if l.depth == 0 {
				l.from = i
			}
			l.enter(c, a)
		case '}', ']':
			if l.depth == 0 {
				l.array = false
				break
			}
			l.depth--
			l.awaited = false
			if l.depth == 0 {
				l.closed = true
				return i + 1
			}
		default:
			l.atom = true
			l.nword, l.long = 0, false
			continue
		}
		i++
	}
	return len(p)
}

// enter enters an object or array that begins with c. Nesting beyond lexerDepth ends all reading.
func (l *lexer) enter(c byte, a *Answer) {
	if l.depth == lexerDepth {
		l.dead = true
		return
	}
	at := l.valuePath()
	if l.depth < pathLength {
		l.codes[l.depth] = at
	}
	bit := uint64(1) << (l.depth & 63)
	if c == '{' {
		l.objects[l.depth>>6] |= bit
	} else {
		l.objects[l.depth>>6] &^= bit
	}
	l.depth++
	l.awaited = c == '{'
	if at != nowhere {
		a.opened(at)
	}
}

// readString reads the rest of a string at p[i:] and returns the index at which it stopped. It passes the string to a at its end, cut to the size of
// word, if its path is known.
func (l *lexer) readString(p []byte, i int, a *Answer) int {
	end := bytes.IndexByte(p[i:], '"')
	piece := p[i:]
	if end >= 0 {
		piece = p[i : i+end]
	}
	run := 0
	for run < len(piece) && piece[len(piece)-1-run] == '\\' {
		run++
	}
	odd := run&1 == 1
	if run == len(piece) {
		odd = odd != l.escaped
	}
	if l.wanted {
		l.keep(piece)
	}
	if end < 0 {
		l.escaped = odd
		return len(p)
	}
	l.escaped = false
	i += end + 1
	if odd {
		if l.wanted {
			l.keep(p[i-1 : i])
		}
		return i
	}
	l.quoted = false
	if l.naming {
		l.awaited = false
		l.code = nowhere
		if l.wanted && !l.long {
			l.code = l.containerPath().child(nameOf(l.token()))
		}
	} else if l.wanted {
		a.value(l.valuePath(), l.token(), true)
	}
	return i
}

// keep adds bytes to the word, and sets long if some do not fit.
func (l *lexer) keep(p []byte) {
	n := copy(l.word[l.nword:], p)
	l.nword += n
	l.long = l.long || n < len(p)
}

func (l *lexer) token() []byte { return l.word[:l.nword] }
