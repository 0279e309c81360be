package index

import (
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// occurrence is a term of a document and how often it stands there.
type occurrence struct {
	hash  uint64
	count uint32
	slot  uint32 // 1 + the term's number in the list of terms; 0 if not known
}

// counter counts the terms of one document: open addressing in memory that is used again.
type counter struct {
	seen  []uint32 // 1 + index into terms
	terms []occurrence
}

// maxScratch is the number of terms of one document up to which their memory is reused for the next; more come from a very long note.
const maxScratch = 1 << 16

// countTerms returns the different terms of a document, given as hashes, in the order of their first occurrence. Valid until the next call.
func (c *counter) countTerms(hashes []uint64) []occurrence {
	size := 1 << bits.Len(uint(2*len(hashes)))
	if cap(c.seen) < size {
		c.seen = make([]uint32, size)
	}
	seen := c.seen[:size]
	clear(seen)
	terms := c.terms[:0]
	for _, h := range hashes {
		i := h & uint64(size-1)
		for {
			n := seen[i]
			if n == 0 {
				terms = append(terms, occurrence{hash: h, count: 1})
				seen[i] = uint32(len(terms))
				break
			}
			if terms[n-1].hash == h {
				terms[n-1].count++
				break
			}
			i = (i + 1) & uint64(size-1)
		}
	}
	if c.terms = terms; cap(terms) > maxScratch {
		*c = counter{}
	}
	return terms
}

// addDocument adds a document to the lists of its terms; states is its [Doc.States]. Documents come in the order of their numbers.
//
// The table and the lists are larger than the caches of a processor, so they are read in loops whose steps do not depend on each other: then several
// reads of memory run at the same time.
func (t *terms) addDocument(doc uint32, states bool, occurrences []occurrence) {
	for (t.list.count+len(occurrences))*4 > len(t.slots)*3 {
		t.doubleTable()
	}
	mask := uint64(len(t.slots) - 1)
	for i := range occurrences {
		occurrences[i].slot = t.slots[occurrences[i].hash&mask]
	}
	for i := range occurrences {
		if o := &occurrences[i]; o.slot != 0 && t.list.term(o.slot-1).hash != o.hash {
			o.slot = 0 // it is in another place, or missing
		}
	}
	for i := range occurrences {
		o := &occurrences[i]
		n := o.slot - 1
		if o.slot == 0 {
			n = t.findOrAdd(o.hash)
		}
		t.addPosting(t.list.term(n), doc, int(o.count))
		if states {
			*t.list.statedCount(n)++
		}
	}
}

// wordCache holds the terms of words that were met before, by their letters: half of all words of a text are among a few hundred, and
// stemming one and looking it up in the stop words costs several times as much as finding it here.
type wordCache [1 << 11]cachedWord

// cachedFrom is the number of documents from which on an index has a wordCache: its 64 KiB are too much for each of many small ones.
const cachedFrom = 256

// cachedWord is a word of the letters a to z, in lower case, and its term.
type cachedWord struct {
	letters [22]byte
	length  uint8 // 0 if the entry is empty
	none    bool  // it is left out of the index
	hash    uint64
}

// hashLetter returns the cache's hash of a word, from the hash of its letters before and the next letter. The hash of one letter is its code.
func hashLetter(hash uint32, letter byte) uint32 { return hash*0x01000193 ^ uint32(letter) } // FNV-1's prime

// entry returns the only entry that may hold a word with this hash. Another word may be in it.
func (c *wordCache) entry(hash uint32) *cachedWord { return &c[(hash^hash>>13)%uint32(len(c))] }

// matches reports whether an entry is that of a word, whose first letter may be in upper case.
func (c *cachedWord) matches(word string) bool {
	return int(c.length) == len(word) && c.letters[0] == word[0]|0x20 && string(c.letters[1:c.length]) == word[1:]
}

// setWord sets an entry of the cache to a word and the hash of its term. It must be called with a word that fits the entry.
func (x *Index) setWord(c *cachedWord, word string) {
	*c = cachedWord{length: uint8(len(word)), none: true}
	copy(c.letters[:], word)
	c.letters[0] |= 0x20
	if term := x.words.termOf(append(x.buf[:0], c.letters[:c.length]...)); term != nil {
		c.none, c.hash = false, x.terms.hash(term)
	}
}

// appendHashes appends the hashes of a text's terms, those of [Words.Each], to out.
func (x *Index) appendHashes(text string, out []uint64) []uint64 {
	if len(x.docs) < cachedFrom {
		x.words.Each(text, func(term []byte) { out = append(out, x.terms.hash(term)) })
		return out
	}
	if x.cache == nil {
		x.cache = new(wordCache)
	}
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf && class[c] == isOther {
			i++
			continue
		}
		if c|0x20 < 'a' || c|0x20 > 'z' {
			i, out = x.appendRunHashes(text, i, out)
			continue
		}
		// A word of small letters, the first one perhaps large, that nothing is joined to.
		end, hash := i+1, uint32(c|0x20)
		for end < len(text) && 'a' <= text[end] && text[end] <= 'z' {
			hash = hashLetter(hash, text[end])
			end++
		}
		next := end
		if end < len(text) {
			switch k := class[min(text[end], 127)]; {
			case text[end] >= utf8.RuneSelf || k == isUpper || k == isDigit:
				next = -1
			case k == isJoiner || k == isQuote:
				if next++; beginsWord(text[next:]) {
					next = -1
				}
			}
		}
		entry := x.cache.entry(hash)
		if next < 0 || end-i > len(entry.letters) {
			i, out = x.appendRunHashes(text, i, out)
			continue
		}
		if !entry.matches(text[i:end]) {
			x.setWord(entry, text[i:end])
		}
		if !entry.none {
			out = append(out, entry.hash)
		}
		i = next
	}
	return out
}

// appendRunHashes appends the hashes of the terms of the run of letters and digits at text[i:], its parts and the whole, and returns where it ends.
func (x *Index) appendRunHashes(text string, i int, out []uint64) (int, []uint64) {
	w := &x.words
	end, run := w.nextRun(text, i, func(term []byte) { out = append(out, x.terms.hash(term)) })
	if !run {
		return end, out
	}
	for _, p := range w.parts {
		word := w.run[p.from:p.to]
		entry := (*cachedWord)(nil)
		if len(word) <= len(entry.letters) {
			// Not with a y, which becomes an i in the whole name too: see [Words.Each].
			hash, plain := uint32(word[0]), 'a' <= word[0] && word[0] < 'y'
			for _, c := range word[1:] {
				plain = plain && 'a' <= c && c <= 'z' && c != 'y'
				hash = hashLetter(hash, c)
			}
			if plain {
				entry = x.cache.entry(hash)
			}
		}
		if entry == nil {
			if term := w.termOf(word); term != nil {
				out = append(out, x.terms.hash(term))
			}
			continue
		}
		if !entry.matches(unsafeString(word)) {
			x.setWord(entry, unsafeString(word))
		}
		if !entry.none {
			out = append(out, entry.hash)
		}
	}
	if w.runIsTerm() {
		out = append(out, x.terms.hash(w.run))
	}
	return end, out
}

// unsafeString returns a string that shares the memory of b.
func unsafeString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
