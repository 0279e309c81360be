package standin

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Bounds of what is read of a result as JSON; what is beyond is counted and left out.
const (
	maxJSON  = 4 << 20 // bytes
	maxNodes = 50_000
	maxDepth = 64
	maxKept  = 200 // elements of one array
)

// value is JSON with its members in their order.
type value struct {
	kind    byte // '{', '[', '"', '0' (also true and false), 'n' null
	text    string
	members []pair
	items   []*value
	total   int // of items, those left out included
}

type pair struct {
	name string
	*value
}

// readValue reads the JSON object or array that a text begins with, and returns the text after it. v is nil if there is none. If the JSON is cut off,
// longer than maxJSON or nested too deep, whole is false and v has the part before that.
func readValue(text string) (v *value, rest string, whole bool) {
	start := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	if start == len(text) || text[start] != '{' && text[start] != '[' {
		return nil, text, false
	}
	in := text[start:min(len(text), start+maxJSON)]
	r := reader{d: json.NewDecoder(strings.NewReader(in)), left: maxNodes}
	r.d.UseNumber()
	v = r.readValue(0)
	if v == nil || v.kind == '{' && len(v.members) == 0 && r.broken || v.kind == '[' && v.total == 0 && r.broken {
		return nil, text, false
	}
	if r.broken {
		return v, "", false
	}
	return v, text[start+int(r.d.InputOffset()):], true
}

type reader struct {
	d      *json.Decoder
	left   int
	broken bool
}

// readValue reads the next value. It returns nil at a closing bracket, and sets broken where the JSON is cut off or nested too deep.
func (r *reader) readValue(depth int) *value {
	t, err := r.d.Token()
	if err != nil || depth > maxDepth {
		r.broken = true
		return nil
	}
	r.left--
	switch t := t.(type) {
	case json.Delim:
		switch t {
		case '{':
			return r.readObject(depth)
		case '[':
			return r.readArray(depth)
		}
		return nil
	case string:
		return &value{kind: '"', text: t}
	case json.Number:
		return &value{kind: '0', text: t.String()}
	case bool:
		return &value{kind: '0', text: strconv.FormatBool(t)}
	default:
		return &value{kind: 'n'}
	}
}

// readObject reads the members of an object after its opening brace. Beyond maxNodes values it reads on and keeps nothing.
func (r *reader) readObject(depth int) *value {
	v := &value{kind: '{'}
	for {
		t, err := r.d.Token()
		if err != nil {
			r.broken = true
			return v
		}
		name, ok := t.(string)
		if !ok {
			return v // it closes
		}
		one := r.readValue(depth + 1)
		if one != nil && r.left > 0 {
			v.members = append(v.members, pair{name, one})
		}
		if r.broken {
			return v
		}
	}
}

// readArray reads the elements of an array after its opening bracket. It counts all of them and keeps the first maxKept.
func (r *reader) readArray(depth int) *value {
	v := &value{kind: '['}
	for r.d.More() {
		one := r.readValue(depth + 1)
		if one == nil {
			return v
		}
		if v.total++; len(v.items) < maxKept && r.left > 0 && (!r.broken || one.kind == '{') {
			v.items = append(v.items, one)
		}
		if r.broken {
			return v
		}
	}
	if _, err := r.d.Token(); err != nil {
		r.broken = true
	}
	return v
}

// get returns the value at a path of member names; nil if there is none. Of members with the same name the last counts.
func (v *value) get(path ...string) *value {
	for _, name := range path {
		if v == nil || v.kind != '{' {
			return nil
		}
		var found *value
		for _, m := range v.members {
			if m.name == name {
				found = m.value
			}
		}
		v = found
	}
	return v
}

// str returns a string member, "" when there is none.
func (v *value) str(path ...string) string {
	if v = v.get(path...); v == nil || v.kind != '"' {
		return ""
	}
	return v.text
}

// number returns a member that is a whole number; ok reports whether it is there.
func (v *value) number(path ...string) (n int, ok bool) {
	if v = v.get(path...); v == nil || v.kind != '0' {
		return 0, false
	}
	n, err := strconv.Atoi(v.text)
	return n, err == nil
}

// equals reports whether a member is there and is that.
func (v *value) equals(what string, path ...string) bool {
	v = v.get(path...)
	return v != nil && v.kind == '0' && v.text == what
}
