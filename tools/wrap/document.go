package wrap

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// span is a range of bytes of a file.
type span = rawjson.Span

// document is a file that is being edited.
type document struct {
	path    string
	agents  bool // of an editor, in the place of servers
	data    []byte
	entries []entry
	servers []Server
	edits   []rawjson.Edit
	// changed are the places of the entries that were edited: their keys from the top.
	changed [][]string
	format  format
}

// format is the language of a file.
type format interface {
	// read gives the file's value, to be compared; nil when it is not valid.
	read(data []byte) (map[string]any, error)
}

// entry is one server as its client's file has it.
type entry interface {
	// server names it; place are the keys that lead to it.
	server() Server
	place() []string
	// command and the arguments it starts with; ok is false when there is none.
	command() (command string, ok bool)
	arguments() []string
	// wrapped reports whether it has been wrapped.
	wrapped() bool
	// wrap returns the edits that wrap it, or why it is left.
	wrap(o Options) (edits []rawjson.Edit, why string)
	// unwrap returns the edits that undo that, or why it is left. was is the entry's text
	// before, nil when that is not known.
	unwrap(was []byte) (edits []rawjson.Edit, why string)
	// text is the entry as it stands in the file, nil where it has no place of its own.
	text() []byte
}

// parse reads a file by what its name says, for its MCP servers or for an editor's agents.
func parse(path string, data []byte, agents bool) (*document, error) {
	if len(data) > MaxFile {
		return nil, &Error{Path: path, Text: "the file is larger than 16 MiB: is it a configuration file?"}
	}
	if base := filepath.Base(path); base == "crushrc" || base == ".crushrc" {
		return nil, &Error{Path: path, Text: "a script of Bash, which nobody but Crush can run, is not rewritten: put Plimsoll into its lines by hand, " +
			"as in: mcp add NAME --command plimsoll --args mcp --args --name --args NAME --args -- --args COMMAND"}
	}
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return parseTOML(path, data)
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml":
		return parseYAML(path, data)
	}
	return parseJSON(path, data, agents)
}

// wrap plans one entry.
func (d *document) wrap(e entry, o Options) error {
	s := e.server()
	command, ok := e.command()
	switch {
	case e.wrapped():
		s.Action = Already
	case ok && isPlimsoll(command):
		if s.Action, s.Why = Left, whyOwn; d.agents {
			s.Why = whyOurs
		}
	default:
		edits, why := e.wrap(o)
		s.Action, s.Why = Wrapped, why
		if edits == nil {
			s.Action = Left
			break
		}
		d.edits = append(d.edits, edits...)
		d.changed = append(d.changed, e.place())
	}
	d.servers = append(d.servers, s)
	return nil
}

// unwrap plans the return of one entry.
func (d *document) unwrap(e entry, was map[string][]byte) error {
	s := e.server()
	if !e.wrapped() {
		s.Action, s.Why = Left, "it is not wrapped"
		d.servers = append(d.servers, s)
		return nil
	}
	edits, why := e.unwrap(was[key(e.place())])
	s.Action, s.Why = Undone, why
	if edits == nil {
		s.Action = Left
	} else {
		d.edits = append(d.edits, edits...)
		d.changed = append(d.changed, e.place())
	}
	d.servers = append(d.servers, s)
	return nil
}

func key(place []string) string { return strings.Join(place, "\x00") }

// originals returns the entries of the backup that are wrapped in this file just as wrapping
// them would do it: by place, as text.
func (d *document) originals(backup []byte) map[string][]byte {
	was := map[string][]byte{}
	if backup == nil {
		return was
	}
	now := map[string][]byte{}
	for _, e := range d.entries {
		if e.wrapped() && e.text() != nil {
			now[key(e.place())] = e.text()
		}
	}
	old, err := parse(d.path, backup, d.agents)
	if err != nil {
		return was
	}
	for _, o := range variants(d.path, d.data, d.agents) {
		change, err := Plan(d.path, backup, o)
		if err != nil {
			continue
		}
		made, err := parse(d.path, change.After, d.agents)
		if err != nil {
			continue
		}
		for _, e := range made.entries {
			if text, ok := now[key(e.place())]; ok && bytes.Equal(text, e.text()) {
				for _, o := range old.entries {
					if key(o.place()) == key(e.place()) {
						was[key(o.place())] = o.text()
					}
				}
			}
		}
	}
	return was
}

// splice makes the edits.
func (d *document) splice() ([]byte, error) {
	sorting.StableBy(d.edits, func(a, b rawjson.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return rawjson.Splice(d.data, d.edits)
}

// check verifies an edit: the file is still valid, and all but the entries that were meant is
// unchanged.
func (d *document) check(after []byte) error {
	if len(d.changed) == 0 {
		return nil
	}
	broken := &Error{Path: d.path, Text: "the edit would have changed more than it should, so nothing was done: this is a fault of Plimsoll, please report it with the form of the file"}
	before, err := d.format.read(d.data)
	if err != nil {
		return broken
	}
	now, err := d.format.read(after)
	if err != nil {
		return broken
	}
	for _, place := range d.changed {
		cut(before, place)
		cut(now, place)
	}
	if !equalValues(before, now) {
		return broken
	}
	return nil
}

// cut puts a mark in the place of a value.
func cut(in map[string]any, place []string) {
	for i, k := range place {
		if i == len(place)-1 {
			if _, ok := in[k]; ok {
				in[k] = "\x00server"
			}
			return
		}
		next, ok := in[k].(map[string]any)
		if !ok {
			return
		}
		in = next
	}
}

// lineOf returns the number of the line at an offset.
func lineOf(data []byte, at int) int { return bytes.Count(data[:min(at, len(data))], []byte{'\n'}) + 1 }
