package inventory

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// text returns the string at span of item, without a copy if it has no escapes; nil if it is not a string.
func text(item []byte, span rawjson.Span) []byte {
	if span.Len() < 2 || item[span.Start] != '"' {
		return nil
	}
	inner := item[span.Start+1 : span.End-1]
	if bytes.IndexByte(inner, '\\') >= 0 {
		return rawjson.Unquote(nil, span.Of(item))
	}
	return inner
}

// pair is a label or an annotation.
type pair struct{ key, value []byte }

// writer builds a row: a flat JSON object without empty members.
type writer struct{ b []byte }

func (w *writer) writeKey(key string) {
	if len(w.b) > 0 && w.b[len(w.b)-1] != '{' && w.b[len(w.b)-1] != '[' {
		w.b = append(w.b, ',')
	}
	w.b = append(append(append(w.b, '"'), key...), '"', ':')
}

func (w *writer) writeRaw(s string) { w.b = append(w.b, s...) }

// addText adds a string member unless it is empty.
func (w *writer) addText(key string, value []byte) {
	if len(value) > 0 {
		w.addTextOrEmpty(key, value)
	}
}

// addTextOrEmpty adds a string member, also an empty one.
func (w *writer) addTextOrEmpty(key string, value []byte) {
	w.writeKey(key)
	w.b = rawjson.Quote(w.b, shortText(value))
}

const (
	// maxText bounds one text in a row, in bytes: a broken or hostile server must not make pages of any size. Names
	// of Kubernetes have at most 253, and URLs and paths in use are shorter too.
	maxText = 1 << 10
	// maxKey bounds the key by which entries are sorted, and maxName the name of a project or status in counts, in
	// bytes.
	maxKey  = 2 * maxText
	maxName = 256
)

// shortText returns a text for a row: whole, or its beginning with a mark.
func shortText(value []byte) []byte { return clip(value, maxText) }

// clip returns at most maxLen bytes of a text; a longer one is cut and ends in "…".
func clip(value []byte, maxLen int) []byte {
	if len(value) <= maxLen {
		return value
	}
	end := limit.Boundary(value, maxLen-len(limit.Ellipsis))
	return append(bytes.Clone(value[:end]), limit.Ellipsis...)
}

// addNumber adds a number member unless it is 0.
func (w *writer) addNumber(key string, n int) {
	if n != 0 {
		w.writeKey(key)
		w.writeInt(n)
	}
}

func (w *writer) writeInt(n int) { w.b = strconv.AppendInt(w.b, int64(n), 10) }

// addTextList adds a list member with at most maxLen strings, and the member more_KEY with the number of those left out. An empty list is
// not written.
func (w *writer) addTextList(key string, values [][]byte, maxLen int) {
	if len(values) == 0 {
		return
	}
	w.writeKey(key)
	w.writeTextArray(values[:min(maxLen, len(values))])
	w.addNumber("more_"+key, max(0, len(values)-maxLen))
}

// writeTextArray writes an array; each string is shortened.
func (w *writer) writeTextArray(values [][]byte) {
	w.writeRaw("[")
	for i, value := range values {
		if i > 0 {
			w.writeRaw(",")
		}
		w.b = rawjson.Quote(w.b, shortText(value))
	}
	w.writeRaw("]")
}

// maxProse bounds a text for people in a row, in characters.
const maxProse = 120

// maxRaw bounds the part of a text for people that is read, in bytes: more than is shown, because a credential that begins before the cut
// may end behind it.
const maxRaw = 16 << 10

// displayText returns a text for people as one short line, without the credentials that descriptions and messages of git, helm and clusters
// may contain.
func displayText(value []byte) []byte {
	value = value[:min(maxRaw, len(value))]
	line := strings.Join(strings.Fields(secrets.Text(strings.ToValidUTF8(string(value), "\uFFFD"))), " ")
	if head := limit.ClipRunes(line, maxProse); len(head) < len(line) {
		line = strings.TrimRight(head, " ") + limit.Ellipsis
	}
	return []byte(line)
}

// maskAddress returns a URL with the password masked, or the user if that may be a token. Argo CD accepts https://user:password@host/repo as a
// repository, and shows it to everyone.
func maskAddress(value []byte) []byte {
	scheme := bytes.Index(value, []byte("://"))
	if scheme < 0 {
		return value
	}
	rest := value[scheme+3:]
	authority := rest
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := bytes.LastIndexByte(authority, '@')
	if at < 0 {
		return value
	}
	user, _, secret := bytes.Cut(authority[:at], []byte(":"))
	if !secret {
		// A lone user may be a token; that of ssh is a name and is needed to use the address.
		if scheme >= 3 && string(value[:3]) == "ssh" {
			return value
		}
		user = []byte("********")
	} else {
		user = append(bytes.Clone(user), ":********"...)
	}
	masked := append(bytes.Clone(value[:scheme+3]), user...)
	return append(masked, rest[at:]...)
}
