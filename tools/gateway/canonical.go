package gateway

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Bounds of arguments that are compared; beyond them a call is never identical to another.
const (
	maxCompared      = 64 << 10
	maxComparedDepth = 64
)

// digest is what tells calls apart: the tool, its arguments, who asks.
type digest [sha256.Size]byte

// callDigest compares calls by what they say and not by how it is written: white space,
// the order of members and the escapes of strings do not count, numbers count as they are
// written. Everything in params but _meta is compared, so also what a retried call says.
func callDigest(principal string, params []byte) (digest, bool) {
	if len(params) > maxCompared {
		return digest{}, false
	}
	kept, err := rawjson.Remove(params, "_meta")
	if err != nil {
		return digest{}, false
	}
	b := append(rawjson.Quote(nil, principal), '\n')
	b, ok := canonical(b, kept, 0)
	if !ok {
		return digest{}, false
	}
	return sha256.Sum256(b), true
}

// canonical appends the one form of a raw value. It is false for what is no JSON, too deep,
// or an object with two members of one name, which decoders understand differently.
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
