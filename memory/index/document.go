package index

import "math/bits"

// occurrence is a term of a document and how often it stands there.
type occurrence struct {
	hash  uint64
	count uint32
	slot  uint32 // of the table of terms: 1 + index into its list; 0 is not known
}

// counter counts the terms of one document: open addressing in memory that is used again.
type counter struct {
	seen  []uint32 // 1 + index into terms
	terms []occurrence
}

// maxScratch is how many terms of one document leave their memory to the next; more come from a very long note.
const maxScratch = 1 << 16

// count returns the terms of a document in the order in which they come first.
func (c *counter) count(hashes []uint64) []occurrence {
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

// addAll notes the terms of a document. Documents come in the order of their numbers.
//
// The table and the lists are larger than the caches of a processor, so what is looked at of them is looked at in loops that wait for
// nothing: then it comes from memory at the same time.
func (t *terms) addAll(doc uint32, all []occurrence) {
	for (len(t.list)+len(all))*4 > len(t.slots)*3 {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := range all {
		all[i].slot = t.slots[all[i].hash&mask]
	}
	for i := range all {
		if o := &all[i]; o.slot != 0 && t.list[o.slot-1].hash != o.hash {
			o.slot = 0 // it is in another place, or missing
		}
	}
	for i := range all {
		o := &all[i]
		var p *term
		if o.slot != 0 {
			p = &t.list[o.slot-1]
		} else {
			p = t.find(o.hash)
		}
		t.add(p, doc, int(o.count))
	}
}

// wordCache has the terms of words that were met before, by their letters: half of all words of a text are among a few hundred, and to take
// one apart and off its ending costs several times as much as finding it here.
type wordCache [1 << 11]cachedWord

// cachedWord is a word of the letters a to z and its term.
type cachedWord struct {
	letters [22]byte
	length  uint8 // 0 is none
	none    bool  // it is left out of the index
	hash    uint64
}

// hashesOf appends the hashes of a text's terms: what [Words.Each] gives, hashed.
func (x *Index) hashesOf(text string, out []uint64) []uint64 {
	if x.cache == nil {
		x.cache = new(wordCache)
	}
	add := func(term []byte) { out = append(out, x.terms.hash(term)) }
	for i := 0; i < len(text); {
		c := text[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			i = x.words.next(text, i, add)
			continue
		}
		// A word of small letters, the first one perhaps large, that nothing is joined to.
		end, place := i+1, uint32(c|0x20)
		for end < len(text) && 'a' <= text[end] && text[end] <= 'z' {
			place = place*0x01000193 ^ uint32(text[end])
			end++
		}
		next := end
		if end < len(text) {
			switch k := class[min(text[end], 127)]; {
			case text[end] >= 128 || k == isUpper || k == isDigit:
				next = -1
			case k == isJoiner || k == isQuote:
				if next++; begins(text[next:]) {
					next = -1
				}
			}
		}
		entry := &x.cache[(place^place>>13)%uint32(len(x.cache))]
		if next < 0 || end-i > len(entry.letters) {
			i = x.words.next(text, i, add)
			continue
		}
		if int(entry.length) != end-i || entry.letters[0] != c|0x20 || string(entry.letters[1:entry.length]) != text[i+1:end] {
			*entry = cachedWord{length: uint8(end - i), none: true}
			copy(entry.letters[:], text[i:end])
			entry.letters[0] = c | 0x20
			x.words.Each(text[i:end], func(term []byte) { entry.none, entry.hash = false, x.terms.hash(term) })
		}
		if !entry.none {
			out = append(out, entry.hash)
		}
		i = next
	}
	return out
}
