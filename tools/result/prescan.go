package result

import "github.com/plimsoll/plimsoll/internal/jsonstream"

// prescan measures a response while it arrives.
type prescan struct {
	maxItems int

	id      []byte // the literal; too long ones are none
	method  bool   // it is no response
	answers bool   // it is one: result or error began
	failed  bool
	isError []byte
	// text and other are what counts against MaxText and MaxMedia, in bytes; items is the
	// longest list, blocks how many text blocks there are.
	text, other   int64
	items, blocks int

	field    field
	in       place
	metadata bool // the member is nothing that a model reads
	counts   bool // items are counted in it
	list     jsonstream.Counter
}

// metadataMembers are the members of a block that describe it to the client and that no model reads.
var metadataMembers = map[string]bool{`"type"`: true, `"mimeType"`: true, `"annotations"`: true, `"_meta"`: true}

func (s *prescan) open(p place, _ []byte) {
	if p == inError {
		s.failed = true
	}
	if p == inResult || p == inError {
		s.answers = true
	}
}

func (s *prescan) close(place) {}

func (s *prescan) begin(f field, in place, key []byte) {
	s.field, s.in = f, in
	s.counts = false
	switch f {
	case fieldID:
		s.id = s.id[:0]
	case fieldMethod:
		s.method = !s.answers
	case fieldIsError:
		s.isError = s.isError[:0]
	case fieldText, fieldStructured:
		s.counts = s.maxItems > 0
		if f == fieldText {
			s.blocks++
		}
	case fieldMember:
		s.metadata = in == inMessage || in == inResult || in != inError && metadataMembers[string(key)]
		if k := string(key); in == inMessage && (k == `"result"` || k == `"error"`) {
			s.answers, s.metadata = true, false // of no kind that is known
		}
	}
}

func (s *prescan) piece(p []byte) {
	n := int64(len(p))
	switch s.field {
	case fieldID:
		s.id = appendShort(s.id, p)
	case fieldMethod:
	case fieldIsError:
		s.isError = appendShort(s.isError, p)
	case fieldText, fieldStructured, fieldMessage, fieldElement:
		s.text += n
		if s.counts {
			s.list.Write(p)
		}
	case fieldMedia, fieldMeta:
		s.other += n
	default:
		if s.metadata {
			s.other += n
		} else {
			s.text += n
		}
	}
}

func (s *prescan) end() {
	switch {
	case s.field == fieldIsError:
		s.failed = string(s.isError) == "true"
	case s.counts:
		s.items = max(s.items, s.list.End())
	}
}

// maxShort is how long an id may be, as tools/mcp/jsonrpc has it.
const maxShort = 1 << 10

// appendShort keeps what is short; what is longer becomes longer than maxShort and stays so.
func appendShort(dst, p []byte) []byte {
	return append(dst, p[:min(len(p), maxShort+1-len(dst))]...)
}
