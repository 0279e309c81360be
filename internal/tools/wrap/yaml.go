package wrap

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// maxYAML is the size of the largest YAML file that is read, in bytes: its tree takes many times as much memory.
const maxYAML = 1 << 20

// yamlFormat is YAML, for Goose, Continue and Hermes.
type yamlFormat struct{}

// read returns lists below the top level as objects, with their indices as keys: see numbered.
func (yamlFormat) read(data []byte) (map[string]any, error) {
	root, err := yamlRoot(data)
	if err != nil {
		return nil, err
	}
	value, _ := yamlValue(root).(map[string]any)
	for key, v := range value {
		value[key] = numbered(v)
	}
	return value, nil
}

// numbered returns a list as an object with its indices as keys, so that servers in lists have a place too; other values are unchanged.
func numbered(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	byIndex := map[string]any{}
	for i, v := range list {
		byIndex[strconv.Itoa(i)] = v
	}
	return byIndex
}

// yamlValue returns the value of a node without its position. An alias is kept as one: it is compared, never followed.
func yamlValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = yamlValue(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			list = append(list, yamlValue(c))
		}
		return list
	case yaml.AliasNode:
		return []any{"alias", n.Value}
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		var v bool
		if n.Decode(&v) == nil {
			return v
		}
	case "!!int", "!!float":
		return json.Number(n.Value)
	}
	return []any{n.ShortTag(), n.Value}
}

// fault is the error for a YAML file that is refused, with its line.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

// yamlLine matches the line number in an error of the parser.
var yamlLine = lazy.Regexp(`line (\d+)`)

// yamlRoot returns the root of a file with one YAML document. It refuses text in which positions would be wrong, and text that clients read
// differently.
func yamlRoot(data []byte) (*yaml.Node, error) {
	if len(data) > maxYAML {
		return nil, &fault{text: "the file is larger than 1 MiB: is it a configuration file?"}
	}
	body := bytes.TrimPrefix(data, mark)
	for i := 0; i < len(body); {
		r, n := utf8.DecodeRune(body[i:])
		switch {
		case r == utf8.RuneError && n == 1, r == 0:
			return nil, &fault{lineOf(body, i), "not UTF-8: save it as UTF-8 and try again"}
		case r == '\r' && (i+1 >= len(body) || body[i+1] != '\n'), r == 0x85, r == 0x2028, r == 0x2029, r == 0xfeff:
			return nil, &fault{lineOf(body, i), fmt.Sprintf("it has the character U+%04X, which not all take for the end of a line: take it out and try again", r)}
		}
		i += n
	}
	dec := yaml.NewDecoder(bytes.NewReader(body))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&more); err == nil {
			return nil, &fault{more.Line, "a second document begins here, and clients read the first only: make it one document"}
		}
	}
	if !errors.Is(err, io.EOF) {
		f := &fault{text: "not valid YAML (" + err.Error() + "): correct it and try again"}
		if m := yamlLine().FindStringSubmatch(err.Error()); m != nil {
			f.line, _ = strconv.Atoi(m[1])
		}
		return nil, f
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, &fault{1, "the file holds no YAML mapping, so no servers: which file does the client read?"}
	}
	return doc.Content[0], checkDuplicateKeys(doc.Content[0])
}

// checkDuplicateKeys returns an error for a key that is there twice or is not plain text, which clients could read differently.
func checkDuplicateKeys(n *yaml.Node) error {
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind == yaml.AliasNode || k.Kind != yaml.ScalarNode {
				return &fault{k.Line, "a key here is no plain text, which is not understood"}
			}
			if seen[k.Value] {
				return &fault{k.Line, "the key " + strconv.Quote(k.Value) + " stands here a second time: take one of the two out"}
			}
			seen[k.Value] = true
		}
	}
	for _, c := range n.Content {
		if err := checkDuplicateKeys(c); err != nil {
			return err
		}
	}
	return nil
}

