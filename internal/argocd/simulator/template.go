package simulator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// section is a named part of a template, written from a struct of one type. A section with
// a part rolls dice of its own, so that it is the same wherever it stands, and a part that
// nobody asks for is never rolled; others go on with the dice of who calls them.
//
//	== name TYPE [PART [SHIFT]]
//	text with marks; line breaks and what a line is indented by are dropped
//
// The marks:
//
//	<<field>> <<=field>>               a field of the struct, quoted for a JSON string; as it is
//	<<?field>> <<!field>>              what follows if the field is (not) empty
//	<<*field>> <<*field 1+4>> <<*1+4>> what follows for each element, with commas; for 1 to 4; 1 to 4 times
//	<<1>> A <<|>> B <</>>              one of them, each as often
//	<<%450>> <<%250 700>>              what follows 450 times of 1000; A 250 times, B 450 times, else C
//	<<keep>> <<kept>> <<?kept>>        keeps what follows; writes it, asks for it
//	<<:>> <<|>> <</>>                  otherwise, or the next; the end
//	<<@section>>                       another section
//	<<#1+8>> <<#1+8*250>>              a number from 1 to 8; times 250
//	<<of people>> <<tag v>> <<stamp 1 60>> <<hash>> <<uid>> <<hex 12>>
//	<<pick>> <<any-name>> <<any-server>>  rolls a cluster; its name and address
//
// A comma behind an opening bracket is dropped, so that what comes first may be optional.
type section struct {
	of    reflect.Type
	own   bool
	part  part
	shift uint64
	body  pieces
}

// piece writes text, or what a mark stands for with what it encloses.
type piece func(w *writing)

type pieces []piece

func parts() map[string]part {
	return map[string]part{
		"meta": partMeta, "spec": partSpec, "status": partStatus, "operation": partOperation, "revision": partRevision,
	}
}

