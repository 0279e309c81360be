package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/secrets"
)

// maxInner bounds the levels of JSON in a text in JSON that are followed. Escapes double at each level,
// so what is deeper is no configuration.
const maxInner = 4

// lastApplied is the annotation in which kubectl keeps the manifest it applied.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// A cut is a part that was left out.
type cut struct {
	path string
	size int
}

// A walker writes one document. It relies on it being valid JSON.
type walker struct {
	rawjson.Scanner
	out   []byte
	marks map[int]byte // see survey
	inner int          // how many texts this document is in
	keep  *Keep        // nil: leave nothing out
	path  []byte       // of the value that comes next, for left

	masked          int
	left            []cut
	more, moreBytes int
}

// A valueContext holds the rules for a value that follow from its path.
type valueContext struct {
	key          string // of the member, or of the array's member
	hide         bool   // mask all that is not an object or array
	all          bool   // and all below
	secret       bool   // an object here is a Secret, whatever it says itself
	vars         bool   // variables of an exec provider
	namedSecrets bool   // an object here has secrets under names of their own
}

func (w *walker) writeMasked() {
	s := markFinder{Scanner: rawjson.Scanner{Text: w.Text}, marks: map[int]byte{}}
	s.findInValue()
	w.marks = s.marks
	w.out = make([]byte, 0, len(w.Text))
	w.writeValue(valueContext{})
}

// writeValue writes the value at the present position, with secrets masked. In the context of a secret, numbers may be masked too.
func (w *walker) writeValue(p valueContext) {
	switch c := w.Peek(); c {
	case '{':
		w.writeObject(p)
	case '[':
		w.writeArray(p)
	case '"':
		w.writeText(w.String().Of(w.Text), p)
	default:
		raw := w.Skip().Of(w.Text)
		number := c == '-' || c >= '0' && c <= '9'
		if number && (p.all || p.hide && secrets.NumbersToo(p.key)) {
			w.writeMask()
			return
		}
		w.out = append(w.out, raw...)
	}
}

func (w *walker) writeMask() {
	w.masked++
	w.out = append(w.out, `"`+Hidden+`"`...)
}

// writeObject writes an object, without the members that keep leaves out.
func (w *walker) writeObject(p valueContext) {
	mark := w.marks[w.At]
	if p.secret {
		mark |= isSecret
	}
	w.Begin('{', "")
	w.out = append(w.out, '{')
	for empty := true; w.More('}'); {
		raw := w.Name().Of(w.Text)
		key := unquote(raw)
		length := len(w.path)
		if w.keep != nil {
			if length > 0 {
				w.path = append(w.path, '.')
			}
			w.path = append(w.path, key...)
			if w.isLeftOut(p.key, key) {
				w.noteLeftOut(w.Skip().Len())
				w.path = w.path[:length]
				continue
			}
		}
		if !empty {
			w.out = append(w.out, ',')
		}
		empty = false
		w.out = append(append(w.out, raw...), ':')
		w.writeValue(memberContext(p, mark, key))
		w.path = w.path[:length]
	}
	w.out = append(w.out, '}')
}

// memberContext returns the context of a member of an object whose context is p.
func memberContext(p valueContext, mark byte, key string) valueContext {
	in := valueContext{key: key, all: p.all, hide: p.all}
	switch {
	case mark&isSecret != 0 && (key == "data" || key == "stringData"):
		in.all, in.hide = true, true
	case p.vars && key == "name":
		in.all, in.hide = false, false // the names of the variables are no secret
	case p.key == "execProviderConfig" && key == "env" && !p.all:
		in.all, in.hide, in.vars = true, true, true
	case mark&isSecret != 0 && (key == "metadata" || key == "annotations"):
		in.secret = true
	case p.key == "annotations" && p.secret && strings.Contains(key, "applied"):
		in.hide = true
	case mark&isSecretList != 0 && key == "items":
		in.secret = true
	case mark&isPair != 0 && (key == "value" || key == "string" || key == "array" || key == "map"):
		in.all, in.hide = true, true
	case secrets.Named(key):
		in.hide, in.namedSecrets = true, secrets.HoldsNamed(key)
	case p.namedSecrets && !secrets.NamesOnly(key):
		in.hide = true
	}
	return in
}

// writeArray writes an array. The element after a flag such as --password is masked.
func (w *walker) writeArray(p valueContext) {
	w.Begin('[', "")
	w.out = append(w.out, '[')
	length := len(w.path)
	flag := false // the element before was --password, and this one is it
	for n := 0; w.More(']'); n++ {
		if n > 0 {
			w.out = append(w.out, ',')
		}
		if w.keep != nil {
			w.path = strconv.AppendInt(append(w.path, '['), int64(n), 10)
			w.path = append(w.path, ']')
		}
		in := p
		in.namedSecrets = false // "secrets": [{"name":…}] are references
		in.hide = in.hide || flag
		at, text := w.At, w.Peek() == '"'
		w.writeValue(in)
		flag = text && secrets.Flag(unquote(bytes.TrimSpace(w.Text[at:w.At])))
		w.path = w.path[:length]
	}
	w.out = append(w.out, ']')
}

