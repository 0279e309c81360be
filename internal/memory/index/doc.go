// Package index finds the texts that have most in common with a question: an inverted index in memory, ranked by BM25 with what stands around a
// text in its conversation.
//
//	x := index.New(index.Defaults())
//	n := x.Add(index.Doc{Lane: index.User, Text: "We ship on Fridays.", Conversation: 7, Turn: 3})
//	hits, total := x.Search(index.Query{Text: "when do we ship?", Limit: 8})
//
// # Ranking
//
// Any word of the query may be found; none has to be. Words of no meaning are left out, the endings of English are taken off, and of a name that is put
// together (readFile, max_retries, app/run.go) the parts count and the whole. A document's score is BM25 (k1 0.9, b 0.4); to it come parts of the scores of
// the turns before and behind it, of each word mostly the largest part only (what several turns in a row say counts little more than once), and the score of
// its conversation taken as one text. What ends with a question lends more to what is said to it by one of its lane, and counts less itself. A speaker whom the query names counts more, and the
// words of models and tools ([Agent], [Tool]) count half of what a person said, was noted or learned. Of several passages of one turn the best is
// found. The index knows no times: where a question names one, package memory has what was said then count more ([Query.Favoured]).
//
// The constants of [Defaults] were fitted on five conversations of LoCoMo (Maharana et al. 2024), and are held to the other five and to BEAM by `go run
// ./bench memory`.
//
// # What to expect
//
// No text is kept: a term is a hash of 64 bits, a posting two or three bytes, a document 28. The heap of 100,000 documents of 163 bytes is about 16 MiB
// with what package memory keeps beside them, of 103,000 of 650 bytes 22 MiB. A search costs what its commonest words cost; in an index of more than
// 20,000 documents a word that every eighth one holds is left out when rarer ones are there. A removed document is skipped; its postings stay until
// the owner makes a new index ([Index.Dead]).
//
// For loose searches ([Query.Loose]), which find and count statements only ([Doc.States]), the words of short ones are listed as they are written, up to
// 32,768 of them, and initials of words that follow each other are terms too: less than 1 MiB, and what comes later is found as it stands only.
//
// An [Index] is for one goroutine at a time.
//
// # How it is tested
//
// Postings and scores are compared with a plain computation over maps; words are fuzzed.
package index