// readTemplates reads and compiles the sections of all templates; types are the structs whose fields they name. A mistake in a file of this
// package is a panic, which every test meets.
func (s *Simulator) readTemplates(types ...any) map[string]*section {
	named := map[string]reflect.Type{}
	for _, v := range types {
		named[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	all, bodies := map[string]*section{}, map[string]string{}
	for _, name := range []string{"application", "fields", "others", "tree"} {
		text, err := files.ReadFile("templates/" + name + ".txt")
		if err != nil {
			panic(err)
		}
		for body := range strings.SplitSeq("\n"+string(text), "\n== ") {
			head, rest, _ := strings.Cut(body, "\n")
			words := strings.Fields(head)
			if len(words) < 2 {
				continue
			}
			one := &section{of: named[words[1]], own: len(words) > 2}
			if one.of == nil {
				panic(fmt.Sprintf("%s: section %s: unknown type %s", name, words[0], words[1]))
			}
			if one.own {
				one.part = parts()[words[2]]
			}
			if len(words) > 3 {
				one.shift = 1 << numbers(words[3])[0]
			}
			all[words[0]] = one
			for line := range strings.Lines(rest) {
				bodies[words[0]] += strings.TrimLeft(strings.TrimSuffix(line, "\n"), " \t")
			}
		}
	}
	for name, one := range all {
		c := compiler{name: name, rest: bodies[name], sections: all, lists: s.words.lists()}
		one.body, _ = c.compilePieces([]reflect.Type{one.of})
	}
	return all
}

type compiler struct {
	name, rest string
	sections   map[string]*section
	lists      map[string][]string
}

// compilePieces compiles c.rest up to the mark that ends what encloses it, and returns that mark.
func (c *compiler) compilePieces(scopes []reflect.Type) (all pieces, end string) {
	for c.rest != "" {
		text, rest, _ := strings.Cut(c.rest, "<<")
		if text != "" {
			all = append(all, func(w *writing) { w.text(text) })
		}
		mark, behind, marked := strings.Cut(rest, ">>")
		c.rest = behind
		if !marked {
			break
		}
		if mark == "/" || mark == ":" || mark == "|" {
			return all, mark
		}
		all = append(all, c.compileMark(mark, scopes))
	}
	return all, ""
}

// compileBodies compiles the bodies that a mark encloses, and adds one that is empty.
func (c *compiler) compileBodies(scopes []reflect.Type) (all []pieces) {
	for end := ":"; end == ":" || end == "|"; {
		var body pieces
		body, end = c.compilePieces(scopes)
		all = append(all, body)
	}
	return append(all, nil)
}

// compileMark compiles one mark of a template, together with its bodies that follow it. The first byte says which kind it is; all other marks are
// names of fields. It panics if a name is unknown.
func (c *compiler) compileMark(mark string, scopes []reflect.Type) piece {
	kind, name := mark[0], mark[1:]
	switch kind {
	case '?', '!':
		empty := func(w *writing) bool { return len(w.kept) == 0 }
		if name != "kept" {
			empty = c.fieldNamed(name, scopes).empty
		}
		bodies := c.compileBodies(scopes)
		return func(w *writing) {
			if empty(w) == (kind == '!') {
				w.all(bodies[0])
			} else {
				w.all(bodies[1])
			}
		}
	case '*':
		return c.compileEach(name, scopes)
	case '%':
		limits, bodies := numbers(name), c.compileBodies(scopes)
		return func(w *writing) { w.all(bodies[w.dice.below(limits...)]) }
	case '1':
		bodies := c.compileBodies(scopes)
		return func(w *writing) { w.all(bodies[w.dice.intn(len(bodies)-1)]) }
	case '@':
		one, depth := c.sections[name], 0
		if one == nil {
			panic(c.name + ": no section " + name)
		}
		for scopes[len(scopes)-1-depth] != one.of {
			depth++
		}
		return func(w *writing) {
			inner := w.scopes
			w.scopes = w.scopes[:len(w.scopes)-depth]
			w.writeSection(one)
			w.scopes = inner
		}
	case '#':
		n := append(numbers(name), 1)
		return func(w *writing) { w.b = number(w.b, (n[0]+w.dice.intn(n[1]))*n[2]) }
	case '=':
		f := c.fieldNamed(name, scopes)
		return func(w *writing) { w.b = append(w.b, f.of(w).Bytes()...) }
	}
	if mark == "keep" {
		body := c.compileBodies(scopes)[0]
		return func(w *writing) {
			before := len(w.b)
			w.all(body)
			w.kept = append(w.kept[:0], w.b[before:]...)
			w.b = w.b[:before]
		}
	}
	return c.compileValue(mark, scopes)
}

// compileEach compiles a mark for a repetition: for each element of a field, for a random number of the first ones, or a random number of
// times.
func (c *compiler) compileEach(name string, scopes []reflect.Type) piece {
	name, most, _ := strings.Cut(name, " ")
	if name[0] >= '0' && name[0] <= '9' {
		n, body := numbers(name), c.compileBodies(scopes)[0]
		return func(w *writing) { w.writeTimes(n[0]+w.dice.intn(n[1]), func(int) { w.all(body) }) }
	}
	n, f := numbers(most), c.fieldNamed(name, scopes)
	body := c.compileBodies(append(slices.Clone(scopes), f.elem))[0]
	return func(w *writing) {
		list := f.of(w)
		times := list.Len()
		if n != nil {
			times = n[0] + w.dice.intn(n[1])
		}
		outer := w.scopes
		w.writeTimes(times, func(i int) {
			w.scopes = append(outer, list.Index(i))
			w.all(body)
		})
		w.scopes = outer
	}
}

// compileValue compiles a mark that encloses nothing: a random value, a value that was kept or picked, or a field.
func (c *compiler) compileValue(mark string, scopes []reflect.Type) piece {
	word, rest, _ := strings.Cut(mark, " ")
	n := numbers(rest)
	switch word {
	case "tag":
		return func(w *writing) { w.b = append(w.b, version(&w.dice, rest, "")...) }
	case "stamp":
		return func(w *writing) { w.b = w.dice.stamp(w.b, n[0], n[1]) }
	case "hex":
		return func(w *writing) { w.b = hex(w.b, w.dice.next(), n[0]) }
	case "hash":
		return func(w *writing) { w.b = w.dice.hash(w.b) }
	case "uid":
		return func(w *writing) { w.b = w.dice.uid(w.b) }
	case "of":
		list := c.lists[rest]
		if list == nil {
			panic(c.name + ": no words " + rest)
		}
		return func(w *writing) { w.b = append(w.b, w.dice.of(list)...) }
	case "kept":
		return func(w *writing) { w.b = append(w.b, w.kept...) }
	case "pick":
		return func(w *writing) { w.picked = w.anyCluster(&w.dice) }
	case "any-name":
		return func(w *writing) { w.b = append(w.b, w.picked.Name...) }
	case "any-server":
		return func(w *writing) { w.b = append(w.b, w.picked.Server...) }
	}
	f := c.fieldNamed(mark, scopes)
	switch f.kind {
	case reflect.String:
		return func(w *writing) { w.b = appendQuoted(w.b, f.of(w).String()) }
	case reflect.Bool:
		return func(w *writing) { w.b = strconv.AppendBool(w.b, f.of(w).Bool()) }
	}
	return func(w *writing) { w.b = number(w.b, int(f.of(w).Int())) }
}

// fieldNamed finds a field in the innermost struct that has it. It panics if none has it.
func (c *compiler) fieldNamed(name string, scopes []reflect.Type) field {
	for depth := range scopes {
		of := scopes[len(scopes)-1-depth]
		if name == "." {
			return field{depth: depth, index: -1, kind: of.Kind()}
		}
		if of.Kind() != reflect.Struct {
			continue
		}
		if f, ok := of.FieldByName(name); ok {
			found := field{depth: depth, index: f.Index[0], kind: f.Type.Kind()}
			if found.kind == reflect.Slice {
				found.elem = f.Type.Elem()
			}
			return found
		}
	}
	panic(c.name + ": no field " + name)
}

// numbers reads the numbers of "1+8*250" or "1 60".
func numbers(text string) []int {
	var all []int
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		n, err := strconv.Atoi(word)
		if err != nil {
			panic(err)
		}
		all = append(all, n)
	}
	return all
}

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
	w.writeSection(s.sections[name])
	return w.b
}

// writeSection appends a section of a template. One that has its own random numbers gets them from the seed and the index alone.
func (w *writing) writeSection(one *section) {
	outer := w.dice
	if one.own {
		w.dice = newDice(w.seed, one.part, w.index+one.shift)
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

// writeTimes calls write so many times, with a comma between.
func (w *writing) writeTimes(times int, write func(i int)) {
	for i := range times {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		write(i)
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
