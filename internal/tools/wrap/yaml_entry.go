package wrap

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// yamlEntry is a server in a YAML file.
type yamlEntry struct {
	d            *document
	name, client string
	key          string // the key of its command
	node         *yaml.Node
	path         []string
	line         int
}

func (e *yamlEntry) server() Server {
	s := Server{Name: e.name, Client: e.client, Line: e.line}
	if s.Name == "" {
		s.Name = "mcp"
	}
	return s
}

func (e *yamlEntry) place() []string { return e.path }

// text returns nil: it is not known exactly where an entry ends.
func (e *yamlEntry) text() []byte { return nil }

// command implements entry; ok is false if the value is not a string.
func (e *yamlEntry) command() (string, bool) {
	n := yamlGet(e.node, e.key).value
	if n == nil || n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		return "", false
	}
	return n.Value, true
}

// arguments returns nil if args is not a list of scalars.
func (e *yamlEntry) arguments() (out []string) {
	args := yamlGet(e.node, "args").value
	if args == nil || args.Kind != yaml.SequenceNode {
		return nil
	}
	for _, n := range args.Content {
		if n.Kind != yaml.ScalarNode {
			return nil
		}
		out = append(out, n.Value)
	}
	return out
}

// isWrapped reports whether the entry has a command whose arguments are those that wrapping writes.
func (e *yamlEntry) isWrapped() bool {
	if _, ok := e.command(); !ok {
		return false
	}
	_, ok := wrappedFrom(e.arguments())
	return ok
}

// offset returns the offset of a node in the file, in bytes. It has to be found, as the parser counts lines and characters.
func (e *yamlEntry) offset(n *yaml.Node) int {
	at := 0
	if bytes.HasPrefix(e.d.data, mark) {
		at = len(mark)
	}
	for range n.Line - 1 {
		at += bytes.IndexByte(e.d.data[at:], '\n') + 1
	}
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(e.d.data[at:])
		at += size
	}
	return at
}

// span returns the place of a text that is on one line; ok is false for any other form.
func (e *yamlEntry) span(n *yaml.Node) (at span, ok bool) {
	start := e.offset(n)
	rest := e.d.data[start:]
	length := 0
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for length = 1; length < len(rest) && rest[length] != '"'; length++ {
			if rest[length] == '\\' {
				length++
			}
		}
		length++
	case n.Style&yaml.SingleQuotedStyle != 0:
		for length = 1; length < len(rest); length++ {
			if rest[length] == '\'' {
				if length+1 >= len(rest) || rest[length+1] != '\'' {
					break
				}
				length++
			}
		}
		length++
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 || !bytes.HasPrefix(rest, []byte(n.Value)):
		return span{}, false
	default:
		length = len(n.Value)
	}
	if length > len(rest) || bytes.IndexByte(rest[:length], '\n') >= 0 {
		return span{}, false
	}
	return span{Start: start, End: start + length}, true
}

// indent returns the white space before an offset on its line, with spaces for the dashes of lists; ok is false if there is anything else.
func (e *yamlEntry) indent(at int) (string, bool) {
	begin := bytes.LastIndexByte(e.d.data[:at], '\n') + 1
	before := strings.TrimPrefix(string(e.d.data[begin:at]), string(mark))
	return strings.ReplaceAll(before, "-", " "), strings.Trim(before, " -") == ""
}

