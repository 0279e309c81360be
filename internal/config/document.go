package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// maxFile bounds a configuration file, in bytes. One with every key and a hundred tools has about 30 KiB.
const maxFile = 256 << 10

// part is one part of a dotted key, with its place.
type part struct {
	name string
	pos  int // offset in the file
}

// document walks through a TOML file and passes each value, with its whole key, to a reader. go-toml's decoder checks the grammar and
// double definitions; its parser gives positions.
type document struct {
	file   string
	origin Origin
	lines  []int // offsets of line starts
	probs  *problems
	told   map[string]bool // names of tables that a problem was reported for
	reader *reader
}

// readFile returns the content of a file of at most maxFile bytes; os.DevNull stands for no file and is empty.
func readFile(file string) ([]byte, error) {
	if file == os.DevNull { // how one says that there is no file
		return nil, nil
	}
	data, err := statefile.ReadLinked(file, maxFile)
	if errors.Is(err, statefile.ErrTooLarge) {
		err = fmt.Errorf("%w, which no configuration is; name the right file", err)
	}
	return data, err
}

// parseDocument returns the entries of a file with the given content. Mistakes are added to probs.
func parseDocument(file string, origin Origin, data []byte, probs *problems) map[address]entry {
	d := &document{file: file, origin: origin, probs: probs, told: map[string]bool{}}
	d.lines = append(d.lines, 0)
	for i, c := range data {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	d.reader = &reader{entries: map[address]entry{}, probs: probs}
	before := len(probs.list)

	var p unstable.Parser
	p.Reset(data)
	var table []part
	for p.NextExpression() {
		n := p.Expression()
		switch n.Kind {
		case unstable.Table:
			table = keyParts(n)
			d.checkTable(table)
		case unstable.ArrayTable:
			table = nil
			if parts := keyParts(n); d.checkTable(parts) {
				name := dotted(parts)
				d.problem(parts[len(parts)-1].pos, name, "is written as a list of tables", "write ["+name+"] with single brackets")
			}
			table = []part{{name: ""}} // its content means nothing
		case unstable.KeyValue:
			d.readValue(table, n)
		}
	}
	var any map[string]any
	if err := toml.Unmarshal(data, &any); err != nil {
		d.addSyntaxError(err, probs.list[min(before, len(probs.list)):])
	} else if err := p.Error(); err != nil {
		// The decoder took what the parser refused. Nothing after that place was read.
		d.problem(0, "", err.Error(), "repair the file")
	}
	return d.reader.entries
}

// addSyntaxError adds a problem for an error of the TOML decoder, unless a problem in known is on the same line.
func (d *document) addSyntaxError(err error, known []Problem) {
	line, column := 1, 1
	what := strings.TrimPrefix(err.Error(), "toml: ")
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, column = e.Position()
	}
	for _, p := range known {
		if p.Where.Line == line {
			return
		}
	}
	d.probs.add(Problem{
		Where: Source{Origin: d.origin, File: d.file, Line: max(line, 1), Column: max(column, 1)},
		What:  clip(what), Fix: "repair this line: key = value, strings in quotes",
	})
}

// keyParts returns the parts of the dotted key of a node, each with its offset in the text.
func keyParts(n *unstable.Node) []part {
	var out []part
	for it := n.Key(); it.Next(); {
		k := it.Node()
		out = append(out, part{name: string(k.Data), pos: int(k.Raw.Offset)})
	}
	return out
}

// dotted joins parts with dots for messages: each is clipped and none is quoted.
func dotted(parts []part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = clip(p.name)
	}
	return strings.Join(names, ".")
}

