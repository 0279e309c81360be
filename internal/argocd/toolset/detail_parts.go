package toolset

import (
	"encoding/json"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/limit"
)

// objectPart says which part of an object that is too large for one answer this is.
type objectPart struct {
	Part    int    `json:"part"`
	Parts   int    `json:"total_parts"`
	HasNext bool   `json:"has_next"`
	Bytes   int    `json:"object_bytes"`
	Keys    string `json:"keys"`
}

// partHeader bounds the bytes that an objectPart and the call for the next part take in an answer.
const partHeader = 700

// partOf returns one part of an object, counted from 1 (below that is 1), for an answer that has room bytes for it.
func partOf(object []byte, part, room int) (*objectPart, json.RawMessage, error) {
	parts := splitInto(object, room-partHeader)
	part = max(1, part)
	if part > len(parts) {
		return nil, nil, fmt.Errorf("there is no part %d: the object has %d; ask for a part from 1 to %d", part, len(parts), len(parts))
	}
	return &objectPart{Part: part, Parts: len(parts), HasNext: part < len(parts), Bytes: len(object), Keys: "paths into the whole object"}, parts[part-1], nil
}

// minPart is the least room for a part of an object, in bytes: the paths of its values take a part of it.
const minPart = 256

// splitInto divides a JSON object into parts of at most room bytes each (at least minPart). Every part is a JSON object whose keys are paths
// into the whole and whose values are those there: {"metadata":{…},"status.resources[0]":{…}}. Together the parts have all of the object,
// each value once; a text that is larger than a part is divided too, under "PATH (bytes 0-8191)". An object that fits is returned unchanged
// as the only part.
func splitInto(raw []byte, room int) (parts []json.RawMessage) {
	if len(raw) <= room {
		return []json.RawMessage{raw}
	}
	s := splitter{raw: raw, room: max(room, minPart)}
	whole, err := rawjson.Only(raw)
	if err != nil {
		return []json.RawMessage{raw} // the server's answers were read as JSON before
	}
	s.putValue("", whole, 0)
	s.endPart()
	return s.parts
}

type splitter struct {
	raw   []byte
	room  int
	part  []byte
	parts []json.RawMessage
}

// putMember adds a value to the part under way, or begins another part if it has no room for it.
func (s *splitter) putMember(path string, value []byte) {
	member := append(rawjson.Quote(nil, path), ':')
	member = append(member, value...)
	if len(s.part) > 0 && len(s.part)+len(member)+len(",}") > s.room {
		s.endPart()
	}
	if len(s.part) == 0 {
		s.part = append(s.part, '{')
	} else {
		s.part = append(s.part, ',')
	}
	s.part = append(s.part, member...)
}

func (s *splitter) endPart() {
	if len(s.part) > 0 {
		s.parts = append(s.parts, append(s.part, '}'))
		s.part = nil
	}
}

// fits reports whether a value fits into a part of its own.
func (s *splitter) fits(path string, size int) bool {
	return size+len(rawjson.Quote(nil, path))+len("{:}") <= s.room
}

// putValue adds a value, or its members or elements one by one if it is too large for one part.
func (s *splitter) putValue(path string, at rawjson.Span, depth int) {
	if path != "" && (s.fits(path, at.Len()) || depth > maxTrimDepth*4) {
		s.putMember(path, at.Of(s.raw))
		return
	}
	switch s.raw[at.Start] {
	case '{':
		for m, err := range rawjson.Members(s.raw, at.Start) {
			if err != nil {
				return
			}
			s.putValue(joinedPath(path, string(m.Key)), m.Value, depth+1)
		}
	case '[':
		n := 0
		for element, err := range rawjson.Elements(s.raw, at.Start) {
			if err != nil {
				return
			}
			s.putValue(fmt.Sprintf("%s[%d]", path, n), element, depth+1)
			n++
		}
	case '"':
		s.putText(path, string(rawjson.Unquote(nil, at.Of(s.raw))))
	default:
		s.putMember(path, at.Of(s.raw))
	}
}

// putText adds a text in several pieces, each of which fits into a part. In JSON a byte takes up to six.
func (s *splitter) putText(path, text string) {
	room := max(s.room-len(rawjson.Quote(nil, path))-40, minPart/2)
	for from := 0; from < len(text); {
		to := limit.Boundary(text, min(len(text), from+room))
		for to > from+1 && len(rawjson.Quote(nil, text[from:to])) > room {
			to = limit.Boundary(text, from+(to-from)*3/4)
		}
		if to <= from { // a single character takes all of the room
			to = limit.Boundary(text, min(len(text), from+4))
			if to <= from {
				to = min(len(text), from+4)
			}
		}
		s.putMember(fmt.Sprintf("%s (bytes %d-%d)", path, from, to-1), rawjson.Quote(nil, text[from:to]))
		from = to
	}
}