// newline returns the line ending of the file.
func (e *yamlEntry) newline() string {
	if bytes.Contains(e.d.data, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// separator returns the text between two members of the entry, for inserting one at an offset; ok is false if it is not known.
func (e *yamlEntry) separator(at int) (string, bool) {
	if e.node.Style&yaml.FlowStyle != 0 {
		return ", ", true
	}
	indent, ok := e.indent(at)
	return e.newline() + indent, ok
}

// wrap leaves an entry whose command or arguments are in a form that it cannot edit on the spot.
func (e *yamlEntry) wrap(o Options) ([]rawjson.Edit, string) {
	at := yamlGet(e.node, e.key)
	if at.value == nil {
		for _, key := range []string{"url", "uri"} {
			if url := yamlGet(e.node, key); url.value != nil {
				return e.wrapRemote(o, url)
			}
		}
		return nil, whyNo
	}
	command, ok := e.command()
	if !ok {
		return nil, whyNoText
	}
	if command == "" {
		return nil, whyNo
	}
	value, ok1 := e.span(at.value)
	key, ok2 := e.span(at.key)
	// An explicit key ("? command") has no colon behind it.
	if !ok1 || !ok2 || key.End > value.Start || strings.Trim(string(e.d.data[key.End:value.Start]), " \t") != ":" {
		return nil, whyForm
	}
	edit := rawjson.Edit{Span: value, With: quoteYAML(o.command())}
	front := append(o.argsBefore(e.server().Name), "--", command)
	args := yamlGet(e.node, "args").value
	if args == nil {
		between, ok := e.separator(key.Start)
		if !ok {
			return nil, whyForm
		}
		list := append([]byte("args: "), yamlArray(front)...)
		return []rawjson.Edit{{Span: span{Start: key.Start, End: key.Start}, With: append(list, between...)}, edit}, ""
	}
	places, why := e.places(args)
	if why != "" {
		return nil, why
	}
	if args.Style&yaml.FlowStyle != 0 {
		return []rawjson.Edit{edit, insertFront(e.d.data, e.offset(args)+1, len(places), front, quoteYAML)}, ""
	}
	first := places[0]
	indent, _ := e.indent(first)
	var b []byte
	for _, v := range front {
		b = append(append(append(b, "- "...), quoteYAML(v)...), e.newline()+indent...)
	}
	return []rawjson.Edit{edit, {Span: span{Start: first, End: first}, With: b}}, ""
}

func yamlArray(values []string) []byte {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, quoteYAML(v)...)
	}
	return append(b, ']')
}

// places returns the offsets at which the elements of a list begin: in a list with dashes, those of the dashes. why is the reason if they
// cannot be found; it is "" otherwise.
func (e *yamlEntry) places(args *yaml.Node) (places []int, why string) {
	if args.Kind != yaml.SequenceNode || args.Style&yaml.FlowStyle == 0 && len(args.Content) == 0 {
		return nil, "its args are no list"
	}
	for _, n := range args.Content {
		if n.Kind != yaml.ScalarNode {
			return nil, "an argument of it is no text"
		}
		at := e.offset(n)
		if args.Style&yaml.FlowStyle != 0 {
			places = append(places, at)
			continue
		}
		line := strings.TrimRight(string(e.d.data[:at]), " ")
		dash := len(line) - 1
		if dash < 0 || line[dash] != '-' {
			return nil, whyForm
		}
		if before, ok := e.indent(dash); !ok || strings.Contains(string(e.d.data[dash-len(before):dash]), "-") {
			return nil, whyForm
		}
		places = append(places, dash)
	}
	return places, ""
}

// unwrap ignores the original text, and removes what wrapping inserts.
func (e *yamlEntry) unwrap([]byte) ([]rawjson.Edit, string) {
	at, list := yamlGet(e.node, e.key), yamlGet(e.node, "args")
	values := e.arguments()
	from, _ := wrappedFrom(values)
	if from < 0 {
		return e.unwrapRemote()
	}
	places, why := e.places(list.value)
	value, ok1 := e.span(at.value)
	key, ok2 := e.span(at.key)
	name, ok3 := e.span(list.key)
	if why != "" || !ok1 || !ok2 || !ok3 {
		return nil, whyForm
	}
	edit := rawjson.Edit{Span: value, With: textYAML(values[from])}
	whole := len(values) == from+1
	if list.value.Style&yaml.FlowStyle == 0 {
		if whole {
			return nil, whyForm // wrapping does not write it like this
		}
		return []rawjson.Edit{edit, {Span: span{Start: places[0], End: places[from+1]}}}, ""
	}
	open := e.offset(list.value)
	var spans []span
	for _, n := range list.value.Content {
		s, ok := e.span(n)
		if !ok {
			return nil, whyForm
		}
		spans = append(spans, s)
	}
	// A list that wrapping has added is removed as a whole.
	if between, ok := e.separator(name.Start); ok && whole && key.Start > open {
		made := "args: " + string(yamlArray(values)) + between
		if string(e.d.data[name.Start:key.Start]) == made {
			return []rawjson.Edit{{Span: span{Start: name.Start, End: key.Start}}, edit}, ""
		}
	}
	return []rawjson.Edit{edit, removeFront(e.d.data, open+1, spans, from+1)}, ""
}