// checkReferences returns an error for anchors, aliases, merges and tags: an edit could change something elsewhere.
func checkReferences(n *yaml.Node) error {
	switch {
	case n.Anchor != "" || n.Kind == yaml.AliasNode:
		return &fault{n.Line, "an anchor or alias (& or *) among the servers is not rewritten: write the values out"}
	case n.ShortTag() == "!!merge":
		return &fault{n.Line, "a merge (<<) among the servers is not rewritten: write the values out"}
	case n.Style&yaml.TaggedStyle != 0:
		return &fault{n.Line, "a tag (" + n.Tag + ") among the servers is not rewritten: take it out"}
	}
	for _, c := range n.Content {
		if err := checkReferences(c); err != nil {
			return err
		}
	}
	return nil
}

// goose is the name of the client that has its own keys for the parts of a server.
const goose = "Goose"

// yamlSections are the keys under which servers are: Goose has extensions, Hermes mcp_servers, Continue a list mcpServers; with each
// client's key for the command.
var yamlSections = []struct{ key, client, command string }{
	{"extensions", goose, "cmd"},
	{table, "Hermes", "command"},
	{"mcpServers", "Continue", "command"},
}

// parseYAML finds the servers of Goose, Hermes and Continue in a file. Those that are built into Goose are passed over.
func parseYAML(path string, data []byte) (*document, error) {
	d := &document{path: path, data: data, format: yamlFormat{}}
	refused := func(err error) (*document, error) {
		if f, ok := errors.AsType[*fault](err); ok {
			return nil, &Error{Path: path, Line: f.line, Text: f.text}
		}
		return nil, err
	}
	root, err := yamlRoot(data)
	if err != nil {
		return refused(err)
	}
	known := false
	for _, s := range yamlSections {
		section := yamlGet(root, s.key).value
		if section == nil {
			continue
		}
		known = true
		if err := checkReferences(section); err != nil {
			return refused(err)
		}
		for i, n := range section.Content {
			e := &yamlEntry{d: d, client: s.client, key: s.command, node: n, line: n.Line}
			switch {
			case section.Kind == yaml.SequenceNode:
				e.path = []string{s.key, strconv.Itoa(i)}
				if name := yamlGet(n, "name").value; name != nil {
					e.name = name.Value
				}
			case i%2 == 0:
				continue
			default:
				e.name, e.line = section.Content[i-1].Value, section.Content[i-1].Line
				e.path = []string{s.key, e.name}
			}
			if n.Kind != yaml.MappingNode || s.key == "extensions" && isBuiltIn(n) {
				continue
			}
			d.entries = append(d.entries, e)
		}
	}
	if !known {
		return nil, &Error{Path: path, Text: "there are no MCP servers in this file: looked for extensions (Goose), mcp_servers (Hermes) and mcpServers (Continue)"}
	}
	return d, nil
}

// isBuiltIn reports whether an extension of Goose is not an MCP server but built into Goose.
func isBuiltIn(n *yaml.Node) bool {
	kind := yamlGet(n, "type").value
	return kind != nil && kind.Value != "stdio" && kind.Value != "streamable_http" && kind.Value != "sse"
}

// pair is a key of a mapping and its value; both nil if there is none.
type pair struct{ key, value *yaml.Node }

// yamlGet returns the member with this key, as its two nodes; both are nil if n is not a mapping or has no such key.
func yamlGet(n *yaml.Node, key string) pair {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return pair{n.Content[i], n.Content[i+1]}
			}
		}
	}
	return pair{}
}

// quoteYAML returns a double-quoted YAML text: with JSON's escapes, and with escapes for the characters that YAML does not allow.
func quoteYAML(s string) []byte {
	var b []byte
	for _, r := range string(quote(s)) {
		if r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			b = fmt.Appendf(b, `\u%04X`, r)
			continue
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

// bareYAML matches texts that need no quotes in any place.
var bareYAML = lazy.Regexp(`^[A-Za-z/][A-Za-z0-9_./@+-]*$`)

// textYAML returns a text as people write it: without quotes if it is read back as the same text.
func textYAML(s string) []byte {
	var v any
	if bareYAML().MatchString(s) && yaml.Unmarshal([]byte(s), &v) == nil && v == any(s) {
		return []byte(s)
	}
	return quoteYAML(s)
}
