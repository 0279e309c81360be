package wrap

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/pelletier/go-toml/v2"
)

// tomlFormat is TOML, for Codex and Mistral Vibe.
type tomlFormat struct{}

// read parses a TOML file, with or without a byte order mark. The servers in the array [[mcp_servers]] get numbers as their names.
func (tomlFormat) read(data []byte) (map[string]any, error) {
	value := map[string]any{}
	err := toml.Unmarshal(bytes.TrimPrefix(data, mark), &value)
	if servers, ok := value[table]; ok {
		value[table] = numbered(servers)
	}
	return value, err
}

// table is the key of Codex's table of servers, and of Vibe's array of servers.
const table = "mcp_servers"

// parseTOML finds the servers of Codex and of Vibe in a file.
func parseTOML(path string, data []byte) (*document, error) {
	d := &document{path: path, data: data, format: tomlFormat{}}
	if _, err := d.format.read(data); err != nil {
		e := &Error{Path: path, Text: "this is not valid TOML: correct it and try again"}
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			e.Line, _ = at.Position()
			e.Text = "not valid TOML (" + at.Error() + "): correct it and try again"
		}
		return nil, e
	}
	s := tomlScan{b: data, known: map[string]*tomlEntry{}, d: d}
	if bytes.HasPrefix(data, mark) {
		s.i = len(mark)
	}
	if !s.scanFile() {
		return nil, &Error{Path: path, Line: lineOf(data, s.i), Text: "this form of TOML is not understood: write the servers as [mcp_servers.NAME] tables, or for Vibe as [[mcp_servers]]"}
	}
	for _, e := range s.entries {
		d.entries = append(d.entries, e)
	}
	return d, nil
}

// assignment is `key = value` with its place in the file.
type assignment struct {
	path   []string // all keys that lead to the value
	keys   []span   // the places of those that the assignment itself has, the last of path
	value  span
	inline bool // the assignment is in an inline table
	table  bool // the value is an inline table
}

// whole returns the place of the key and the value.
func (a assignment) whole() span { return span{Start: a.keys[0].Start, End: a.value.End} }

// heading is a line like `[a.b]`.
type heading struct {
	path []string
	keys []span
}

// tomlScan reads a text that is known to be valid TOML and collects the parts of servers.
type tomlScan struct {
	b       []byte
	i       int
	depth   int
	entries []*tomlEntry
	known   map[string]*tomlEntry
	d       *document
	servers int // elements of the array of servers so far
}

// entryFor returns the entry that a path of keys belongs to, and adds a new one if it is not known; nil if the path is not that of a server.
// at is the offset of the path in the file.
func (s *tomlScan) entryFor(path []string, at int) *tomlEntry {
	if len(path) < 2 || path[0] != table {
		return nil
	}
	e := s.known[path[1]]
	if e == nil {
		e = &tomlEntry{d: s.d, key: path[1], start: at, listed: s.servers > 0}
		s.known[path[1]] = e
		s.entries = append(s.entries, e)
	}
	return e
}

// scanFile collects the entries of the whole file; it returns false at a form that is not understood, and s.i is its place.
func (s *tomlScan) scanFile() bool {
	var prefix []string
	for {
		s.skip()
		if s.i >= len(s.b) {
			return true
		}
		if s.b[s.i] != '[' {
			if !s.scanAssignment(prefix, false) {
				return false
			}
			continue
		}
		start := s.i
		brackets := 1
		if s.i++; s.isAt('[') {
			brackets, s.i = 2, s.i+1
		}
		keys, path, ok := s.key()
		if !ok {
			return false
		}
		for range brackets {
			if s.skipBlanks(); !s.isAt(']') {
				return false
			}
			s.i++
		}
		inList := len(path) > 1 && path[0] == table && s.servers > 0 // of the last server
		switch {
		case brackets == 2 && len(path) == 1 && path[0] == table:
			s.servers++
			path = s.element()
		case brackets == 2:
			prefix = []string{"\x00array"} // other arrays contain no servers
			continue
		case inList:
			path = append(s.element(), path[1:]...)
		}
		prefix = path
		if e := s.entryFor(path, start); e != nil {
			e.headings = append(e.headings, heading{path, keys})
		}
	}
}

// element returns the path of the newest server in the array.
func (s *tomlScan) element() []string { return []string{table, strconv.Itoa(s.servers - 1)} }

// skip skips white space, line ends and comments.
func (s *tomlScan) skip() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		case '#':
			for s.i < len(s.b) && s.b[s.i] != '\n' {
				s.i++
			}
		default:
			return
		}
	}
}

// skipBlanks skips spaces and tabs.
func (s *tomlScan) skipBlanks() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t') {
		s.i++
	}
}

