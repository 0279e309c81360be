package toolset

import (
	"fmt"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxTrimDepth bounds the depth to which trim looks for parts to leave out.
	maxTrimDepth = 8
	// minTrim is the smallest part worth leaving out: its name takes as much.
	minTrim = 96
	// maxTrim bounds how many parts are left out one by one; then what is left goes by the
	// largest.
	maxTrim = 24
)

// A part is a member of an object, somewhere in a document.
type part struct {
	path         string
	objectDetail int
	span         rawjson.Span // from the name to the end of the value
	value        rawjson.Span
	count        int // elements of an array, or -1
}

// trim makes a JSON object at most budget bytes large by leaving out members, those first
// that are large and deep, and names them with their sizes. What it cannot do it leaves:
// an object of a thousand small members at its top stays too large only if each is smaller
// than [minTrim].
func trim(raw []byte, budget int) (fitting []byte, left []string) {
	for len(raw)+size(left) > budget && len(left) < maxTrim {
		over := len(raw) + size(left) - budget
		victim, found := choose(membersIn(raw), over, len(left) > maxTrim/2)
		if !found {
			break
		}
		what := limit.Bytes(victim.value.Len()).Human()
		if victim.count >= 0 {
			what = strconv.Itoa(victim.count) + " entries, " + what
		}
		left = append(left, fmt.Sprintf("%s (%s)", victim.path, what))
		raw = removeMember(raw, victim.span)
	}
	return raw, left
}

// choose takes the smallest part that makes the rest fit, else the largest; whole sections
// at the top only when nothing below them is left, or in a hurry.
func choose(all []part, over int, hurry bool) (best part, found bool) {
	for _, top := range []bool{false, true} {
		for _, p := range all {
			if (p.objectDetail == 1) != top && !hurry {
				continue
			}
			n, b := p.span.Len(), best.span.Len()
			switch {
			case !found, b < over && n > b, n >= over && n < b:
				best, found = p, true
			}
		}
		if found {
			return best, true
		}
	}
	return best, false
}

// membersIn lists the members that could be left out.
func membersIn(raw []byte) (all []part) {
	var walk func(at rawjson.Span, path string, depth int)
	walk = func(at rawjson.Span, path string, depth int) {
		if at.Len() < minTrim || depth > maxTrimDepth {
			return
		}
		switch raw[at.Start] {
		case '{':
			for m, err := range rawjson.Members(raw, at.Start) {
				if err != nil {
					return
				}
				if m.Value.Len() < minTrim {
					continue
				}
				p := part{
					path: joinedPath(path, string(m.Key)), objectDetail: depth, count: -1,
					span: rawjson.Span{Start: m.Name.Start, End: m.Value.End}, value: m.Value,
				}
				if raw[m.Value.Start] == '[' {
					p.count = 0
					for range rawjson.Elements(raw, m.Value.Start) {
						p.count++
					}
				}
				all = append(all, p)
				walk(m.Value, p.path, depth+1)
			}
		case '[':
			n := 0
			for element, err := range rawjson.Elements(raw, at.Start) {
				if err != nil {
					return
				}
				walk(element, path+"["+strconv.Itoa(n)+"]", depth+1)
				n++
			}
		}
	}
	whole, err := rawjson.Only(raw)
	if err != nil {
		return nil
	}
	walk(whole, "", 1)
	return all
}

func joinedPath(path, key string) string {
	if len(key) > 120 {
		key = short(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// removeMember takes a member out of compact JSON, with one of the commas beside it.
func removeMember(raw []byte, member rawjson.Span) []byte {
	from, to := member.Start, member.End
	switch {
	case to < len(raw) && raw[to] == ',':
		to++
	case from > 0 && raw[from-1] == ',':
		from--
	}
	out := make([]byte, 0, len(raw)-(to-from))
	return append(append(out, raw[:from]...), raw[to:]...)
}