// writeText writes a string, masked where that is needed.
func (w *walker) writeText(raw []byte, p valueContext) {
	if p.hide {
		if s := unquote(raw); secrets.Harmless(s) {
			w.out = append(w.out, raw...)
			return
		}
		w.writeMask()
		return
	}
	if !secrets.Suspicious(raw) {
		w.out = append(w.out, raw...)
		return
	}
	s := unquote(raw)
	safe, n := w.maskText(s)
	if n == 0 {
		w.out = append(w.out, raw...)
		return
	}
	w.masked += n
	w.out = appendString(w.out, safe)
}

// maskText returns a text with the secrets in it masked, and their number.
func (w *walker) maskText(s string) (safe string, masked int) {
	if t := strings.TrimLeft(s, " \t\r\n"); t != "" && (t[0] == '{' || t[0] == '[') && json.Valid([]byte(s)) {
		if w.inner == maxInner {
			return Hidden, 1
		}
		within := &walker{Scanner: rawjson.Scanner{Text: []byte(s)}, inner: w.inner + 1}
		within.writeMasked()
		return string(within.out), within.masked
	}
	return secrets.MaskText(s)
}

// isLeftOut reports whether a member is left out.
func (w *walker) isLeftOut(parent, key string) bool {
	switch key {
	case "managedFields":
		return parent == "metadata" && !w.keep.ManagedFields
	case lastApplied:
		return parent == "annotations" && !w.keep.ManagedFields
	case "history":
		return parent == "status" && !w.keep.History
	case "values", "valuesObject":
		return parent == "helm" && !w.keep.HelmValues
	case "apiVersions":
		return parent == "info" && !w.keep.APIVersions
	}
	return false
}

// noteLeftOut notes that the value at w.path, of that size, is left out: by its path for the first maxLeft, and then only counted. An empty
// value is not noted.
func (w *walker) noteLeftOut(size int) {
	if size <= len("null") {
		return // null, {} or []: nobody misses it
	}
	if len(w.left) == maxLeft || len(w.path) > 512 {
		w.more++
		w.moreBytes += size
		return
	}
	w.left = append(w.left, cut{string(w.path), size})
}

// unquote returns the text of a JSON string.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "" // cannot be: the whole document was valid
	}
	return s
}

// appendString writes s as a JSON string. It escapes no more than it must: "&" and "<"
// stay what a reader can search for.
func appendString(out []byte, s string) []byte {
	b := bytes.NewBuffer(out)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return append(out, `"`+Hidden+`"`...)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// What is known of an object before it is written. A mark is needed because the key that
// decides may come after those it decides about.
const (
	isSecret     = 1 << iota // kind: Secret
	isSecretList             // kind: SecretList
	isPair                   // {"name": a secret's name, "value": …}
)

// markFinder finds the marks of a document's objects, keyed by the offset at which each object begins.
type markFinder struct {
	rawjson.Scanner
	marks map[int]byte
}

// findInValue looks for marks in the value at the present position.
func (s *markFinder) findInValue() {
	switch s.Peek() {
	case '{':
		s.findInObject()
	case '[':
		s.Begin('[', "")
		for s.More(']') {
			s.findInValue()
		}
	default:
		s.Skip()
	}
}

// findInObject records by the object's offset whether it is a Secret, a list of them, or a pair whose name is that of a secret.
func (s *markFinder) findInObject() {
	at, mark := s.At, byte(0)
	s.Begin('{', "")
	for s.More('}') {
		key := s.Name().Of(s.Text)
		if s.Peek() != '"' {
			s.findInValue()
			continue
		}
		value := s.String().Of(s.Text)
		switch unquote(key) {
		case "kind":
			switch unquote(value) {
			case "Secret":
				mark |= isSecret
			case "SecretList":
				mark |= isSecretList
			}
		case "name", "key":
			if secrets.PairNamed(unquote(value)) {
				mark |= isPair
			}
		}
	}
	if mark != 0 {
		s.marks[at] = mark
	}
}

// Value returns text as [Mask] shows it under this name, such as that of an annotation: hidden if the name is that of a secret, with the secrets
// in it masked if it is JSON, and as [Text] shows it otherwise.
func Value(name, text string) string {
	if secrets.Named(name) && !secrets.Harmless(text) {
		return Hidden
	}
	if !secrets.Suspicious([]byte(text)) {
		return text
	}
	safe, _ := new(walker).maskText(text)
	return safe
}
