// Package memory keeps what was said to agents and by them, and what was drawn from it, on the user's own disk and within bounds.
//
//	store, err := memory.Open(memory.Options{Dir: dir})
//	_, err = store.Add(ctx, memory.Record{Namespace: "project/x", Origin: memory.OriginUser, Text: "We ship on Fridays, never on Mondays."})
//	found, err := store.Search(ctx, memory.Query{Text: "when do we ship?"})
//	_, err = store.Forget(ctx, memory.Filter{IDs: []string{found.Items[0].ID}})
//
// A [Record] is an episode (a passage, word for word), a fact, a note or a pin, with an origin: the user's own words, an agent's, or a tool's. It
// lies in a namespace (user, project/ID, agent/NAME) and in the scope of the credential that it was said with. Adding only appends to the
// archive; a search opens an index of each namespace (package index) and goes by meaning too with Options.Embed (package embed).
//
// What [Store.Add] has returned for survives the process; facts, notes and pins also a power cut. A killed [Store.Forget] has written its
// tombstones: the next one, or [Store.GC], finishes it. A Store may be used by many goroutines, its directory by many processes.
package memory
