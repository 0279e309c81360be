package index

import (
	"encoding/binary"
	"hash/maphash"
)

// terms maps terms to their postings. A term is known by a hash of 64 bits with a random seed; its letters are not kept.
type terms struct {
	seed  maphash.Seed
	slots []uint32 // open addressing: 1 + number in list
	list  termList
	arena arena
}

// term is the list of the documents that hold a term. The first document is kept in it, because half of all terms have no other.
type term struct {
	hash    uint64
	df      uint32
	first   uint32
	last    uint32
	head    uint32 // the first block; 0 is none
	tail    uint32 // the last one
	used    uint8  // bytes of it in use
	class   uint8  // its size
	firstTF uint8
}

// termList is a list in pages, so that it grows without a copy and at most one page has free places.
type termList struct {
	pages []*page
	count int
}

// page is a part of the list of terms. stated counts for each the documents that state something.
type page struct {
	terms  [termPage]term
	stated [termPage]uint32
}

const termPage = 1 << 8 // 9 KiB

// term returns the term with a number. It must exist.
func (l *termList) term(n uint32) *term { return &l.pages[n/termPage].terms[n%termPage] }

// statedCount returns the address of a term's number of documents with [Doc.States].
func (l *termList) statedCount(n uint32) *uint32 { return &l.pages[n/termPage].stated[n%termPage] }

// add appends a term without documents.
func (l *termList) add(hash uint64) {
	if l.count == len(l.pages)*termPage {
		l.pages = append(l.pages, new(page))
	}
	l.count++
	l.term(uint32(l.count - 1)).hash = hash
}

// newTerms returns a map without terms, with a random seed.
func newTerms() terms {
	return terms{seed: maphash.MakeSeed(), slots: make([]uint32, 1<<10)}
}

// findOrAdd returns the number of the term with a hash. It adds the term if it is missing.
func (t *terms) findOrAdd(hash uint64) uint32 {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		n := t.slots[i]
		if n == 0 {
			if (t.list.count+1)*4 > len(t.slots)*3 {
				t.doubleTable()
				return t.findOrAdd(hash)
			}
			t.list.add(hash)
			t.slots[i] = uint32(t.list.count)
			return uint32(t.list.count - 1)
		}
		if t.list.term(n-1).hash == hash {
			return n - 1
		}
	}
}

// find returns the term with a hash, nil if it is missing, and its number of documents with [Doc.States].
func (t *terms) find(hash uint64) (found *term, stated int) {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		n := t.slots[i]
		if n == 0 {
			return nil, 0
		}
		if found = t.list.term(n - 1); found.hash == hash {
			return found, int(*t.list.statedCount(n - 1))
		}
	}
}

// doubleTable doubles the hash table.
func (t *terms) doubleTable() {
	t.slots = make([]uint32, 2*len(t.slots))
	mask := uint64(len(t.slots) - 1)
	for n := range t.list.count {
		i := t.list.term(uint32(n)).hash & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(n + 1)
	}
}

// addPosting appends a document to a term's list, with the number of times, at most 255, that it has the term. Documents come in the order
// of their numbers.
func (t *terms) addPosting(p *term, doc uint32, tf int) {
	tf = min(tf, 255)
	if p.df++; p.df == 1 {
		p.first, p.last, p.firstTF = doc, doc, uint8(tf)
		return
	}
	// The distance to the document before, and in its lowest two bits how often, up to 3 times; of more the number stands behind it.
	var code [binary.MaxVarintLen64 + 1]byte
	n := binary.PutUvarint(code[:], uint64(doc-p.last)<<2|uint64(min(tf, 4)-1))
	if tf >= 4 {
		code[n] = uint8(tf)
		n++
	}
	p.last = doc
	t.arena.appendCode(p, code[:n])
}

// eachPosting calls f for each document of a term, in the order of their numbers, with the number of times, at most 255, that it has the
// term.
func (t *terms) eachPosting(p *term, f func(doc uint32, tf uint8)) {
	f(p.first, p.firstTF)
	r := t.arena.reader(p)
	doc := p.first
	for range p.df - 1 {
		v := r.uvarint()
		doc += uint32(v >> 2)
		tf := uint8(v&3) + 1
		if tf == 4 {
			tf = r.readByte()
		}
		f(doc, tf)
	}
}

// arena holds the blocks of all lists. A block ends with the address of the next one; each is twice as large as the one before.
type arena struct {
	pages [][]byte
	free  int // first free byte of the last page
}

const (
	pageBits  = 16
	pageSize  = 1 << pageBits
	addr      = 4 // bytes of an address
	maxClass  = 5
	firstSize = 8
)

// blockSize returns the size in bytes of the blocks of a class.
func blockSize(class uint8) int { return firstSize << class }

// newBlock returns the address of a new block. It never returns 0, which stands for no block.
func (a *arena) newBlock(class uint8) uint32 {
	n := blockSize(class)
	if len(a.pages) == 0 || a.free+n > pageSize {
		a.pages = append(a.pages, make([]byte, pageSize))
		a.free = 0
		if len(a.pages) == 1 {
			a.free = firstSize
		}
	}
	at := uint32(len(a.pages)-1)<<pageBits | uint32(a.free)
	a.free += n
	return at
}

// block returns the bytes of the block at an address, whose class the caller must know.
func (a *arena) block(at uint32, class uint8) []byte {
	from := at & (pageSize - 1)
	return a.pages[at>>pageBits][from : int(from)+blockSize(class)]
}

// appendCode appends code to a term's list, in as many blocks as it takes. Each new block of a list is of a larger class.
func (a *arena) appendCode(p *term, code []byte) {
	if p.head == 0 {
		p.head = a.newBlock(0)
		p.tail, p.class, p.used = p.head, 0, 0
	}
	for len(code) > 0 {
		b := a.block(p.tail, p.class)
		if int(p.used) == len(b)-addr {
			class := min(p.class+1, maxClass)
			next := a.newBlock(class)
			binary.LittleEndian.PutUint32(b[len(b)-addr:], next)
			p.tail, p.class, p.used = next, class, 0
			b = a.block(next, class)
		}
		n := copy(b[p.used:len(b)-addr], code)
		p.used += uint8(n)
		code = code[n:]
	}
}

// reader reads the bytes of a list. It never reads more of them than were appended.
type reader struct {
	a     *arena
	b     []byte // of the current block, without the address
	at    int
	next  []byte
	class uint8
}

// reader returns a reader at the beginning of a term's list.
func (a *arena) reader(p *term) reader {
	r := reader{a: a}
	if p.head != 0 {
		r.enter(a.block(p.head, 0))
	}
	return r
}

// enter goes to the beginning of a block.
func (r *reader) enter(b []byte) { r.b, r.next, r.at = b[:len(b)-addr], b[len(b)-addr:], 0 }

// readByte returns the next byte of a list, from the next block at the end of one. There must be one.
func (r *reader) readByte() uint8 {
	if r.at == len(r.b) {
		r.class = min(r.class+1, maxClass)
		r.enter(r.a.block(binary.LittleEndian.Uint32(r.next), r.class))
	}
	c := r.b[r.at]
	r.at++
	return c
}

// uvarint returns the next number of a list, in the coding of encoding/binary.
func (r *reader) uvarint() uint64 {
	c := r.readByte()
	if c < 0x80 {
		return uint64(c)
	}
	v, shift := uint64(c&0x7f), 7
	for {
		c = r.readByte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
		shift += 7
	}
}

// hash returns the hash by which a term is known. It differs from process to process.
func (t *terms) hash(word []byte) uint64 { return maphash.Bytes(t.seed, word) }
