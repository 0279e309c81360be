package redact

import "bytes"

// What is known of an object before it is written. A mark is needed because the key that
// decides may come after those it decides about.
const (
	isSecret     = 1 << iota // kind: Secret
	isSecretList             // kind: SecretList
	isPair                   // {"name": a secret's name, "value": …}
)

// survey marks each object of a document, in the order in which they begin.
type survey struct {
	in    []byte
	pos   int
	marks []byte
}

func (s *survey) space() {
	for s.pos < len(s.in) && s.in[s.pos] <= ' ' {
		s.pos++
	}
}

func (s *survey) value() {
	s.space()
	switch s.in[s.pos] {
	case '{':
		s.object()
	case '[':
		s.array()
	case '"':
		s.str()
	default:
		s.pos = scalarEnd(s.in, s.pos)
	}
}

func (s *survey) object() {
	at := len(s.marks)
	s.marks = append(s.marks, 0)
	s.pos++
	for {
		s.space()
		switch s.in[s.pos] {
		case '}':
			s.pos++
			return
		case ',':
			s.pos++
			continue
		}
		key := s.str()
		s.space()
		s.pos++ // the colon
		s.space()
		if s.in[s.pos] != '"' {
			s.value()
			continue
		}
		value := s.str()
		switch plain(key) {
		case "kind":
			switch plain(value) {
			case "Secret":
				s.marks[at] |= isSecret
			case "SecretList":
				s.marks[at] |= isSecretList
			}
		case "name", "key":
			if pairIsSecret(plain(value)) {
				s.marks[at] |= isPair
			}
		}
	}
}

func (s *survey) array() {
	s.pos++
	for {
		s.space()
		switch s.in[s.pos] {
		case ']':
			s.pos++
			return
		case ',':
			s.pos++
		default:
			s.value()
		}
	}
}

// str is the string at pos with its quotes.
func (s *survey) str() []byte {
	from := s.pos
	s.pos = stringEnd(s.in, s.pos)
	return s.in[from:s.pos]
}

// stringEnd is the offset behind the string that begins at pos.
func stringEnd(in []byte, pos int) int {
	for pos++; ; pos++ {
		next := bytes.IndexByte(in[pos:], '"')
		if escape := bytes.IndexByte(in[pos:pos+next], '\\'); escape >= 0 {
			pos += escape + 1
			continue
		}
		return pos + next + 1
	}
}

// scalarEnd is the offset behind the number, true, false or null at pos.
func scalarEnd(in []byte, pos int) int {
	for pos < len(in) {
		switch in[pos] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return pos
		}
		pos++
	}
	return pos
}
