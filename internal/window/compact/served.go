package compact

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	foundBytes = 8 << 10 // of what a tool at the provider found, for a summary
	foundDepth = 8
)

// found returns what a tool at the provider found, as text: every string of a block whose form is not known here, each on a line of its
// own, without names, ids and what only the provider can read.
func found(r *wire.Request, p *wire.Part) string {
	var b strings.Builder
	var read func(raw []byte, depth int)
	read = func(raw []byte, depth int) {
		if depth > foundDepth || len(raw) == 0 {
			return
		}
		switch raw[0] {
		case '[':
			for at, err := range rawjson.Elements(raw, 0) {
				if err != nil || b.Len() > foundBytes {
					return
				}
				read(at.Of(raw), depth+1)
			}
		case '{':
			for m, err := range rawjson.Members(raw, 0) {
				if err != nil || b.Len() > foundBytes {
					return
				}
				if !unsaid(strings.ToLower(string(m.Key))) {
					read(m.Value.Of(raw), depth+1)
				}
			}
		case '"':
			b.Write(rawjson.Unquote(nil, raw[:min(len(raw), foundBytes)]))
			b.WriteByte('\n')
		}
	}
	read(r.Raw(p.Span), 0)
	return strings.TrimSpace(strings.ToValidUTF8(b.String(), "\uFFFD"))
}

// unsaid reports whether the member of that name, in lower case, holds nothing for a reader.
func unsaid(key string) bool {
	for _, end := range [...]string{"type", "id", "signature", "token"} { // type and toolType, id and call_id
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return key == "fingerprint" || key == "status" || strings.HasPrefix(key, "encrypted")
}
