package extract

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// A value is one of a call's arguments, or all of them: an object or array has members, any other value a text.
type value struct {
	key     string // name of the member as it is written; "" for an element of an array
	text    string
	object  bool
	array   bool
	members []value
}

const (
	// maxDepth and maxValues bound what is read of one call's arguments; what is beyond them is
	// not looked into.
	maxDepth  = 8
	maxValues = 4096
)

// parseArguments parses the arguments of a call. Text that is not JSON becomes one text value: some tools take free input.
func parseArguments(text string) value {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' {
		return value{text: text}
	}
	p := argumentParser{s: rawjson.Scanner{Text: []byte(trimmed)}}
	v := p.readValue(0)
	if p.s.Err != nil && len(v.members) == 0 {
		return value{text: text}
	}
	return v
}

type argumentParser struct {
	s     rawjson.Scanner
	count int
	inner bool // reading JSON that stood in a text
}

// readValue reads the next value. Values that are nested too deep or too many are skipped.
func (p *argumentParser) readValue(depth int) (v value) {
	p.count++
	c := p.s.Peek()
	if depth >= maxDepth || p.count > maxValues {
		p.s.Skip()
		return v
	}
	switch c {
	case '{':
		v.object = true
		p.s.Begin('{', "no object")
		for p.s.More('}') {
			name := p.s.Name()
			if p.s.Err != nil {
				break
			}
			key := string(rawjson.Unquote(nil, name.Of(p.s.Text)))
			if m := p.readValue(depth + 1); p.count <= maxValues {
				m.key = key
				v.members = append(v.members, m)
			}
		}
	case '[':
		v.array = true
		p.s.Begin('[', "no array")
		for p.s.More(']') {
			if m := p.readValue(depth + 1); p.count <= maxValues {
				v.members = append(v.members, m)
			}
		}
	case '"':
		span := p.s.String()
		if p.s.Err != nil {
			break
		}
		v.text = strings.ToValidUTF8(string(rawjson.Unquote(nil, span.Of(p.s.Text))), "\uFFFD")
		if !p.inner {
			v = p.readNested(v, depth)
		}
	default:
		span := p.s.Skip()
		if p.s.Err == nil {
			v.text = string(span.Of(p.s.Text))
		}
	}
	return v
}

// readNested returns v, or, if its text is itself a JSON list or object, that value with the text: some tools take arguments in this form.
func (p *argumentParser) readNested(v value, depth int) value {
	text := strings.TrimSpace(v.text)
	if !strings.HasPrefix(text, "[{") && !strings.HasPrefix(text, "[\"") && !strings.HasPrefix(text, "{\"") {
		return v
	}
	in := argumentParser{s: rawjson.Scanner{Text: []byte(text)}, count: p.count, inner: true}
	read := in.readValue(depth)
	p.count = in.count
	if in.s.Peek(); in.s.Err != nil || in.s.At < len(in.s.Text) {
		return v
	}
	read.text = v.text
	return read
}

// isPlain reports whether a value is neither an object nor an array.
func (v *value) isPlain() bool { return !v.object && !v.array }

// forPlainValues calls f for v if it is plain, else for each plain value in it, with its key; an element of an array has the array's key.
func (v *value) forPlainValues(f func(text string, key string)) {
	if v.isPlain() {
		f(v.text, v.key)
		return
	}
	for i := range v.members {
		m := &v.members[i]
		if m.isPlain() && m.key == "" {
			f(m.text, v.key)
			continue
		}
		m.forPlainValues(f)
	}
}

// plainKey returns a key in lower case without separators: filePath, file_path and file-path are one. For a key over 64 bytes it returns
// "".
func plainKey(key string) string {
	if len(key) > 64 {
		return ""
	}
	b := make([]byte, 0, len(key))
	for i := range len(key) {
		c := key[i]
		switch {
		case c == '_' || c == '-' || c == ' ' || c == '.':
			continue
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return string(b)
}

// wordsOf returns the words of a name in lower case: "str_replace_editor", "applyPatch" and "fs.write" have several.
func wordsOf(name string) (words []string) {
	name = name[:min(len(name), 96)]
	from := 0
	cut := func(to int) {
		if to > from {
			words = append(words, strings.ToLower(name[from:to]))
		}
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-' || c == '.' || c == ' ' || c == '/' || c == ':':
			cut(i)
			from = i + 1
		case c >= 'A' && c <= 'Z' && i > from && name[i-1] >= 'a' && name[i-1] <= 'z':
			cut(i)
			from = i
		}
	}
	cut(len(name))
	return words
}