// isAt reports whether the next byte is c.
func (s *tomlScan) isAt(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }

// key reads a key of one or more segments with dots between, and returns their places and names; ok is false if there is no valid key here.
func (s *tomlScan) key() (spans []span, path []string, ok bool) {
	for {
		s.skipBlanks()
		start := s.i
		if s.isAt('"') || s.isAt('\'') {
			if !s.str() {
				return nil, nil, false
			}
		} else {
			for s.i < len(s.b) && isBareKeyByte(s.b[s.i]) {
				s.i++
			}
		}
		if s.i == start {
			return nil, nil, false
		}
		at := span{Start: start, End: s.i}
		name := string(at.Of(s.b))
		if name[0] == '"' || name[0] == '\'' {
			if name, ok = unquoteTOML(at.Of(s.b)); !ok {
				return nil, nil, false
			}
		}
		spans, path = append(spans, at), append(path, name)
		if s.skipBlanks(); !s.isAt('.') {
			return spans, path, true
		}
		s.i++
	}
}

// isBareKeyByte reports whether TOML allows c in a key without quotes.
func isBareKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// unquoteTOML returns the text of a TOML string; ok is false if raw is not a string.
func unquoteTOML(raw []byte) (string, bool) {
	var v struct{ V any }
	if toml.Unmarshal(append([]byte("V = "), raw...), &v) != nil {
		return "", false
	}
	s, ok := v.V.(string)
	return s, ok
}

// scanAssignment reads `key = value` and records it, if it belongs to a server. Like value, array and str, it returns false for a form that is
// not understood. inline says that it is in an inline table.
func (s *tomlScan) scanAssignment(prefix []string, inline bool) bool {
	keys, path, ok := s.key()
	if !ok || !s.isAt('=') {
		return false
	}
	s.i++
	s.skipBlanks()
	a := assignment{path: append(append([]string(nil), prefix...), path...), keys: keys, inline: inline, table: s.isAt('{')}
	start := s.i
	if !s.value(a.path) {
		return false
	}
	a.value = span{Start: start, End: s.i}
	if e := s.entryFor(a.path, keys[0].Start); e != nil {
		e.assignments = append(e.assignments, a)
	}
	return true
}

// value skips a value; path leads to it. Assignments in inline tables are collected.
func (s *tomlScan) value(path []string) bool {
	if s.depth++; s.depth > maxDepth {
		return false
	}
	defer func() { s.depth-- }()
	if s.i >= len(s.b) {
		return false
	}
	switch s.b[s.i] {
	case '"', '\'':
		return s.str()
	case '[':
		return s.array(path, func(span) {})
	case '{':
		s.i++
		for {
			if s.skip(); s.isAt('}') {
				s.i++
				return true
			}
			if s.isAt(',') {
				s.i++
				continue
			}
			if !s.scanAssignment(path, true) {
				return false
			}
		}
	}
	start := s.i
	for s.i < len(s.b) && bytes.IndexByte([]byte(",]}#\r\n"), s.b[s.i]) < 0 {
		s.i++
	}
	for s.i > start && (s.b[s.i-1] == ' ' || s.b[s.i-1] == '\t') {
		s.i--
	}
	return s.i > start
}

// array skips an array and calls each with the place of each element; path leads to the array.
func (s *tomlScan) array(path []string, each func(span)) bool {
	s.i++
	for {
		if s.skip(); s.isAt(']') {
			s.i++
			return true
		}
		if s.isAt(',') {
			s.i++
			continue
		}
		start := s.i
		within := []string{"\x00array"}
		if len(path) == 1 && path[0] == table {
			s.servers++
			within = s.element()
		}
		if !s.value(within) {
			return false
		}
		each(span{Start: start, End: s.i})
	}
}

// str skips a string of any of the four kinds.
func (s *tomlScan) str() bool {
	quote := s.b[s.i]
	long := []byte{quote, quote, quote}
	if bytes.HasPrefix(s.b[s.i:], long) {
		for s.i += 3; s.i < len(s.b); s.i++ {
			if s.b[s.i] == '\\' && quote == '"' {
				s.i++
				continue
			}
			if bytes.HasPrefix(s.b[s.i:], long) {
				// Up to two more may belong to the text.
				for s.i += 3; s.isAt(quote); s.i++ {
				}
				return true
			}
		}
		return false
	}
	for s.i++; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '\\':
			if quote == '"' {
				s.i++
			}
		case quote:
			s.i++
			return true
		}
	}
	return false
}

// quoteTOML returns a text as a basic string of TOML.
func quoteTOML(s string) []byte {
	return bytes.ReplaceAll(quote(s), []byte{0x7f}, []byte(`\u007F`))
}
