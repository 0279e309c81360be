package simulator

import (
	"embed"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

//go:embed templates
var templateFiles embed.FS

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
//	<<of people>> <<tag v>> <<stamp 1 60>> <<morning 30 300>> <<hash>> <<uid>> <<hex 12>>
//	<<pick>> <<any-name>> <<any-server>>  rolls a cluster; its name and address
//
// A comma behind an opening bracket is dropped, so that what comes first may be optional.
type section struct {
	of    reflect.Type
	own   bool
	part  part
	shift uint64
	nodes []node
}

// node is a piece of text, or a mark with what it encloses.
type node struct {
	text string
	do   func(w *writing, n *node)

	depth, field int // of the struct that has the field, counted from the innermost; -1: the element itself
	numbers      []int
	words        []string
	section      *section
	bodies       [][]node
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

// templates reads the sections of all files; v names the types. A mistake in a file of this
// package is a panic, which every test meets.
func (s *Simulator) readTemplates(types ...any) map[string]*section {
	named := map[string]reflect.Type{}
	for _, v := range types {
		named[reflect.TypeOf(v).Name()] = reflect.TypeOf(v)
	}
	all, bodies := map[string]*section{}, map[string]string{}
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		text, err := templateFiles.ReadFile("templates/" + f.Name())
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
				panic(fmt.Sprintf("%s: section %s: unknown type %s", f.Name(), words[0], words[1]))
			}
			if one.own {
				one.part = parts()[words[2]]
			}
			if len(words) > 3 {
				one.shift = 1 << atoi(words[3])
			}
			all[words[0]] = one
			for line := range strings.Lines(rest) {
				bodies[words[0]] += strings.TrimLeft(strings.TrimSuffix(line, "\n"), " \t")
			}
		}
	}
	for name, one := range all {
		c := compiler{name: name, rest: bodies[name], sections: all, lists: s.words.lists()}
		one.nodes, _ = c.nodes([]reflect.Type{one.of})
	}
	return all
}

func parts() map[string]part {
	return map[string]part{
		"meta": partMeta, "spec": partSpec, "status": partStatus, "operation": partOperation, "revision": partRevision,
	}
}

type compiler struct {
	name, rest string
	sections   map[string]*section
	lists      map[string][]string
}

// nodes reads up to the mark that ends what encloses it, and returns that mark.
func (c *compiler) nodes(scopes []reflect.Type) (all []node, end string) {
	for c.rest != "" {
		text, rest, _ := strings.Cut(c.rest, "<<")
		if text != "" {
			all = append(all, node{text: text, do: (*writing).text})
		}
		mark, behind, marked := strings.Cut(rest, ">>")
		c.rest = behind
		if !marked {
			break
		}
		if mark == "/" || mark == ":" || mark == "|" {
			return all, mark
		}
		all = append(all, c.mark(mark, scopes))
	}
	return all, ""
}

func (c *compiler) mark(mark string, scopes []reflect.Type) node {
	n := node{}
	word, rest, _ := strings.Cut(mark, " ")
	inner := scopes
	switch kind, name := mark[0], mark[1:]; kind {
	case '?', '!', '*':
		n.do = map[byte]func(*writing, *node){'?': (*writing).whether, '!': (*writing).whetherNot, '*': (*writing).each}[kind]
		if name[0] >= '0' && name[0] <= '9' {
			n.do, n.numbers = (*writing).times, numbers(name)
			break
		}
		if name == "kept" {
			n.do = (*writing).whetherKept
			break
		}
		name, most, _ := strings.Cut(name, " ")
		n.numbers = numbers(most)
		field := c.field(&n, name, scopes)
		if kind == '*' && field.Kind() == reflect.Slice {
			inner = append(slices.Clone(scopes), field.Elem())
		}
	case '%':
		n.do, n.numbers = (*writing).chance, numbers(name)
	case '1':
		n.do = (*writing).oneOf
	case '@':
		n.do, n.section = (*writing).call, c.sections[name]
		if n.section == nil {
			panic(c.name + ": no section " + name)
		}
		for scopes[len(scopes)-1-n.depth] != n.section.of {
			n.depth++
		}
		return n
	case '#':
		n.do, n.numbers = (*writing).random, numbers(name)
		return n
	default:
		if mark == "keep" {
			n.do = (*writing).keep
			break
		}
		c.value(&n, word, rest, scopes)
		return n
	}
	for end := ":"; end == ":" || end == "|"; {
		var body []node
		body, end = c.nodes(inner)
		n.bodies = append(n.bodies, body)
	}
	if len(n.bodies) == 1 {
		n.bodies = append(n.bodies, nil)
	}
	return n
}

// value compiles a mark that encloses nothing.
func (c *compiler) value(n *node, word, rest string, scopes []reflect.Type) {
	rolls := map[string]func(*writing, *node){
		"tag":   func(w *writing, n *node) { w.b = append(w.b, version(&w.dice, n.words[0], "")...) },
		"stamp": func(w *writing, n *node) { w.b = w.dice.stamp(w.b, n.numbers[0], n.numbers[1]) },
		"morning": func(w *writing, n *node) {
			w.b = moment(w.b, n.numbers[0]+w.dice.intn(n.numbers[1]), 8*3600)
		},
		"hex":        func(w *writing, n *node) { w.b = hex(w.b, w.dice.next(), n.numbers[0]) },
		"hash":       func(w *writing, _ *node) { w.b = w.dice.hash(w.b) },
		"uid":        func(w *writing, _ *node) { w.b = w.dice.uid(w.b) },
		"of":         func(w *writing, n *node) { w.b = append(w.b, w.dice.of(n.words)...) },
		"kept":       func(w *writing, _ *node) { w.b = append(w.b, w.kept...) },
		"pick":       func(w *writing, _ *node) { w.picked = w.anyCluster(&w.dice) },
		"any-name":   func(w *writing, _ *node) { w.b = append(w.b, w.picked.name...) },
		"any-server": func(w *writing, _ *node) { w.b = append(w.b, w.picked.server...) },
	}
	n.do, n.words = rolls[word], []string{rest}
	switch {
	case word == "of":
		if n.words = c.lists[rest]; n.words == nil {
			panic(c.name + ": no words " + rest)
		}
	case n.do != nil && rest != "" && word != "tag":
		n.numbers = numbers(rest)
	case n.do == nil && word[0] == '=':
		c.field(n, word[1:], scopes)
		n.do = (*writing).raw
	case n.do == nil:
		c.field(n, word, scopes)
		n.do = (*writing).value
	}
}

// field finds a field in the innermost struct that has it.
func (c *compiler) field(n *node, name string, scopes []reflect.Type) reflect.Type {
	for n.depth = range scopes {
		of := scopes[len(scopes)-1-n.depth]
		if name == "." {
			n.field = -1
			return of
		}
		if of.Kind() != reflect.Struct {
			continue
		}
		if f, ok := of.FieldByName(name); ok && len(f.Index) == 1 {
			n.field = f.Index[0]
			return f.Type
		}
	}
	panic(c.name + ": no field " + name)
}

// numbers reads the numbers of "1+8*250" or "1 60".
func numbers(text string) []int {
	var all []int
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		all = append(all, atoi(word))
	}
	return all
}

func atoi(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}
