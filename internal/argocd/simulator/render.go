package simulator

import (
	"encoding/json"
	"reflect"
)

// render writes a section from a struct. index is the number of the object that the dice of
// sections are rolled for, d what sections without dice of their own go on with.
func (s *Simulator) render(b []byte, name string, from any, index int, d dice) []byte {
	one := s.sections[name]
	w := writing{Simulator: s, b: b, index: uint64(index), dice: d}
	w.scopes = append(w.room[:0], reflect.ValueOf(from).Elem())
	w.section(one)
	return w.b
}

func (w *writing) section(one *section) {
	if !one.own {
		w.nodes(one.nodes)
		return
	}
	outer := w.dice
	w.dice = roll(w.seed, one.part, w.index+one.shift)
	w.nodes(one.nodes)
	w.dice = outer
}

func (w *writing) nodes(all []node) {
	for i := range all {
		all[i].do(w, &all[i])
	}
}

func (w *writing) text(n *node) {
	text := n.text
	if last := len(w.b) - 1; text[0] == ',' && last >= 0 && (w.b[last] == '{' || w.b[last] == '[') {
		text = text[1:]
	}
	w.b = append(w.b, text...)
}

func (w *writing) at(n *node) reflect.Value {
	v := w.scopes[len(w.scopes)-1-n.depth]
	if n.field >= 0 {
		v = v.Field(n.field)
	}
	return v
}

func (w *writing) value(n *node) {
	v := w.at(n)
	switch v.Kind() {
	case reflect.String:
		w.b = appendQuoted(w.b, v.String())
	case reflect.Bool:
		w.b = appendBool(w.b, v.Bool())
	default:
		w.b = number(w.b, int(v.Int()))
	}
}

// raw writes bytes that are JSON.
func (w *writing) raw(n *node) { w.b = append(w.b, w.at(n).Bytes()...) }

func (w *writing) either(n *node, first bool) {
	if first {
		w.nodes(n.bodies[0])
	} else {
		w.nodes(n.bodies[1])
	}
}

func (w *writing) whether(n *node)     { w.either(n, !w.empty(n)) }
func (w *writing) whetherNot(n *node)  { w.either(n, w.empty(n)) }
func (w *writing) whetherKept(n *node) { w.either(n, len(w.kept) > 0) }
func (w *writing) oneOf(n *node)       { w.nodes(n.bodies[w.dice.intn(len(n.bodies))]) }

// chance writes the first of the bodies whose number a roll is below, or the last.
func (w *writing) chance(n *node) {
	k := w.dice.intn(1000)
	for i, below := range n.numbers {
		if k < below {
			w.nodes(n.bodies[i])
			return
		}
	}
	w.nodes(n.bodies[len(n.numbers)])
}

func (w *writing) keep(n *node) {
	before := len(w.b)
	w.nodes(n.bodies[0])
	w.kept = append(w.kept[:0], w.b[before:]...)
	w.b = w.b[:before]
}

func (w *writing) empty(n *node) bool {
	switch v := w.at(n); v.Kind() {
	case reflect.String, reflect.Slice:
		return v.Len() == 0
	case reflect.Bool:
		return !v.Bool()
	default:
		return v.Int() == 0
	}
}

// each writes what a mark encloses for each element, or as often as a number says.
func (w *writing) each(n *node) {
	v := w.at(n)
	if v.Kind() != reflect.Slice {
		w.repeat(n, int(v.Int()))
		return
	}
	most := v.Len()
	if n.numbers != nil {
		most = n.numbers[0] + w.dice.intn(n.numbers[1])
	}
	w.scopes = append(w.scopes, reflect.Value{})
	for i := range most {
		w.scopes[len(w.scopes)-1] = v.Index(i)
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.nodes(n.bodies[0])
	}
	w.scopes = w.scopes[:len(w.scopes)-1]
}

func (w *writing) times(n *node) { w.repeat(n, n.numbers[0]+w.dice.intn(n.numbers[1])) }

func (w *writing) repeat(n *node, times int) {
	for i := range times {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.nodes(n.bodies[0])
	}
}

func (w *writing) call(n *node) {
	inner := w.scopes
	w.scopes = w.scopes[:len(w.scopes)-n.depth]
	w.section(n.section)
	w.scopes = inner
}

func (w *writing) random(n *node) {
	value := n.numbers[0] + w.dice.intn(n.numbers[1])
	if len(n.numbers) > 2 {
		value *= n.numbers[2]
	}
	w.b = number(w.b, value)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, "true"...)
	}
	return append(b, "false"...)
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
