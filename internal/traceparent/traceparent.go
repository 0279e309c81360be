package traceparent

import "encoding/hex"

const (
	// length is of version 00: 00-TRACE-SPAN-FLAGS.
	length = 2 + 1 + 32 + 1 + 16 + 1 + 2
	// MaxBytes bounds what is looked at: versions to come may be longer than 00.
	MaxBytes = 256
)

// Parent is a span of somebody else's.
type Parent struct {
	Trace   [16]byte
	Span    [8]byte
	Sampled bool // the span is recorded by its maker
}

// Parse reads the value of a traceparent header. ok is false if it is not valid.
func Parse(s string) (p Parent, ok bool) {
	if len(s) < length || len(s) > MaxBytes || s[2] != '-' || s[35] != '-' || s[52] != '-' {
		return Parent{}, false
	}
	var version, flags [1]byte
	if !lowerHex(version[:], s[:2]) || !lowerHex(p.Trace[:], s[3:35]) || !lowerHex(p.Span[:], s[36:52]) || !lowerHex(flags[:], s[53:55]) {
		return Parent{}, false
	}
	switch {
	case version[0] == 0xff, p.Trace == [16]byte{}, p.Span == [8]byte{}:
		return Parent{}, false
	case version[0] == 0 && len(s) > length, len(s) > length && s[length] != '-':
		return Parent{}, false
	}
	p.Sampled = flags[0]&1 == 1
	return p, true
}

// lowerHex decodes text, which has no capitals, into as many bytes as to has.
func lowerHex(to []byte, text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// String writes the parent in version 00.
func (p Parent) String() string {
	flags := "00"
	if p.Sampled {
		flags = "01"
	}
	return "00-" + hex.EncodeToString(p.Trace[:]) + "-" + hex.EncodeToString(p.Span[:]) + "-" + flags
}
