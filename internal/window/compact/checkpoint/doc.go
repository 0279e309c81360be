// Package checkpoint keeps what was done to a conversation, so that the next request of it
// gets the same bytes again: a log of cuts, each made of all messages up to one, and of decisions, each about a message that was sent
// for the first time.
//
// Agents send their whole history with every turn. Once a part of it was cut or summarised,
// that must not be done anew each time: a model would be paid for each summary, and any
// difference in the bytes would make the provider's prompt cache miss from there on. A
// [Checkpoint] is the result of one compaction, written as patches over the client's own
// messages, stored under the digest of the messages it covers and the credential's [Scope].
//
//	store, err := checkpoint.Open(checkpoint.Options{Dir: dir, Journal: j})
//	scope := store.Scope(credential)
//	unlock, err := store.Lock(ctx, scope, conversation) // one compaction of it at a time
//	log := checkpoint.Log(store, scope, chain, 0)        // chain[i] is the digest of messages 0..i
//	d, err := store.Freeze(scope, decision, nil)
//	…
//	c, err = store.Put(scope, made, cut)
//	unlock()
//
// Messages that were kept are not in a checkpoint: they come from the client's own request, with
// the cache marks it has moved since.
//
// # Several processes
//
// Stores with one directory share what they keep. The first of two that make the same
// checkpoint wins, and [Store.Put] gives the other one the winner's, so both send the same
// bytes. A checkpoint of a later [Checkpoint].Generation replaces one of an earlier one, and
// one that is clearly smaller replaces one of the same.
//
// # What is on the disk
//
//	DIR/key                       the key of the HMAC that turns a credential into a scope
//	DIR/SCOPE/DIGEST.ck           a checkpoint
//	DIR/SCOPE/DIGEST-GEN.cut      the text that compaction cut, to be shown
//	DIR/SCOPE/NAME.damaged-TIME   a file that failed its checksum, set aside
//
// Files are 0600, directories 0700, every file is written as a whole or not at all and
// carries a checksum. Bytes, files and age (since the last use) are bounded; the oldest go
// first, and every bound that acts is a journal.WindowStore. A disk that is full or gone
// costs the persistence, not the request: the checkpoint stays in memory. Options without a
// Dir keep everything in memory; a nil *Store keeps nothing.
//
// A [Store] is safe for concurrent use. Tests cut files at every byte, fill the disk, race
// writers of several stores, and count what the bounds leave.
package checkpoint
