package wrap

import (
	"bytes"
	"slices"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// assignmentAfter returns the text of a further assignment, to be inserted behind a: on a new line, or in the same inline table.
func (e *tomlEntry) assignmentAfter(a assignment, key string, value []byte) []byte {
	start := a.keys[0].Start
	dotted := e.d.data[start:a.keys[len(a.keys)-1].Start]
	b := []byte(", ")
	if !a.inline {
		line := bytes.LastIndexByte(e.d.data[:start], '\n') + 1
		b = []byte("\n")
		if end := bytes.IndexByte(e.d.data[a.value.End:], '\n'); end > 0 && e.d.data[a.value.End+end-1] == '\r' {
			b = []byte("\r\n")
		}
		b = append(b, e.d.data[line:start]...)
	}
	return append(append(append(append(b, dotted...), key...), " = "...), value...)
}

// rename returns the edit that replaces the name at a span.
func (e *tomlEntry) rename(at span, name string) rawjson.Edit {
	return rawjson.Edit{Span: at, With: []byte(name)}
}

func tomlArray(values []string) []byte {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, quoteTOML(v)...)
	}
	return append(b, ']')
}

func tomlTable(values []header) []byte {
	b := []byte{'{'}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, ' '), tomlKey(v.name)...), " = "...)
		b = append(b, quoteTOML(v.value)...)
	}
	return append(b, " }"...)
}

// tomlKey returns a key, without quotes if that is possible.
func tomlKey(name string) []byte {
	for i := range len(name) {
		if !isBareKeyByte(name[i]) {
			return quoteTOML(name)
		}
	}
	if name == "" {
		return quoteTOML(name)
	}
	return []byte(name)
}

// renameTable returns the edits that rename a table of the entry, wherever its name is written: in headings and in dotted keys.
func (e *tomlEntry) renameTable(from, to string) (edits []rawjson.Edit) {
	name := func(path []string, keys []span) {
		if path[len(path)-1] == URLVariable {
			return // this assignment is removed as a whole
		}
		if at := 2 - (len(path) - len(keys)); len(path) > 2 && path[2] == from && at >= 0 {
			edits = append(edits, e.rename(keys[at], to))
		}
	}
	for _, a := range e.assignments {
		name(a.path, a.keys)
	}
	for _, h := range e.headings {
		name(h.path, h.keys)
	}
	return edits
}

// removeKeys returns the edits that remove the assignments and tables of the entry with these names.
func (e *tomlEntry) removeKeys(names ...string) (edits []rawjson.Edit) {
	for _, a := range e.assignments {
		if len(a.path) > 2 && slices.Contains(names, a.path[2]) && 2 >= len(a.path)-len(a.keys) {
			edits = append(edits, e.removeAssignment(a))
		} else if len(a.path) > 3 && slices.Contains(names, a.path[2]) && !a.inline {
			edits = append(edits, e.removeAssignment(a)) // its heading is removed below
		}
	}
	for _, h := range e.headings {
		if len(h.path) > 2 && slices.Contains(names, h.path[2]) {
			edits = append(edits, e.removeSpan(span{Start: h.keys[0].Start - 1, End: h.keys[len(h.keys)-1].End + 1}))
		}
	}
	return edits
}

// removeSpan returns the edit that removes a span, with its whole line if nothing else is on it.
func (e *tomlEntry) removeSpan(at span) rawjson.Edit {
	data := e.d.data
	start, end := at.Start, at.End
	for start > 0 && (data[start-1] == ' ' || data[start-1] == '\t') {
		start--
	}
	for end < len(data) && (data[end] == ' ' || data[end] == '\t' || data[end] == '\r') {
		end++
	}
	if (start == 0 || data[start-1] == '\n') && (end == len(data) || data[end] == '\n') {
		return rawjson.Edit{Span: span{Start: start, End: min(end+1, len(data))}}
	}
	return rawjson.Edit{Span: at}
}

// removeAssignment returns the edit that removes an assignment; in an inline table, one comma goes with it.
func (e *tomlEntry) removeAssignment(a assignment) rawjson.Edit {
	if !a.inline {
		return e.removeSpan(a.whole())
	}
	data, at := e.d.data, a.whole()
	for i := at.Start - 1; i >= 0; i-- {
		if data[i] == ',' {
			return rawjson.Edit{Span: span{Start: i, End: at.End}}
		}
		if data[i] != ' ' && data[i] != '\t' {
			break
		}
	}
	for i := at.End; i < len(data); i++ {
		if data[i] == ',' {
			for i++; i < len(data) && data[i] == ' '; i++ {
			}
			return rawjson.Edit{Span: span{Start: at.Start, End: i}}
		}
		if data[i] != ' ' && data[i] != '\t' {
			break
		}
	}
	return rawjson.Edit{Span: at}
}
