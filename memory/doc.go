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
// of Options.Elsewhere. An id and a keyed digest stay, so that a client that sends its history again does not bring them back.
//
// # Bounds
//
//	a namespace    MaxNamespace (64M), MaxRecords (100,000)
//	all            MaxBytes (256M)
//	episodes       MaxAge (90 days); 2K each
//	a note         100 kB
//	pins           MaxPins (2K) a namespace; one more is an [ErrPins] that names what to unpin
//
// # Concurrency
//
// A Store may be used by many goroutines, and its directory by many processes.
package memory
