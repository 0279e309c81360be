package gateway

import (
	"bytes"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// maxComparedDepth bounds the nesting of values that are compared; a value nested deeper is equal to nothing.
const maxComparedDepth = 64

// canonical appends the canonical form of a raw JSON value: no white space, members sorted by name. ok is false for invalid JSON, for
// nesting beyond maxComparedDepth, and for an object with two members of one name, which decoders understand differently.
func canonical(dst, raw []byte, depth int) ([]byte, bool) {
	raw = bytes.TrimSpace(raw)
	if depth > maxComparedDepth || len(raw) == 0 {
		return dst, false
	}
	switch raw[0] {
	case '"':
		return rawjson.Quote(dst, rawjson.Unquote(nil, raw)), true
	case '[':
		dst = append(dst, '[')
		for v, err := range rawjson.Elements(raw, 0) {
			if err != nil {
				return dst, false
			}
			var ok bool
			if dst, ok = canonical(dst, v.Of(raw), depth+1); !ok {
				return dst, false
			}
			dst = append(dst, ',')
		}
		return append(dst, ']'), true
	case '{':
		return canonicalObject(dst, raw, depth)
	}
	return append(dst, raw...), true
}

func canonicalObject(dst, raw []byte, depth int) ([]byte, bool) {
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for m, err := range rawjson.Members(raw, 0) {
		if err != nil {
			return dst, false
		}
		members = append(members, member{string(m.Key), m.Value.Of(raw)})
	}
	sorting.By(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 && members[i-1].key == m.key {
			return dst, false
		}
		dst = append(rawjson.Quote(dst, m.key), ':')
		var ok bool
		if dst, ok = canonical(dst, m.value, depth+1); !ok {
			return dst, false
		}
		dst = append(dst, ',')
	}
	return append(dst, '}'), true
}
