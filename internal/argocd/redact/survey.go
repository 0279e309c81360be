package redact

import (
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/secrets"
)

// What is known of an object before it is written. A mark is needed because the key that
// decides may come after those it decides about.
const (
	isSecret     = 1 << iota // kind: Secret
	isSecretList             // kind: SecretList
	isPair                   // {"name": a secret's name, "value": …}
)

// markFinder finds the marks of a document's objects, keyed by the offset at which each object begins.
type markFinder struct {
	rawjson.Scanner
	marks map[int]byte
}

func (s *markFinder) value() {
	switch s.Peek() {
	case '{':
		s.object()
	case '[':
		s.Begin('[', "")
		for s.More(']') {
			s.value()
		}
	default:
		s.Skip()
	}
}

func (s *markFinder) object() {
	at, mark := s.At, byte(0)
	s.Begin('{', "")
	for s.More('}') {
		key := s.Name().Of(s.Text)
		if s.Peek() != '"' {
			s.value()
			continue
		}
		value := s.String().Of(s.Text)
		switch plain(key) {
		case "kind":
			switch plain(value) {
			case "Secret":
				mark |= isSecret
			case "SecretList":
				mark |= isSecretList
			}
		case "name", "key":
			if secrets.PairNamed(plain(value)) {
				mark |= isPair
			}
		}
	}
	if mark != 0 {
		s.marks[at] = mark
	}
}
