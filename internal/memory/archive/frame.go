package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/store"
)

// MaxLine bounds a line on disk, in bytes: a note of 100 kB whose every byte is escaped, with room for the rest.
const MaxLine = 1 << 20

// Key distinguishes lines without reading their bodies. A line that needs none has the zero key.
type Key [8]byte

// Line is one entry of a namespace.
type Line struct {
	Key Key
	// Shared is a JSON object that many lines have in common, or nil. A segment holds it once or twice, and a digest of it in each line.
	Shared []byte
	// Body is a JSON object without a line feed.
	Body []byte
}

// keyText is the length of a key in a line, in base64.
const keyText = 11

// refBytes is the number of bytes in the digest that refers to Shared: 48 bits.
const refBytes = 6

// ref is the digest of a shared text that stands in a line for the text.
type ref [refBytes]byte

// refOf returns the digest of a shared text.
func refOf(shared []byte) ref {
	sum := sha256.Sum256(shared)
	return ref(sum[:refBytes])
}

// appendLine appends a line as it stands on disk to buf. With define it writes Shared out beside its digest; otherwise the digest alone.
func appendLine(buf []byte, l Line, define bool) []byte {
	start := len(buf)
	buf = append(store.BeginLine(buf), '{')
	if l.Key != (Key{}) {
		buf = append(buf, `"k":"`...)
		buf = base64.RawURLEncoding.AppendEncode(buf, l.Key[:])
		buf = append(buf, `",`...)
	}
	if l.Shared != nil {
		buf = append(buf, `"r":"`...)
		r := refOf(l.Shared)
		buf = base64.RawURLEncoding.AppendEncode(buf, r[:])
		buf = append(buf, `",`...)
		if define {
			buf = append(buf, `"s":`...)
			buf = append(buf, l.Shared...)
			buf = append(buf, ',')
		}
	}
	buf = append(buf, `"b":`...)
	buf = append(buf, l.Body...)
	buf = append(buf, '}')
	return store.EndLine(buf, start)
}

// errText is the error of a line whose text is no entry.
var errText = errors.New("a line holds no entry")

// parsed is a line as it stands on disk.
type parsed struct {
	Line
	ref    ref
	hasRef bool // Shared is set when the line itself defines it
}

// parseText reads the JSON text of a line; what it returns points into text. It accepts only the form that [appendLine] writes.
func parseText(text []byte) (parsed, error) {
	var p parsed
	rest, ok := bytes.CutPrefix(text, []byte("{"))
	if !ok {
		return p, errText
	}
	if after, found := bytes.CutPrefix(rest, []byte(`"k":"`)); found {
		if len(after) < keyText+2 || after[keyText] != '"' || after[keyText+1] != ',' {
			return p, errText
		}
		if _, err := base64.RawURLEncoding.Decode(p.Key[:], after[:keyText]); err != nil {
			return p, errText
		}
		rest = after[keyText+2:]
	}
	if after, found := bytes.CutPrefix(rest, []byte(`"r":"`)); found {
		const refText = 8
		if len(after) < refText+2 || after[refText] != '"' || after[refText+1] != ',' {
			return p, errText
		}
		if _, err := base64.RawURLEncoding.Decode(p.ref[:], after[:refText]); err != nil {
			return p, errText
		}
		p.hasRef = true
		rest = after[refText+2:]
	}
	if bytes.HasPrefix(rest, []byte(`"s":{`)) {
		for m, err := range rawjson.Members(text, 0) {
			if err != nil {
				return p, errText
			}
			if string(m.Key) == "s" {
				p.Shared = text[m.Value.Start:m.Value.End]
			}
		}
		at := len(text) - len(rest) + len(`"s":`) + len(p.Shared)
		if p.Shared == nil || !p.hasRef || at >= len(text) || text[at] != ',' || refOf(p.Shared) != p.ref {
			return p, errText
		}
		rest = text[at+1:]
	}
	body, ok := bytes.CutPrefix(rest, []byte(`"b":`))
	if !ok || len(body) < 3 || body[0] != '{' || body[len(body)-2] != '}' || body[len(body)-1] != '}' {
		return p, errText
	}
	p.Body = body[:len(body)-1]
	return p, nil
}
