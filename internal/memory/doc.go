// Package memory keeps what was said to agents and by them, and what was drawn from it, on the user's own disk and within bounds.
//
//	store, err := memory.Open(memory.Options{Dir: dir})
//	defer store.Close()
//
//	_, err = store.Add(ctx, memory.Record{Namespace: "project/x", Origin: memory.OriginUser, Text: "We ship on Fridays, never on Mondays."})
//	found, err := store.Search(ctx, memory.Query{Text: "when do we ship?"})
//	_, err = store.Forget(ctx, memory.Filter{IDs: []string{found.Items[0].ID}})
//
// A [Record] is an episode (a passage, word for word), a fact, a note or a pin. It has an origin: the user's own words, an agent's, or a
// tool's. What is derived has the lowest origin of what it came from. It lies in a namespace (user, project/ID, agent/NAME) and in the scope of
// the credential that it was said with; a search sees its own scope and what has none.
//
// # Adding
//
// [Store.Add] only appends: it opens no index, and reads of a namespace only which passages are there. A passage that comes again, word for
// word, is counted and not stored twice. Processes that add at the same time do not wait for each other.
//
// # Forgetting
//
// [Store.Forget] removes records, what is derived from them and the same passages in other namespaces from the disk, here and in the stores
// of Options.Elsewhere. An id and a keyed digest stay, so that a client that sends its history again does not bring them back. The tombstones come
// first; then it waits for those who add and have not seen them, asks the other stores, and writes the segments anew without the words.
//
// # Searching
//
// [Store.Search] opens an index of each namespace that is searched (package index), on first use, and from then on reads what is new, whoever has
// written it. A store that only adds never has one. 100,000 records of 163 bytes take 16 MiB and 100,000 of 650 bytes 22 MiB; `go run ./bench
// memory-size` measures it.
//
// # To whom it was given
//
// [Store.Recalled] keeps to whom a record was given, and [Store.Uses] and [Store.Given] tell it: the last [MaxUses] conversations, with the client, the run and
// the words that it was found by. [Store.Withhold] takes a record back: whoever gives something unasked leaves out what has [Record].Withheld set, which is also what is
// nearly the same or about the same subject. [Store.Standing] returns the instructions that a person gave for every conversation.
//
// # Vectors
//
// With Options.Embed a search also goes by meaning (package embed): records that are searched get a vector each, in a file beside the segments of their namespace, and
// what is found by words and by meaning becomes one list. [Store.MakeVectors] makes those that are missing, and so does the background with Options.EmbedEvery. Without
// an answer of the service a search goes by words, as it would without one ([Results].WordsOnly). What leaves the memory takes its vector along.
//
// # Bounds
//
//	a namespace    MaxNamespace (64M), MaxRecords (100,000)
//	all            MaxBytes (256M)
//	episodes       MaxAge (90 days); 2K each
//	a note         100 kB
//	pins           MaxPins (2K) a namespace; one more is an [ErrPins] that names what to unpin
//	uses           8 of a record, the newest
//	taken back     MaxWithheld (1000)
//	tombstones     100,000
//	vectors        MaxVectors (128M), a namespace half of it
//
// At 80 % of a bound what counts no longer leaves the disk: old versions, passages that were written twice, what has expired. At the bound itself records
// go until 87 % are left: those that wait for a person's word first, then superseded facts, episodes that nobody was ever given, facts and
// notes likewise, and what was recalled; in each class the oldest. What has the origin of the user goes last, and only where it is over the bound by itself; pins
// never go. [Store.Foresee] says what would stay of many records that are to be added. Of all namespaces together those that were not written to
// for longest give first. Each of these is an event in the journal and counted in [Stats]. Processes look at the bounds when they first add to a namespace and
// each time they have added a 64th, so several may together pass one by a 64th each.
//
// # Crashes
//
// What [Store.Add] has returned for survives the process (facts, notes and pins also a power cut; episodes one after [Store.Close]). See package archive for
// what damage costs. A [Store.Forget] that is killed has written its tombstones first: the records are found no longer, and the next Forget or [Store.GC] removes
// their bytes, here and elsewhere.
//
// # Concurrency
//
// A Store may be used by many goroutines, and its directory by many processes.
//
// # How it is tested
//
// Bounds are held while 20,000 records come (a million, with PLIMSOLL_TEST_MILLION=1); after a Forget every file is searched for the
// words; what a line holds is fuzzed through both of its readers; two processes of this and of the official memory server write at once
// (e2e). The archive is cut at every byte, and its writers are killed.
package memory
