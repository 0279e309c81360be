// Package index finds the texts that have most in common with a question: an inverted index in memory, ranked by BM25 with what stands around
// a text in its conversation.
//
//	x := index.New(index.Defaults())
//	n := x.Add(index.Doc{Lane: index.User, Text: "We ship on Fridays.", Conversation: 7, Turn: 3})
//	hits, total := x.Search(index.Query{Text: "when do we ship?", Limit: 8})
//
// The turns beside a document and its whole conversation lend to its score ([Index.Search]). The constants of [Defaults] were fitted on five
// conversations of LoCoMo (Maharana et al. 2024), and are held to the other five and to BEAM by `go run ./bench memory`.
//
// No text is kept: a term is a hash of 64 bits, a posting two or three bytes, a document 28. 100,000 documents of 163 bytes are about 16 MiB of
// heap with what package memory keeps beside them. A removed document is skipped; its postings stay until the owner makes a new index
// ([Index.Dead]). An [Index] is for one goroutine at a time.
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

// Add adds a document to the index, and to its conversation if it has one, and returns its number.
func (x *Index) Add(d Doc) int {
	n := uint32(len(x.docs))
	hashes := x.appendHashes(d.Text, x.hashes[:0])
	length := len(hashes)
	hashes = x.listWords(d, hashes)
	x.terms.addDocument(n, d.States, x.counter.countTerms(hashes))
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
		one.speaker = x.speakerHash(d.Speaker)
		x.names[one.speaker] = true
	}
	x.docs = append(x.docs, one)
	x.length += int64(length)
	if d.Conversation != 0 {
		x.linkDocument(n, d.Conversation, length)
	}
	return int(n)
}

// linkDocument inserts document n into the list of its conversation, after those of the same and earlier turns. length is its number of terms. An
// unknown conversation gets a new list.
func (x *Index) linkDocument(n uint32, conversation uint64, length int) {
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

// Remove removes a document from all searches and from its conversation. Its number is not used again. A second call does nothing.
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

// Around returns the numbers of document n and of up to reach documents before and behind it in its conversation, by their turns.
func (x *Index) Around(n, reach int) []int {
	first, back := n, 0
	for d := x.docs[n]; back < reach && d.prev != 0; back++ {
		first = int(d.prev - 1)
		d = x.docs[first]
	}
	var out []int
	for at, ahead := first, -back; ; ahead++ {
		out = append(out, at)
		next := x.docs[at].next
		if next == 0 || ahead >= reach {
			return out
		}
		at = int(next - 1)
	}
}

// Params are the constants of the ranking.
type Params struct {
	// K1 and B are those of BM25.
	K1, B float64
	// Near is the share of its score that a document lends to those one and two places before and behind it in its conversation.
	Near [2]float64
	// Ahead is the factor by which the documents behind count more than those before.
	Ahead float64
	// Peak weights, of several parts of one word from a document itself and its neighbours, the largest alone (1) against their sum (0): a
	// word that is said three times in a row says no more than once.
	Peak float64
	// Answer is the factor by which a question lends more to what was said to it, and Question that by which it counts less itself: it is
	// the answer that is looked for. Both hold where question and answer are of one lane, as between people; what models answer to people
	// has its weight from its lane.
	Answer, Question float64
	// Talk is the share of the score of its conversation, taken as one text, that a document gets.
	Talk float64
	// Speaker is the extra weight of a document that was said by somebody whom the query names.
	Speaker float64
	// Name is the weight of a word of the query that is the name of a speaker.
	Name float64
	// Lanes are the weights of the lanes.
	Lanes [lanes]float64
	// Raw leaves out stop words and stems in nothing: plain BM25 on the words as they stand. It is a baseline.
	Raw bool
}

// Defaults returns the constants that the product uses.
func Defaults() Params {
	return Params{
		K1: 0.9, B: 0.4, Near: [2]float64{0.4, 0.3}, Ahead: 1.2, Peak: 0.7, Answer: 0.8, Question: 0.2, Talk: 1, Speaker: 0.3, Name: 0.5,
		Lanes: [lanes]float64{User: 1, Agent: 0.5, Tool: 0.5, Fact: 1, Note: 1},
	}
}

// RawBM25 returns the constants of plain BM25: no neighbours, no conversations, no lanes, and words as they are written.
func RawBM25() Params {
	return Params{K1: 0.9, B: 0.4, Name: 1, Lanes: [lanes]float64{1, 1, 1, 1, 1}, Raw: true}
}
