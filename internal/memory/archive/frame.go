package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash/crc32"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// MaxLine bounds a line on disk, in bytes: a note of 100 kB whose every byte is escaped, with room for the rest.
const MaxLine = 1 << 20

// A line on disk is the length of a JSON text and its CRC-32C, each as eight hexadecimal digits and a space, then the text, which
// holds no line feed, and a line feed.
const frame = 8 + 1 + 8 + 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

type ref [refBytes]byte

func refOf(shared []byte) ref {
	sum := sha256.Sum256(shared)
	return ref(sum[:refBytes])
}

// appendLine appends a line as it stands on disk to buf. With define it writes Shared out beside its digest; otherwise the digest alone.
func appendLine(buf []byte, l Line, define bool) []byte {
	start := len(buf)
	buf = append(buf, emptyFrame...)
	buf = append(buf, '{')
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
	return seal(buf, start)
}

const emptyFrame = "00000000 00000000 "

// seal fills in the length and checksum of the line that begins at start, appends its line feed and returns buf.
func seal(buf []byte, start int) []byte {
	text := buf[start+frame:]
	putHex(buf[start:], uint32(len(text)))
	putHex(buf[start+9:], crc32.Checksum(text, castagnoli))
	return append(buf, '\n')
}

func putHex(dst []byte, n uint32) {
	hex.Encode(dst, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// Errors of invalid lines.
var (
	errFrame  = errors.New("a line does not begin with a length and a checksum")
	errLength = errors.New("a line has not the length that it says")
	errSum    = errors.New("a line has not the checksum that it says")
	errText   = errors.New("a line holds no entry")
	errLong   = errors.New("a line is longer than any entry")
)

// unframe checks the length and checksum of a line, given without its line feed, and returns its JSON text.
func unframe(line []byte) ([]byte, error) {
	if len(line) < frame || line[8] != ' ' || line[17] != ' ' {
		return nil, errFrame
	}
	var n [8]byte
	if _, err := hex.Decode(n[:4], line[:8]); err != nil {
		return nil, errFrame
	}
	if _, err := hex.Decode(n[4:], line[9:17]); err != nil {
		return nil, errFrame
	}
	number := func(b []byte) uint32 { return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3]) }
	text := line[frame:]
	if uint32(len(text)) != number(n[:4]) {
		return nil, errLength
	}
	if crc32.Checksum(text, castagnoli) != number(n[4:]) {
		return nil, errSum
	}
	return text, nil
}

// lengthOf returns the length that a line declares, its frame included. It returns false when it declares none, or too large a one.
func lengthOf(line []byte) (int, bool) {
	var n [4]byte
	if len(line) < frame {
		return 0, false
	}
	if _, err := hex.Decode(n[:], line[:8]); err != nil {
		return 0, false
	}
	length := uint32(n[0])<<24 | uint32(n[1])<<16 | uint32(n[2])<<8 | uint32(n[3])
	return frame + int(length), length < MaxLine
}

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
