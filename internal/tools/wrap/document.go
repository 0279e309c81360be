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
	agents  bool // the entries are an editor's agents, not MCP servers
	data    []byte
	entries []entry
	servers []Server
	edits   []rawjson.Edit
	// changed has the place of each entry that was edited: the keys that lead to it.
	changed [][]string
	format  format
}

// format is the language of a file.
type format interface {
	// read returns the file's value, for comparing, or an error if it is not valid.
	read(data []byte) (map[string]any, error)
}

// entry is one server as its client's file has it.
type entry interface {
	// server returns its name, client and line; place the keys that lead to it.
	server() Server
	place() []string
	// command returns its command, ok false if there is none; arguments those of the command.
	command() (command string, ok bool)
	arguments() []string
	// wrapped reports whether the entry is wrapped already.
	isWrapped() bool
	// wrap returns the edits that wrap it; nil and the reason if it must be left.
	wrap(o Options) (edits []rawjson.Edit, why string)
	// unwrap returns the edits that undo wrap; nil and the reason if it must be left. was is the entry's
	// original text, nil if that is not known.
	unwrap(was []byte) (edits []rawjson.Edit, why string)
	// text returns the entry's text in the file, nil if it is not in one place.
	text() []byte
}

// parse reads a file for its MCP servers or, with agents, for an editor's agents. The name's extension decides the format.
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

// planWrap decides about one entry and records the result in d.servers. An entry that can be wrapped adds its edits to d; one that cannot be
// wrapped is recorded as Left with the reason, and one that is wrapped already as Already.
func (d *document) planWrap(e entry, o Options) {
	s := e.server()
	command, ok := e.command()
	switch {
	case e.isWrapped():
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
}

// planUnwrap decides about one entry and records the result in d.servers: Undone, with the edits added to d, or Left with the reason. was has
// the original texts of entries, by the key of their place.
func (d *document) planUnwrap(e entry, was map[string][]byte) {
	s := e.server()
	if !e.isWrapped() {
		s.Action, s.Why = Left, "it is not wrapped"
		d.servers = append(d.servers, s)
		return
	}
	edits, why := e.unwrap(was[placeKey(e.place())])
	s.Action, s.Why = Undone, why
	if edits == nil {
		s.Action = Left
	} else {
		d.edits = append(d.edits, edits...)
		d.changed = append(d.changed, e.place())
	}
	d.servers = append(d.servers, s)
}

// placeKey returns the keys that lead to an entry as one text, for a map.
func placeKey(place []string) string { return strings.Join(place, "\x00") }

// originals returns the original texts of the wrapped entries that can be restored exactly, by the key of their place. Those are the entries
// whose text equals that which wrapping the backup gives. The map is empty if backup is nil or invalid.
func (d *document) originals(backup []byte) map[string][]byte {
	was := map[string][]byte{}
	if backup == nil {
		return was
	}
	now := map[string][]byte{}
	for _, e := range d.entries {
		if e.isWrapped() && e.text() != nil {
			now[placeKey(e.place())] = e.text()
		}
	}
	old, err := parse(d.path, backup, d.agents)
	if err != nil {
		return was
	}
	for _, o := range guessOptions(d.path, d.data, d.agents) {
		change, err := Plan(d.path, backup, o)
		if err != nil {
			continue
		}
		made, err := parse(d.path, change.After, d.agents)
		if err != nil {
			continue
		}
		for _, e := range made.entries {
			if text, ok := now[placeKey(e.place())]; ok && bytes.Equal(text, e.text()) {
				for _, o := range old.entries {
					if placeKey(o.place()) == placeKey(e.place()) {
						was[placeKey(o.place())] = o.text()
					}
				}
			}
		}
	}
	return was
}

// splice returns the file's bytes with d.edits applied, in the order of their places; it is an error if edits overlap.
func (d *document) splice() ([]byte, error) {
	sorting.StableBy(d.edits, func(a, b rawjson.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return rawjson.Splice(d.data, d.edits)
}

// checkOnlyEntriesChanged returns an error if after, the edited file, is invalid or differs from the file in more than the edited entries.
func (d *document) checkOnlyEntriesChanged(after []byte) error {
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
		blankOut(before, place)
		blankOut(now, place)
	}
	if !equalValues(before, now) {
		return broken
	}
	return nil
}

// blankOut replaces the value at a place by a constant, so that two files can be compared without it. If there is no value, it does nothing.
func blankOut(in map[string]any, place []string) {
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

// lineOf returns the number of the line, from 1, that contains an offset.
func lineOf(data []byte, at int) int { return bytes.Count(data[:min(at, len(data))], []byte{'\n'}) + 1 }

// insertFront returns the edit that inserts strings at the beginning of an array, in the array's style: on lines of their own if its elements
// are. open is the offset just after the opening bracket, n the number of elements that the array has.
func insertFront(data []byte, open, n int, values []string, quote func(string) []byte) rawjson.Edit {
	space := open
	for space < len(data) && bytes.IndexByte([]byte(" \t\r\n"), data[space]) >= 0 {
		space++
	}
	before := string(data[open:space])
	var b []byte
	for i, v := range values {
		switch {
		case before != "":
			b = append(b, before...)
		case i > 0:
			b = append(b, ' ')
		}
		b = append(b, quote(v)...)
		if i < len(values)-1 || n > 0 {
			b = append(b, ',')
		}
	}
	if before == "" && n > 0 {
		b = append(b, ' ')
	}
	return rawjson.Edit{Span: span{Start: open, End: open}, With: b}
}

// removeFront returns the edit that removes the first n strings of an array, as insertFront has inserted them. open is the offset just
// after the opening bracket, places are the spans of all elements.
func removeFront(data []byte, open int, places []span, n int) rawjson.Edit {
	end := places[n-1].End
	if len(places) > n {
		for end < places[n].Start && data[end] != ',' {
			end++
		}
		end++
		if places[0].Start == open && end < places[n].Start && data[end] == ' ' {
			end++
		}
	} else { // a comma behind the last one must go too
		comma := end
		for comma < len(data) && bytes.IndexByte([]byte(" \t\r\n"), data[comma]) >= 0 {
			comma++
		}
		if comma < len(data) && data[comma] == ',' {
			end = comma + 1
		}
	}
	return rawjson.Edit{Span: span{Start: open, End: end}}
}
