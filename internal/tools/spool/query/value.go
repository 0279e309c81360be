package query

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// maxNames bounds the different object keys that are stored once for all objects.
const maxNames = 4096

// decode returns the interpreter's value of a JSON document. It takes about half the memory of encoding/json: keys are stored once, arrays
// have their final size. Integers that fit become ints, every other number keeps its text.
func decode(document []byte) (any, error) {
	if !json.Valid(document) {
		return nil, errorf(Document, "the result is not valid JSON: use result_search or result_page")
	}
	b := builder{text: document, names: make(map[string]string)}
	return b.parseValue(), nil
}

// sequence returns the values of JSON texts that follow one another; ok is false if one is not JSON.
func sequence(document []byte) (values []any, ok bool) {
	for at := 0; at < len(document); {
		v, err := rawjson.Value(document, at)
		if err != nil || v.End == at {
			return nil, false
		}
		value, err := decode(v.Of(document))
		if err != nil {
			return nil, false
		}
		values = append(values, value)
		for at = v.End; at < len(document) && strings.IndexByte(" \t\r\n", document[at]) >= 0; at++ {
		}
	}
	return values, true
}

// builder makes a value of a text that is known to be valid JSON.
type builder struct {
	text  []byte
	at    int
	names map[string]string
	depth int
}

// peek skips white space and returns the next byte without skipping it.
func (b *builder) peek() byte {
	for {
		switch c := b.text[b.at]; c {
		case ' ', '\t', '\n', '\r':
			b.at++
		default:
			return c
		}
	}
}

// parseValue builds the value at the present position; numbers that are not an int stay as they are written.
func (b *builder) parseValue() any {
	switch c := b.peek(); c {
	case '{':
		return b.parseObject()
	case '[':
		return b.parseArray()
	case '"':
		return b.parseString()
	case 't':
		b.at += len("true")
		return true
	case 'f':
		b.at += len("false")
		return false
	case 'n':
		b.at += len("null")
		return nil
	}
	start := b.at
	for b.at < len(b.text) && strings.IndexByte("+-.0123456789eE", b.text[b.at]) >= 0 {
		b.at++
	}
	literal := string(b.text[start:b.at])
	if n, err := strconv.Atoi(literal); err == nil && literal != "-0" {
		return n
	}
	return json.Number(literal)
}

// parseObject parses the object at b.at, which must be valid JSON, and moves behind it.
func (b *builder) parseObject() any {
	members := map[string]any{}
	b.at++
	b.depth++
	for b.peek() != '}' {
		if b.text[b.at] == ',' {
			b.at++
			b.peek()
		}
		key := b.parseName()
		b.peek()
		b.at++ // the colon
		members[key] = b.parseValue()
	}
	b.depth--
	b.at++
	return members
}

// parseArray parses the array at b.at, which must be valid JSON, and moves behind it.
func (b *builder) parseArray() any {
	// Counting the elements first costs a walk over them, so it is done near the top only,
	// where the long arrays are.
	n := 0
	if b.depth < 3 {
		for range rawjson.Elements(b.text, b.at) {
			n++
		}
	}
	elements := make([]any, 0, n)
	b.at++
	b.depth++
	for b.peek() != ']' {
		if b.text[b.at] == ',' {
			b.at++
		}
		elements = append(elements, b.parseValue())
	}
	b.depth--
	b.at++
	return elements
}

// skipString skips a string and returns it with its quotes.
func (b *builder) skipString() []byte {
	start := b.at
	for b.at++; b.text[b.at] != '"'; b.at++ {
		if b.text[b.at] == '\\' {
			b.at++
		}
	}
	b.at++
	return b.text[start:b.at]
}

// parseString builds a string; its memory may be that of the document.
func (b *builder) parseString() string {
	literal := b.skipString()
	inside := literal[1 : len(literal)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return text(inside)
	}
	return text(rawjson.Unquote(nil, literal))
}

// parseName builds the name of a member; equal names share their memory, up to maxNames of them.
func (b *builder) parseName() string {
	literal := b.skipString()
	if name, ok := b.names[string(literal)]; ok {
		return name
	}
	b.at -= len(literal)
	name := b.parseString()
	if len(b.names) < maxNames {
		b.names[string(literal)] = name
	}
	return name
}

// text returns a string of the bytes, in which each byte that is not UTF-8 is replaced by U+FFFD.
func text(raw []byte) string {
	if utf8.Valid(raw) {
		return string(raw)
	}
	return string([]rune(string(raw)))
}
