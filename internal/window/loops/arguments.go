package loops

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// digestCall returns the record of a call: digests of the call with and without its result, its name, and its nature.
func digestCall(c Call) seenCall {
	h := sha256.New()
	writeField(h, c.Name)
	writeCanonical(h, c.Arguments)
	s := seenCall{call: digest(h.Sum(nil)[:16]), name: clipName(c.Name), nature: natureOf(c.Name, c.Arguments), failed: c.Failed}
	var result [9]byte
	binary.LittleEndian.PutUint64(result[:], c.Result)
	if c.Failed {
		result[8] = 1
	}
	h.Write(result[:])
	s.what = digest(h.Sum(nil)[:16])
	return s
}

// digestOf returns the digest of a list of texts.
func digestOf(texts ...string) digest {
	h := sha256.New()
	for _, t := range texts {
		writeField(h, t)
	}
	return digest(h.Sum(nil)[:16])
}

// writeField writes a text with its length to a hash, so that lists with other borders between the texts get other hashes.
func writeField(h hash.Hash, text string) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(len(text)))
	h.Write(b[:])
	_, _ = io.WriteString(h, text)
}

// writeCanonical writes a call's arguments to a hash in one form: JSON without white space, keys in order, numbers in one notation. No
// arguments, null and {} are the same. Text that is not JSON, or too large, is written as it is.
func writeCanonical(h hash.Hash, arguments string) {
	text := strings.TrimSpace(arguments)
	if text == "" || text == "null" {
		text = "{}"
	}
	var v any
	if len(text) <= int(MaxArguments) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&v) == nil {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				writeValue(h, v)
				return
			}
		}
	}
	writeField(h, "text")
	writeField(h, text)
}

// writeValue writes a decoded JSON value to a hash. The decoder has bounded the nesting.
func writeValue(h hash.Hash, v any) {
	switch v := v.(type) {
	case map[string]any:
		writeField(h, "object"+strconv.Itoa(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			writeField(h, k)
			writeValue(h, v[k])
		}
	case []any:
		writeField(h, "array"+strconv.Itoa(len(v)))
		for _, e := range v {
			writeValue(h, e)
		}
	case string:
		writeField(h, "string")
		writeField(h, v)
	case json.Number:
		writeField(h, "number")
		writeField(h, canonicalNumber(v.String()))
	case bool:
		writeField(h, strconv.FormatBool(v))
	default:
		writeField(h, "null")
	}
}

// canonicalNumber returns a number in one notation, whether it was written 1, 1.0 or 1e0. A number that a float64 would round stays as it
// is.
func canonicalNumber(text string) string {
	const most = 40 // digits; more is no count, page or limit
	if len(text) > most {
		return text
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Abs(f) > 1e18 || f != 0 && math.Abs(f) < 1e-18 {
		return text
	}
	if exact, ok := new(big.Rat).SetString(text); ok {
		return exact.RatString()
	}
	return text
}
