package toolset

import (
	"fmt"
	"strconv"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxTrimDepth bounds the depth in which trim looks for members to leave out.
	maxTrimDepth = 8
	// minTrim is the size of the smallest member that is left out, in bytes: naming it takes as much.
	minTrim = 96
	// maxTrim bounds how many members are left out; after half of them the largest go first, whatever their
	// depth.
	maxTrim = 24
)

// part is a member of an object, somewhere in a document; depth is 1 at the top.
type part struct {
	path  string
	depth int
	span  rawjson.Span // from the name to the end of the value
	value rawjson.Span
	count int // elements of an array, or -1
}

// trimTo returns a JSON object without some members, so that it has at most budget bytes together with their names, which left holds with
// their sizes. Large and deep members go first. The result may be larger than budget: members smaller than [minTrim] stay, and at most
// maxTrim go.
func trimTo(raw []byte, budget int) (fitting []byte, left []string) {
	for len(raw)+size(left) > budget && len(left) < maxTrim {
		over := len(raw) + size(left) - budget
		victim, found := chooseMember(membersIn(raw), over, len(left) > maxTrim/2)
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

// chooseMember returns the smallest member of more than over bytes, or else the largest. Members at the top are chosen only if there is none
// below them, or with hurry.
func chooseMember(all []part, over int, hurry bool) (best part, found bool) {
	for _, top := range []bool{false, true} {
		for _, p := range all {
			if (p.depth == 1) != top && !hurry {
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

// membersIn returns the members of at least minTrim bytes in an object and in all below it, down to maxTrimDepth; nil if it is not one JSON
// value.
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
					path: joinedPath(path, string(m.Key)), depth: depth, count: -1,
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

// joinedPath returns the path of a member; long keys are shortened.
func joinedPath(path, key string) string {
	if len(key) > 120 {
		key = shortQuote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// removeMember returns compact JSON without a member and one of the commas beside it.
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
