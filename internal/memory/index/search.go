package index

import (
	"cmp"
	"math"
	"slices"
)

// Hit is a document that was found.
type Hit struct {
	Doc   int
	Score float64
}

// Query is a search.
type Query struct {
	Text string
	// Keep reports whether a document may be found; nil means all. Documents that are not found still add to the scores of their neighbours.
	Keep func(doc int) bool
	// Skip leaves out all documents of a lane. Keep could do the same, but would be called for each document.
	Skip [lanes]bool
	// Favoured reports whether a document counts Favour (at least 1) times as much as the others; nil means none.
	Favoured func(doc int) bool
	Favour   float64
	// Limit is the number of hits wanted.
	Limit int
	// Alone scores each document by its own words, without neighbours and conversation.
	Alone bool
	// Loose also finds what is nearly a word of the text, see [Similarity], and only documents that state something: their number is what makes a word rare.
	Loose bool
}

// maxTerms bounds the terms of a query that are searched for: the rarest ones.
const maxTerms = 32

// largeIndex is the number of documents above which the commonest words of a query are left out.
const largeIndex = 20_000

// scratch is memory that is reused by the next search.
type scratch struct {
	docs      []cell
	talkTF    []float32
	talkScore []float32
	touchedTk []uint32
}

// cell is the state of a document in a search.
type cell struct {
	score float32
	peak  float32 // the largest part of word
	word  uint32  // of the query, counted from 1
}

// wanted is a term of a query.
type wanted struct {
	p      *term
	df     int // of the documents that may be found
	weight float64
}

// Search returns the best documents, at most q.Limit and one of each turn of a conversation, the best first, and the number that matched.
func (x *Index) Search(q Query) (hits []Hit, total int) {
	terms, speakers := x.queryTerms(q.Text, q.Loose)
	if len(terms) == 0 || len(x.docs) == 0 {
		return nil, 0
	}
	s := &x.scratch
	s.docs = zeroed(s.docs, len(x.docs))
	s.talkTF, s.talkScore = zeroed(s.talkTF, len(x.talks)), zeroed(s.talkScore, len(x.talks))
	together := !q.Alone && x.p.Talk > 0 && len(x.talks) > 0
	norms := x.norms()
	k1 := float32(x.p.K1)
	lend := x.newLender()
	all := float64(len(x.docs))
	if q.Loose {
		all = float64(x.stated)
	}
	for i, w := range terms {
		lend.word = uint32(i + 1)
		df := min(float64(w.df), all) // removed documents count for a word, not for all
		idf := float32(math.Log(1+(all-df+0.5)/(df+0.5)) * w.weight)
		s.touchedTk = s.touchedTk[:0]
		x.terms.eachPosting(w.p, func(n uint32, tf uint8) {
			d := &x.docs[n]
			if d.flags&dead != 0 || q.Loose && d.flags&states == 0 {
				return
			}
			f := float32(tf)
			own := idf * f * (k1 + 1) / (f + norms.forDoc(d))
			lend.addPart(n, own)
			if !q.Alone {
				lend.lendToNeighbours(d, own)
			}
			if together && d.talk != 0 {
				if s.talkTF[d.talk-1] == 0 {
					s.touchedTk = append(s.touchedTk, d.talk-1)
				}
				s.talkTF[d.talk-1] += f
			}
		})
		x.scoreConversations(w.weight)
	}
	return x.bestHits(q, speakers)
}

// neighbourOf returns the nearest document of another turn in the conversation of document n: a later one if ahead is set, else an earlier
// one. It returns 0 if there is none within 8 steps. Here document numbers begin with 1.
func (x *Index) neighbourOf(n uint32, ahead bool) uint32 {
	turn := x.docs[n-1].turn
	for range 8 {
		if ahead {
			n = x.docs[n-1].next
		} else {
			n = x.docs[n-1].prev
		}
		if n == 0 || x.docs[n-1].turn != turn {
			return n
		}
	}
	return 0
}

// scoreConversations adds the score (BM25) of the current term to each conversation that has it, read as one text.
func (x *Index) scoreConversations(weight float64) {
	s := &x.scratch
	if len(s.touchedTk) == 0 {
		return
	}
	df, all := float64(len(s.touchedTk)), float64(len(x.talks))
	idf := math.Log(1+(all-df+0.5)/(df+0.5)) * weight
	average := float64(x.talkLen) / all
	for _, t := range s.touchedTk {
		tf := float64(s.talkTF[t])
		s.talkTF[t] = 0
		s.talkScore[t] += float32(idf * tf * (x.p.K1 + 1) / (tf + x.p.K1*(1-x.p.B+x.p.B*float64(x.talks[t].length)/max(average, 1))))
	}
}

