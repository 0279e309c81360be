package result

import (
	"errors"

	"github.com/plimsoll/plimsoll/internal/jsonstream"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// errNoSpool is the error when Options has no spool.
var errNoSpool = errors.New("this gateway keeps no results")

// spoolWriter writes a response into the spool while it arrives. It also keeps the parts of which the delivered message is composed.
type spoolWriter struct {
	prescan
	o      *Options
	writer *spool.Writer
	failed error // why nothing more goes into the spool, or nil
	parts  int   // number of parts begun in the spool

	kept          spooledBuffer // raw media that are delivered, and the members of a task
	message       members
	result        members
	task          []seg // the members of the task in which the result stands
	inTask        bool
	meta          []byte // raw; nil if it is too large
	err           members
	blocks        []*block
	block         *block // the one under way, or nil
	dropped       int    // blocks and members that are neither delivered nor in the document
	notes         int    // blocks whose media is not delivered
	blocksOmitted bool   // there were more blocks than are kept
	typed         bool   // the result has resultType
	isErr         bool   // the response is an error of the protocol
	keptSize      int

	structured []byte // raw; nil if there is none or no room
	// remaining bounds the text that is held for delivery, captured is how much is held, in bytes.
	remaining, captured int64
	head                []byte      // the beginning of the text, for when nothing can be kept
	errorText           headAndTail // error.message

	key       []byte // the raw key of the value under way
	hasKey    bool
	small     []byte
	tooLarge  bool  // small would have exceeded MaxMember
	from      int64 // where the value under way begins in kept
	over      bool  // the media under way are not delivered
	heldMedia int64 // bytes of media that are delivered
	quotes    jsonstream.Unquoter
	stop      error // ends the reading of the response
}

// maxHead bounds the beginning of the text that is delivered if the spool fails, in bytes.
const maxHead = 4 << 10

// open begins a block, or the members of another container.
func (s *spoolWriter) open(p place, key []byte) {
	s.prescan.open(p, key)
	switch p {
	case inBlock, inEntry:
		s.block = newBlock()
		s.block.openObject(nil)
	case inResource:
		s.block.openObject(key)
	case inTask:
		s.inTask = true
	case inError:
		s.isErr = true
	}
}

// close ends a container. A block whose kind is unknown and that does not fit into memory goes to the spool as media.
func (s *spoolWriter) close(p place) {
	defer s.prescan.close(p)
	switch p {
	case inResource:
		s.block.closeObject()
	case inBlock, inEntry:
		s.block.closeObject()
		s.block.endSegment()
		if p == inBlock && s.block.held && !s.knownKind() && !s.capture(int(s.data)) {
			s.mediaToSpool(s.from, s.kept.size)
			s.block.media, s.block.segs, s.block.hole, s.block.unknown = s.data, nil, -1, true
		}
		s.keepBlock(s.block)
		s.block = nil
	}
}

// maxNotes bounds the notes about media that are not delivered.
const maxNotes = 4

// perBlock is the estimated memory of a block beside its bytes, in bytes.
const perBlock = 256

// keepBlock adds a complete block to those that will be delivered. If there is no room for it, its text goes into the spool, unless the
// spool has it already; a block with media is only counted as dropped.
func (s *spoolWriter) keepBlock(b *block) {
	if b.broken && b.hole < 0 && b.media == 0 { // a client may refuse all of a result for a block that lacks, say, its address
		return
	}
	size := b.kept + perBlock
	if b.media > 0 {
		s.notes++
	}
	// Members beyond the usual few are read by a model as text is.
	if s.keptSize+size > MaxKept || b.media > 0 && s.notes > maxNotes || b.countsAsText() && !s.capture(b.kept) {
		s.blocksOmitted = s.blocksOmitted || b.media == 0
		switch {
		case b.held, b.media > 0:
			s.dropped++
		case b.hole < 0:
			s.startPart(spool.Text, "")
			for _, g := range b.segs {
				s.put(g.mem)
			}
		}
		return
	}
	s.keptSize += size
	s.blocks = append(s.blocks, b)
}

// begin prepares for a member's value; a text or structured content begins a part in the spool.
func (s *spoolWriter) begin(f field, in place, key []byte) {
	s.prescan.begin(f, in, key)
	s.key, s.hasKey = append(s.key[:0], key...), key != nil
	s.small, s.tooLarge, s.over = s.small[:0], false, false
	switch f {
	case fieldText:
		s.startPart(spool.Text, s.mime())
		if s.block.hole < 0 {
			s.block.openHole(key)
			s.block.part, s.block.whole = s.parts-1, true
		}
	case fieldStructured:
		s.startPart(spool.Structured, "application/json")
		s.captured -= int64(len(s.structured))
		s.structured = s.structured[:0]
		if s.structured == nil {
			s.structured = []byte{}
		}
	case fieldMedia, fieldMember:
		s.from = s.kept.size
	case fieldMessage:
		s.errorText = headAndTail{max: s.errorText.max}
	}
}

// piece takes the next bytes of the value: to the spool, and as far as they are needed for the answer to memory.
func (s *spoolWriter) piece(p []byte) {
	s.prescan.piece(p)
	switch s.field {
	case fieldText:
		s.put(p)
		if n := maxHead - len(s.head); n > 0 {
			s.head = append(s.head, p[:min(n, len(p))]...)
		}
		if b := s.block; b.part == s.parts-1 {
			if b.size += int64(len(p)); b.whole && s.capture(len(p)) {
				b.text = append(b.text, p...)
			} else if b.whole {
				s.captured -= int64(len(b.text))
				b.text = append(b.text, p[:min(len(p), max(0, maxClip-len(b.text)))]...)
				b.clip(s.capture)
			}
		}
	case fieldStructured:
		s.put(p)
		if s.structured != nil {
			if s.capture(len(p)) {
				s.structured = append(s.structured, p...)
			} else {
				s.captured -= int64(len(s.structured))
				s.structured = nil
			}
		}
	case fieldMedia:
		s.mediaPiece(p)
	case fieldMessage:
		s.errorText.write(p)
	default:
		if s.in == inTask {
			s.taskPiece(p)
		} else {
			s.smallPiece(p)
		}
	}
	if s.remaining > s.reserve() && s.text > s.o.maxText() {
		s.shrinkBlocks()
	}
}

// capture counts n more bytes of text as held for delivery and reports true, or reports false if there is no room for them.
func (s *spoolWriter) capture(n int) bool {
	if s.captured+int64(n) > s.remaining {
		return false
	}
	s.captured += int64(n)
	return true
}

// reserve bounds the text beside a page, in bytes.
func (s *spoolWriter) reserve() int64 { return s.o.reserve() }

// shrinkBlocks releases held text when it turns out that there will be a page: less text is delivered beside one.
func (s *spoolWriter) shrinkBlocks() {
	s.remaining, s.captured = s.reserve(), 0
	left := s.blocks[:0]
	for _, b := range s.blocks {
		if b.countsAsText() && !s.capture(b.kept) {
			s.dropped++
			continue
		}
		left = append(left, b)
	}
	clear(s.blocks[len(left):])
	s.blocks = left
	if s.block != nil {
		left = append(left[:len(left):len(left)], s.block)
	}
	for _, b := range left {
		if b.whole && b.hole >= 0 && !s.capture(len(b.text)) {
			b.clip(s.capture)
		}
	}
	if s.structured != nil && !s.capture(len(s.structured)) {
		s.structured = nil
	}
}

// mime returns the media type of the block under way; "" if it names none or a very long one.
func (s *spoolWriter) mime() string {
	if s.block == nil || s.block.mime == nil || len(s.block.mime) > 128 {
		return ""
	}
	return unquoted(s.block.mime)
}

// taskPiece keeps a piece of a task's members beside its result.
func (s *spoolWriter) taskPiece(p []byte) {
	if s.passed > MaxTask {
		s.stop = &TooLarge{MaxTask}
	} else if err := s.kept.write(p); err != nil {
		s.stop = err
	}
}

// smallPiece collects a value that is usually small. One that is larger than MaxMember is dropped from the answer; if it is part of the
// text it goes to the spool.
func (s *spoolWriter) smallPiece(p []byte) {
	if !s.tooLarge && len(s.small)+len(p) <= MaxMember {
		s.small = append(s.small, p...)
		return
	}
	read := s.block != nil || s.field == fieldElement || s.in == inMessage && !s.metadata
	if !s.tooLarge {
		s.tooLarge = true
		s.dropped++
		if s.block != nil && !s.metadata {
			s.block.broken = true
		}
		if read {
			s.startPart(spool.Text, "")
			s.put(s.small)
		}
	}
	if read {
		s.put(p)
	}
}

// end takes the value that has ended into its block, or wherever it belongs; an invalid member is dropped and counted.
func (s *spoolWriter) end() {
	s.prescan.end()
	switch s.field {
	case fieldText, fieldStructured, fieldMessage, fieldID, fieldMethod, fieldIsError:
		return
	case fieldMedia:
		if !s.over && s.hasKey {
			s.block.key(s.key)
			s.block.holdRange(s.from, s.kept.size)
		}
		return
	case fieldMeta:
		s.meta = nil
		if !s.tooLarge && len(s.small) > 0 && s.small[0] == '{' && isValidMember(s.key, s.small) {
			s.meta = append([]byte{}, s.small...)
		}
		return
	}
	if s.in == inTask {
		if s.hasKey && s.kept.size > s.from {
			s.task = append(s.task, seg{mem: append(append([]byte{','}, s.key...), ':')}, seg{from: s.from, to: s.kept.size})
		}
		return
	}
	if s.tooLarge {
		return
	}
	if s.field == fieldElement {
		if isValidMember([]byte(`""`), s.small) {
			b := newBlock()
			b.segs, b.kept = []seg{{mem: append([]byte{}, s.small...)}}, len(s.small)
			s.keepBlock(b)
		}
		return
	}
	if !s.hasKey || !isValidMember(s.key, s.small) {
		s.dropped++
		return
	}
	s.member()
}

// member keeps the small member under way in its block or container; if that has no room left, the member is only counted as dropped.
func (s *spoolWriter) member() {
	size := len(s.key) + len(s.small) + 2
	if s.block != nil {
		switch {
		case isString(s.key, "mimeType"):
			s.block.mime = append([]byte{}, s.small...)
		case isString(s.key, "uri"):
			s.block.uri = append([]byte{}, s.small...)
		}
		if s.block.kept+size > 2*MaxMember {
			s.dropped++
			return
		}
		s.block.member(s.key, s.small)
		return
	}
	if s.keptSize+size > MaxKept {
		s.dropped++
		return
	}
	s.keptSize += size
	switch s.in {
	case inMessage:
		if !isString(s.key, "jsonrpc") && !isString(s.key, "result") && !isString(s.key, "error") {
			s.message.add(s.key, s.small)
		}
	case inError:
		s.err.add(s.key, s.small)
	case inResult:
		switch {
		case isString(s.key, "cacheScope"): // a handle is of no use to others
			s.small = append(s.small[:0], `"private"`...)
		case isString(s.key, "resultType"):
			s.typed = true
		case isString(s.key, "content"), isString(s.key, "contents"):
			return // not a list, or that of another method
		}
		s.result.add(s.key, s.small)
	}
}

// startPart begins a part in the spool; after a failure it only counts it.
func (s *spoolWriter) startPart(part spool.Part, mime string) {
	s.parts++
	if s.failed == nil {
		s.failed = s.writer.Begin(part, mime)
	}
}

// put writes into the current part; after a failure it does nothing.
func (s *spoolWriter) put(p []byte) {
	if s.failed == nil && len(p) > 0 {
		_, s.failed = s.writer.Write(p)
	}
}
