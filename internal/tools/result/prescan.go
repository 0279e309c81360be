package result

import "github.com/plimsoll/plimsoll/internal/jsonstream"

// prescan measures a response while it arrives.
type prescan struct {
	maxItems int

	id      []byte // the raw id, cut at maxShort+1 bytes
	method  bool   // the message is not a response: it has a method
	answers bool   // the message is a response: result or error began
	failed  bool
	isError []byte
	// text, media and meta count against MaxText, MaxMedia and MaxMeta, in bytes; items is the
	// length of the longest list, blocks the number of text blocks.
	text, media, meta int64
	passed            int64 // bytes of a task beside its result
	items, blocks     int
	// kind is the literal of the type of the block under way, and data the size of its media: clients differ in their use of an
	// unknown kind, so its data count as text.
	kind  []byte
	typed bool // the value under way is the type of the block
	data  int64

	field    field
	in       place
	metadata bool // a model does not read the member under way
	counts   bool // the items in the value under way are counted
	list     jsonstream.Counter
}

// metadataMembers are the members of a block that describe it to the client and that a model does not read.
var metadataMembers = map[string]bool{`"type"`: true, `"mimeType"`: true, `"annotations"`: true, `"_meta"`: true}

// open is called at the beginning of an object or array at a place.
func (s *prescan) open(p place, _ []byte) {
	if p == inError {
		s.failed = true
	}
	if p == inTask || p == inResult || p == inError {
		s.answers = true
	}
	if p == inBlock {
		s.kind, s.data = s.kind[:0], 0
	}
}

// close ends a container. The data of a block whose kind is unknown then count as text.
func (s *prescan) close(p place) {
	if p == inBlock && !s.knownKind() {
		s.text += s.data
		s.media -= s.data
	}
}

// knownKind reports whether the data of the block under way are media: the block is an image, audio or a resource.
func (s *prescan) knownKind() bool {
	switch string(s.kind) {
	case `"image"`, `"audio"`, `"resource"`:
		return true
	}
	return false
}

// overhead reports whether a message of size bytes has much more than its texts, media and descriptions take to write, which is five bytes
// of an escape for each byte of text and the members around a few blocks: such as a name or white space of megabytes.
func (s *prescan) overhead(size int64) bool { return size > 6*s.text+s.media+s.meta+s.passed+MaxMeta }

// begin is called at the beginning of a member's value; key is its raw name.
func (s *prescan) begin(f field, in place, key []byte) {
	s.field, s.in = f, in
	s.counts, s.typed = false, in == inBlock && string(key) == `"type"`
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
			s.answers, s.metadata = true, false // a result or error that is not an object counts as text
		}
	}
}

// piece counts the next bytes of the value by their kind: text, media, or metadata.
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
	case fieldMedia:
		s.media += n
		if s.in == inBlock {
			s.data += n
		}
	case fieldMeta:
		s.meta += n
	default:
		if s.in == inTask {
			s.passed += n
			return
		}
		if s.typed {
			s.kind = appendShort(s.kind, p)
		}
		if s.metadata {
			s.meta += n
		} else {
			s.text += n
		}
	}
}

// end is called at the end of a member's value.
func (s *prescan) end() {
	switch {
	case s.field == fieldIsError:
		s.failed = string(s.isError) == "true"
	case s.counts:
		s.items = max(s.items, s.list.End())
	}
}

// maxShort bounds an id, in bytes, as internal/tools/mcp/jsonrpc does.
const maxShort = 1 << 10

// appendShort appends p to dst as far as that stays within maxShort+1 bytes: a longer value is known by its length.
func appendShort(dst, p []byte) []byte {
	return append(dst, p[:min(len(p), maxShort+1-len(dst))]...)
}
