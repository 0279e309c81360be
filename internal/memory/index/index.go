package index

import "math"

// Lane is a class of documents with lengths of its own and a weight in the ranking.
type Lane uint8

const (
	User Lane = iota
	Agent
	Tool
	Fact
	Note
	lanes
)

// Doc is a document to be indexed.
type Doc struct {
	Lane Lane
	Text string
	// Conversation identifies the conversation of the document; 0 means none. Turn is its place there: documents of equal turns are in
	// the order in which they are added.
	Conversation uint64
	Turn         int
	// Speaker is the name of the person who said it, where there are several.
	Speaker string
	// States is set for what a person has stated: loose searches find, and count, nothing else.
	States bool
}

// Index is an inverted index in memory. It is for one goroutine at a time.
type Index struct {
	p     Params
	words Words
	terms terms

	docs    []doc
	dead    int
	stated  int   // documents that state something
	length  int64 // terms in all documents
	talks   []talkEntry
	talkOf  map[uint64]uint32
	names   map[uint32]bool // of speakers
	talkLen int64           // terms in all conversations

	listed vocabulary

	hashes  []uint64 // of the document that is being added
	counter counter
	cache   *wordCache
	buf     [32]byte // of a word
	scratch scratch
}

// doc is the index's record of a document. prev and next are its neighbours in the conversation, as numbers from 1; 0 is none.
type doc struct {
	talk       uint32 // number from 1; 0 is none
	prev, next uint32
	turn       uint32
	speaker    uint32 // a part of the hash of the name; 0 is none
	length     uint16
	lane       Lane
	flags      uint8
}

const (
	dead   = 1 << iota // it was removed
	asks               // it ends with a question
	states             // it states something
)

// talkEntry is the index's record of a conversation.
type talkEntry struct {
	first, last uint32 // its documents, as numbers from 1
	length      uint32 // terms
}

// New makes an empty index.
func New(p Params) *Index {
	return &Index{p: p, words: Words{raw: p.Raw}, terms: newTerms(), talkOf: map[uint64]uint32{}, names: map[uint32]bool{}}
}

// Len returns the number of documents, the removed ones included: their numbers are from 0 to Len-1.
func (x *Index) Len() int { return len(x.docs) }

// Dead returns the number of removed documents. Their terms are still there: a caller who has removed many makes a new index.
func (x *Index) Dead() int { return x.dead }

// Add adds a document and returns its number.
func (x *Index) Add(d Doc) int {
	n := uint32(len(x.docs))
	hashes := x.hashesOf(d.Text, x.hashes[:0])
	length := len(hashes)
	hashes = x.list(d, hashes)
	x.terms.addAll(n, d.States, x.counter.count(hashes))
	if x.hashes = hashes; cap(hashes) > maxScratch {
		x.hashes = nil
	}
	one := doc{lane: min(d.Lane, lanes-1), length: uint16(min(length, math.MaxUint16)), turn: uint32(max(d.Turn, 0))}
	if endsWithQuestion(d.Text) {
		one.flags |= asks
	}
	if d.States {
		one.flags |= states
		x.stated++
	}
	if d.Speaker != "" {
		one.speaker = x.speaker(d.Speaker)
		x.names[one.speaker] = true
	}
	x.docs = append(x.docs, one)
	x.length += int64(length)
	if d.Conversation != 0 {
		x.link(n, d.Conversation, length)
	}
	return int(n)
}

// link inserts document n into the list of its conversation, behind those of the same and earlier turns. length is its number of terms.
func (x *Index) link(n uint32, conversation uint64, length int) {
	number := x.talkOf[conversation]
	if number == 0 {
		x.talks = append(x.talks, talkEntry{})
		number = uint32(len(x.talks))
		x.talkOf[conversation] = number
	}
	t := &x.talks[number-1]
	d := &x.docs[n]
	d.talk = number
	t.length += uint32(length)
	x.talkLen += int64(length)
	before := t.last
	for before != 0 && x.docs[before-1].turn > d.turn {
		before = x.docs[before-1].prev
	}
	d.prev = before
	if before == 0 {
		d.next, t.first = t.first, n+1
	} else {
		d.next, x.docs[before-1].next = x.docs[before-1].next, n+1
	}
	if d.next == 0 {
		t.last = n + 1
	} else {
		x.docs[d.next-1].prev = n + 1
	}
}

// Remove takes a document out of all searches.
func (x *Index) Remove(n int) {
	d := &x.docs[n]
	if d.flags&dead != 0 {
		return
	}
	d.flags |= dead
	x.dead++
	if d.flags&states != 0 {
		x.stated--
	}
	x.length -= int64(d.length)
	if d.talk == 0 {
		return
	}
	t := &x.talks[d.talk-1]
	if d.prev != 0 {
		x.docs[d.prev-1].next = d.next
	} else {
		t.first = d.next
	}
	if d.next != 0 {
		x.docs[d.next-1].prev = d.prev
	} else {
		t.last = d.prev
	}
	t.length -= uint32(d.length)
	x.talkLen -= int64(d.length)
	d.prev, d.next, d.talk = 0, 0, 0
}

// Around returns the numbers of document n and of up to each documents before and behind it in its conversation, by their turns.
func (x *Index) Around(n, each int) []int {
	first, back := n, 0
	for d := x.docs[n]; back < each && d.prev != 0; back++ {
		first = int(d.prev - 1)
		d = x.docs[first]
	}
	var out []int
	for at, ahead := first, -back; ; ahead++ {
		out = append(out, at)
		next := x.docs[at].next
		if next == 0 || ahead >= each {
			return out
		}
		at = int(next - 1)
	}
}
