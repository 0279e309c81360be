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
