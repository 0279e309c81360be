package index

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// What a loose search knows beside the terms: the words of short texts as they are written, and initials of words that follow each other.
const (
	// maxListed is the number of words that are listed. Those of later texts are found as they stand only.
	maxListed = 1 << 15
	// looseText is the length in bytes of the longest text whose words are listed.
	looseText = 1 << 10
	// maxExpanded bounds the words of a query that are looked up, and maxNear what is taken for one of them.
	maxExpanded, maxNear = 12, 4
	// nearWeight is the weight of a word that is nearly the one asked for.
	nearWeight = 0.6
	// initialsMark stands before initials, which are terms of their own kind.
	initialsMark = 0x01
)

// vocabulary lists words by their first byte, each with a line break behind it.
type vocabulary struct {
	by    [256][]byte
	count int
}

// add lists a word of 3 to 32 bytes, and ignores others and those after the first maxListed. It does not look whether the word is there already.
func (v *vocabulary) add(word []byte) {
	if len(word) < 3 || len(word) > 32 || v.count >= maxListed {
		return
	}
	v.by[word[0]] = append(append(v.by[word[0]], word...), '\n')
	v.count++
}

// similarWords returns the first maxNear listed words, of those with the same first letter, that are similar to a word: other inflected forms if
// the word is known, else words with small differences in spelling or abbreviations such as k8s. word must not be empty.
func (v *vocabulary) similarWords(word string, known bool) (found []string) {
	list := v.by[word[0]]
	for len(list) > 0 && len(found) < maxNear {
		end := bytes.IndexByte(list, '\n')
		one := list[:end]
		list = list[end+1:]
		if string(one) == word || len(one) < 3 {
			continue
		}
		if known && !Inflected(word, unsafeString(one)) || !known && Similarity(word, unsafeString(one)) == 0 {
			continue
		}
		found = append(found, string(one))
	}
	return found
}

// listWords adds the words of a document that states something to the vocabulary, if no such document has had them before. It returns
// hashes with the initials of runs of words appended.
func (x *Index) listWords(d Doc, hashes []uint64) []uint64 {
	if !d.States || len(d.Text) > looseText || x.listed.count >= maxListed {
		return hashes
	}
	var last []byte // first letters of the words up to here
	for t := range x.words.Tokens(d.Text) {
		switch {
		case t.Dense || t.Whole:
			continue
		case t.Breaks:
			last = last[:0]
		}
		if t.Term != "" && !x.isStated([]byte(t.Term)) {
			x.listed.add([]byte(t.Word))
		}
		first, n := utf8.DecodeRuneInString(t.Word)
		if !unicode.IsLetter(first) || n > 1 {
			last = last[:0]
			continue
		}
		last = append(last, byte(first))
		for size := 2; size <= 4; size++ {
			if len(last) >= size && (size > 2 || t.Part > 0) && t.Term != "" {
				hashes = append(hashes, x.terms.hash(append([]byte{initialsMark}, last[len(last)-size:]...)))
			}
		}
	}
	return hashes
}

// looseTerms returns terms similar to the words of a query: near spellings for words that are in no document, and other inflected forms for
// those that are. Terms in seen are left out, and those returned are added to it.
func (x *Index) looseTerms(text string, seen map[uint64]int) (out []wanted) {
	looked := 0
	take := func(term []byte) {
		hash := x.terms.hash(term)
		if p, stated := x.terms.find(hash); stated > 0 && seen[hash] == 0 {
			seen[hash]++
			out = append(out, wanted{p, stated, nearWeight})
		}
	}
	for t := range x.words.Tokens(text) {
		if looked >= maxExpanded {
			break
		}
		if t.Dense || t.Term == "" || len(t.Word) < 2 {
			continue
		}
		known := x.isStated([]byte(t.Term))
		if known && len(t.Word) < leastInflected {
			continue
		}
		looked++
		if !known && len(t.Word) <= 4 {
			take(append([]byte{initialsMark}, t.Word...))
		}
		var words Words
		for _, word := range x.listed.similarWords(t.Word, known) {
			if term := words.termOf([]byte(word)); term != nil {
				take(term)
			}
		}
	}
	return out
}

// isStated reports whether a document that states something holds a term.
func (x *Index) isStated(term []byte) bool {
	_, stated := x.terms.find(x.terms.hash(term))
	return stated > 0
}

// CountStated returns, for each term of a text, how many documents with [Doc.States] have it, and how many such documents there are.
func (x *Index) CountStated(text string) (counts map[string]int, all int) {
	counts = map[string]int{}
	x.words.Each(text, func(term []byte) {
		_, counts[string(term)] = x.terms.find(x.terms.hash(term))
	})
	return counts, x.stated
}
