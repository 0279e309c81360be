package simulator

import (
	"encoding/json"
	"reflect"
)

// writing is one object on its way through a template.
type writing struct {
	*Simulator

	b      []byte
	index  uint64
	dice   dice
	scopes []reflect.Value
	room   [3]reflect.Value // for scopes
	picked cluster
	kept   []byte
}

// render writes a section from a struct. index is the number of the object that the dice of
// sections are rolled for, d what sections without dice of their own go on with.
func (s *Simulator) render(b []byte, name string, from any, index int, d dice) []byte {
	w := writing{Simulator: s, b: b, index: uint64(index), dice: d}
	w.scopes = append(w.room[:0], reflect.ValueOf(from).Elem())
	w.section(s.sections[name])
	return w.b
}

func (w *writing) section(one *section) {
	outer := w.dice
	if one.own {
		w.dice = roll(w.seed, one.part, w.index+one.shift)
	}
	w.all(one.body)
	if one.own {
		w.dice = outer
	}
}

func (w *writing) all(body pieces) {
	for _, write := range body {
		write(w)
	}
}

func (w *writing) text(text string) {
	if last := len(w.b) - 1; text[0] == ',' && last >= 0 && (w.b[last] == '{' || w.b[last] == '[') {
		text = text[1:]
	}
	w.b = append(w.b, text...)
}

// field describes a field of one of the structs that is being written.
type field struct {
	depth, index int // of the struct, counted from the innermost, and of the field; -1: the element itself
	kind         reflect.Kind
	elem         reflect.Type // of a slice
}

func (f field) of(w *writing) reflect.Value {
	v := w.scopes[len(w.scopes)-1-f.depth]
	if f.index >= 0 {
		v = v.Field(f.index)
	}
	return v
}

func (f field) empty(w *writing) bool {
	if f.kind == reflect.Slice {
		return f.of(w).Len() == 0
	}
	return f.of(w).IsZero()
}

// appendQuoted appends text as it stands between the quotes of JSON.
func appendQuoted(b []byte, text string) []byte {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c > '~', c == '"', c == '\\', c == '<', c == '>', c == '&':
			q, err := json.Marshal(text)
			if err != nil {
				panic(err) // a string
			}
			return append(b, q[1:len(q)-1]...)
		}
	}
	return append(b, text...)
}