// bestHits computes the final scores and returns the documents with the highest ones, the best first, and the number of all that match.
func (x *Index) bestHits(q Query, speakers map[uint32]bool) (hits []Hit, total int) {
	s := &x.scratch
	limit := max(q.Limit, 0)
	var lane [lanes]float32
	for i, w := range x.p.Lanes {
		lane[i] = float32(w)
	}
	together, named, question := float32(x.p.Talk), float32(1+x.p.Speaker), float32(1-x.p.Question)
	if q.Alone {
		together, question = 0, 1
	}
	for n := range s.docs {
		score := s.docs[n].score
		if score == 0 {
			continue
		}
		d := &x.docs[n] // never a removed one: it has no neighbours and no score of its own
		if q.Skip[d.lane] {
			continue
		}
		if d.talk != 0 {
			score += together * s.talkScore[d.talk-1]
		}
		score *= lane[d.lane]
		if d.speaker != 0 && speakers[d.speaker] {
			score *= named
		}
		if question != 1 && x.isAnswered(d) {
			score *= question
		}
		if q.Keep != nil && !q.Keep(n) {
			continue
		}
		total++
		h := Hit{n, float64(score)}
		// What would not be among the best in either case need not be looked at.
		if q.Favoured != nil && (len(hits) < 2*limit || limit > 0 && h.Score*q.Favour > hits[0].Score) && q.Favoured(n) {
			h.Score *= q.Favour
		}
		hits = pushHit(hits, h, 2*limit)
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		return cmp.Compare(a.Doc, b.Doc)
	})
	return x.bestOfTurns(hits, limit), total
}

// bestOfTurns returns the best hit of each turn of a conversation, at most limit in all. hits are sorted, the best first, and are overwritten.
func (x *Index) bestOfTurns(hits []Hit, limit int) []Hit {
	type turn struct{ talk, turn uint32 }
	seen := make(map[turn]bool, len(hits))
	kept := hits[:0]
	for _, h := range hits {
		d := &x.docs[h.Doc]
		if at := (turn{d.talk, d.turn}); d.talk != 0 && d.turn != 0 {
			if seen[at] {
				continue
			}
			seen[at] = true
		}
		if kept = append(kept, h); len(kept) == limit {
			break
		}
	}
	return kept
}

// Turn returns the number of a document's conversation and its place in it; each is 0 if there is none.
func (x *Index) Turn(n int) (talk, turn uint32) { return x.docs[n].talk, x.docs[n].turn }

// pushHit adds a hit to a heap of at most limit hits, of which heap[0] is the worst. If the heap is full, the worst of its hits and h is
// dropped.
func pushHit(heap []Hit, h Hit, limit int) []Hit {
	worse := func(a, b Hit) bool { return a.Score < b.Score || a.Score == b.Score && a.Doc > b.Doc }
	if len(heap) < limit {
		heap = append(heap, h)
		for i := len(heap) - 1; i > 0; {
			up := (i - 1) / 2
			if !worse(heap[i], heap[up]) {
				break
			}
			heap[i], heap[up] = heap[up], heap[i]
			i = up
		}
		return heap
	}
	if limit == 0 || !worse(heap[0], h) {
		return heap
	}
	heap[0] = h
	for i := 0; ; {
		least := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(heap) && worse(heap[child], heap[least]) {
				least = child
			}
		}
		if least == i {
			return heap
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}

// queryTerms returns the terms of a query that the index knows, the rarest first and at most maxTerms, and the hashes of all its words,
// among which are those of the speakers it names.
func (x *Index) queryTerms(text string, loose bool) ([]wanted, map[uint32]bool) {
	seen := map[uint64]int{}
	var out []wanted
	var order []uint64
	speakers := map[uint32]bool{}
	x.words.Each(text, func(word []byte) {
		hash := x.terms.hash(word)
		speakers[uint32(hash>>32)|1] = true
		if seen[hash]++; seen[hash] == 1 {
			order = append(order, hash)
		}
	})
	for _, hash := range order {
		if p, stated := x.terms.find(hash); p != nil && (!loose || stated > 0) {
			w := wanted{p, int(p.df), 1}
			if loose {
				w.df = stated
			}
			if x.names[uint32(hash>>32)|1] {
				w.weight = x.p.Name
			}
			out = append(out, w)
		}
	}
	if loose {
		out = append(out, x.looseTerms(text, seen)...)
	}
	slices.SortStableFunc(out, func(a, b wanted) int { return cmp.Compare(a.df, b.df) })
	// In a large index a word that every eighth document holds costs much and tells little beside rarer ones.
	if len(x.docs) > largeIndex {
		kept := out[:0]
		for i, w := range out {
			if costly := int64(w.p.df)*8 > int64(len(x.docs)) || loose && int64(w.df)*50 > int64(x.stated); i < 2 || !costly {
				kept = append(kept, w)
			}
		}
		out = kept
	}
	return out[:min(len(out), maxTerms)], speakers
}

// speakerHash returns the hash by which a person is recognised in a query: that of the first word of the name, 0 if it has none.
func (x *Index) speakerHash(name string) (first uint32) {
	x.words.Each(name, func(word []byte) {
		if first == 0 {
			first = uint32(x.terms.hash(word)>>32) | 1
		}
	})
	return first
}

// norms are the parts of BM25 that depend on a document's length.
type norms struct{ base, slope float32 }

// norms returns the norms for the current average length. One average serves all lanes: a long answer matches more by chance.
func (x *Index) norms() norms {
	average := float64(x.length) / float64(max(len(x.docs)-x.dead, 1))
	return norms{float32(x.p.K1 * (1 - x.p.B)), float32(x.p.K1 * x.p.B / max(average, 1))}
}

// forDoc returns BM25's penalty for the length of a document: what is added to how often a term occurs in it.
func (n norms) forDoc(d *doc) float32 { return n.base + n.slope*float32(d.length) }

// zeroed returns a slice of n zeros. It reuses the memory of s if that is large enough.
func zeroed[T float32 | cell](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8)
	}
	s = s[:n]
	clear(s)
	return s
}
