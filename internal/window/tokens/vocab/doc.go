// Package vocab holds the vocabularies o200k_base and cl100k_base and the character
// classes of their patterns as tables that are used in place.
//
// The four .bin files are embedded as strings, so they are pages of the program's
// read-only data: they are not copied, need no start-up work, are shared between
// processes, and go back to the page cache when memory is short. Nothing is put on the
// heap but a [Table] of a hundred bytes.
//
// A [Table] answers four questions. Which token is exactly this piece ([Table.Find])? Which
// is the longest token a text begins with ([Table.Match])? Do two tokens stay side by side
// under byte-pair merging ([Table.Adjacent])? What are a token's bytes ([Table.Bytes])?
// With the second and the third a text can be encoded from left to right without keeping
// a queue of merges; package tokens does that.
//
// One open-addressing index of 32-bit slots serves whole pieces and merges: a slot has
// the token and 14 bits of the hash; the record of the token (64 bits) confirms by its
// bytes or by the two tokens it was merged from. So an answer is exact, never probable.
//
// All is read-only and safe for concurrent use. The files are written by the program in
// ../vocabgen; `go generate ./window/tokens` runs it, and a test there holds the files
// against what it would write.
package vocab