// checkTable reports whether the first part of a key is a known table. If not, it adds a problem, once for each name.
func (d *document) checkTable(parts []part) bool {
	root := parts[0]
	if isNamed(root.name) || isTable(root.name) {
		return true
	}
	if d.told[root.name] {
		return false
	}
	if d.probs.full() {
		d.probs.more++
		return false
	}
	d.told[root.name] = true
	if table := tableOf(root.name, false); table != "" {
		d.problem(root.pos, root.name, "is a key of table ["+table+"]", "write it below a line ["+table+"]")
		return false
	}
	fix := "the tables are [" + strings.Join(tableNames(), "], [") + "], [tools.NAME] and [agents.NAME]"
	known := append(tableNames(), namedTables...)
	for _, table := range tableNames() {
		known = append(known, keyNames(table, false)...)
	}
	if near := closest(root.name, known); isNamed(near) || isTable(near) {
		fix = fmt.Sprintf("did you mean %q?", near)
	} else if near != "" {
		fix = fmt.Sprintf("did you mean %q, below a line [%s]?", near, tableOf(near, false))
	}
	d.problem(root.pos, clip(root.name), "unknown key or table", fix)
	return false
}

// namedTables are tables of tables that each have a name, as [agents.NAME].
var namedTables = []string{"tools", a2aTable, agentsTable, modelsTable}

func isNamed(table string) bool { return slices.Contains(namedTables, table) }

// readValue reads one key = value. An inline table is read like the table it stands for; what is in a list of tables is passed over.
func (d *document) readValue(table []part, n *unstable.Node) {
	if len(table) == 1 && table[0].name == "" {
		return
	}
	path := append(append([]part(nil), table...), keyParts(n)...)
	v := n.Value()
	if v.Kind == unstable.InlineTable && !d.takesTable(path) {
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				d.readValue(path, it.Node())
			}
		}
		return
	}
	if !d.checkTable(path) {
		return
	}
	names := make([]string, len(path))
	for i, p := range path {
		names[i] = p.name
	}
	d.reader.assign(names, readNode(v, 0), d.sourceAt(path[len(path)-1].pos))
}

// takesTable reports whether an inline table at path must be read as one value: if the key takes no table, the problem is then about the
// table and not about each member.
func (d *document) takesTable(path []part) bool {
	var k *Key
	switch {
	case len(path) == 2 && isTable(path[0].name):
		k, _ = lookup(path[0].name, path[1].name, false)
	case len(path) == 3 && path[0].name == agentsTable:
		k = keyNamed(agentKeys, path[2].name)
	case len(path) == 3 && path[0].name == "tools":
		k, _ = lookup(resources, path[2].name, true)
	case len(path) == 4 && path[0].name == "tools":
		k, _ = lookup(path[2].name, path[3].name, true)
	}
	return k != nil && k.Type != TypeToolSizes && (k.Type != TypeToolCount || path[0].name == "tools")
}

// readNode returns a copy of a value, which does not share the parser's memory. Lists within lists and inline tables are empty, and a list is cut
// off after maxItems+1 members.
func readNode(n *unstable.Node, depth int) written {
	w := written{text: string(n.Data)}
	switch n.Kind {
	case unstable.String:
		w.form = formString
	case unstable.Integer:
		w.form = formInt
	case unstable.Float:
		w.form = formFloat
	case unstable.Bool:
		w.form = formBool
	case unstable.Array:
		w.form = formList
		for it := n.Children(); it.Next() && depth == 0 && len(w.items) <= maxItems; {
			w.items = append(w.items, readNode(it.Node(), depth+1))
		}
	case unstable.InlineTable:
		w.form = formTable
	default:
		w.form = formTime
	}
	return w
}

// sourceAt returns the line and column, in bytes from 1, of an offset in the file.
func (d *document) sourceAt(offset int) Source {
	line := sort.SearchInts(d.lines, offset+1)
	return Source{Origin: d.origin, File: d.file, Line: line, Column: offset - d.lines[line-1] + 1}
}

func (d *document) problem(offset int, key, what, fix string) {
	d.probs.add(Problem{Where: d.sourceAt(offset), Key: key, What: what, Fix: fix})
}
