// Package spool keeps the results of tools on disk and gives them out in pages.
//
//	s, err := spool.Open(spool.Options{Dir: dir})
//
//	w, err := s.Create(spool.Source{Principal: who, Server: "git", Tool: "log"})
//	_, err = io.Copy(w, text) // as it comes, any size
//	err = w.Complete(spool.Final{})
//
//	r, err := s.Read(who, w.Handle())
//	defer r.Close()
//	page, err := r.Page(ctx, 1, 0)
//	found, err := r.Search(ctx, spool.SearchRequest{Pattern: "OutOfMemory"})
//
// # Documents and shapes
//
// A result has parts: texts, structured content, media. One of them is the document, the
// thing that has pages: the largest text when the others are small beside it; structured
// content when the text fits on a page and is smaller; else all texts, each a block. What
// a document's items are is its [Shape], found while it streams:
//
//	Array   items of the main array: of those that keys of objects lead to, at most three,
//	        the one with most bytes, if that is a quarter of the document
//	Object  members of the largest object, where there is no such array
//	Blocks  texts, where there are several
//	Lines   anything else: text, broken JSON, JSON with words before it
//
// Pages are packed greedily: as many whole items as there may be, and as fit into
// Source.PageBytes. A page of an array is the object that surrounds it (when that is no
// more than 2 KiB) with these items in it, else an array of them. Items stay the bytes
// that they were. One that is larger than a page is replaced by
//
//	{"plimsoll/omitted":{"item":12,"bytes":1048576,"offset":31337}}
//
// and can be read by [Result.Range]. A line of more than 8 KiB counts as several, cut
// between characters. Bytes that are no UTF-8 are U+FFFD from the moment they are stored:
// sizes, offsets and the checksum are of the stored text.
//
// # While it is written
//
// A page can be read as soon as the item behind it has begun: [Result.Page] waits for that
// or for the end, and its context ends the waiting. Who has been given a page fixes the
// document: it stays that array or those lines whatever follows; what follows is stored
// and has no pages ([Totals].More). Objects and blocks have pages at the end. In another
// process than the writer's all pages are there at the end.
//
// # Bounds
//
// Everything is in Dir: 0700, files 0600. Options bound it in bytes (also what is being
// written, in steps set aside beforehand), results and age; processes that share Dir share
// the bounds, through a ledger under flock(2). What is expired goes first, then what was
// used longest ago; what somebody reads or writes stays. A writer that finds no room gets
// [Full] and may Cut, which keeps what came, or Discard. Each eviction is a
// journal.SpoolEvicted event. Page tables of other page sizes are made on demand, and at
// most four of a result are kept.
//
// Memory does not grow with a result: a Writer has about 150 KiB, a page what it holds and
// 16 KiB, a search about 300 KiB and up to 1000 places.
//
// # Handles
//
// A handle is 130 random bits. It is not on the disk, only its digest is; so is the
// principal's. Without both there is only [NotFound], the same for everything.
//
// # After a crash
//
// An entry counts when its meta file is there, which is renamed into place at the end.
// What a dead process has left unfinished is removed by the next Open or the next need for
// room. Nothing is synced: after a loss of power entries whose files contradict one
// another are removed when they are read. Page tables have a checksum in each row and are
// made again from the text when one does not match.
//
// # Search
//
// Patterns are RE2. A text that each match must hold is looked for first, at the speed of
// memory; a pattern without one costs what package regexp takes. In a line that was cut a
// match may reach 1 KiB beyond the cut. `go run ./bench spool` measures it all against cat
// and grep.
//
// # Concurrency
//
// A Spool and a Result may be used by many goroutines, a Writer by one at a time.
//
// # How it is tested
//
// The scanner and the shapes are fuzzed against encoding/json, the search against regexp,
// damaged indexes against their text; real processes are killed while they write, share a
// quota and run into a full disk; live heap is measured while 64 MiB of the worst shapes
// pass.
package spool
