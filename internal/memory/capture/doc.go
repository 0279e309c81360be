// Package capture makes records of what was said in conversations.
//
//	q := capture.NewQueue(capture.QueueOptions{MaxBytes: 8 << 20, Write: store.Add})
//	q.Put(size, func() []memory.Record { // at once; false means that it was dropped and counted
//		return capture.Episodes(capture.Conversation{Namespace: "project/x", Client: "claude"}, said)
//	})
//
// An episode is a passage of at most 2 KiB, word for word ([Passages]); of a text of more than 128 the beginning and the end are kept. What
// Plimsoll itself put into a conversation is taken out before ([Strip]): it must not come back as something that was said. Credentials are
// masked. The origin of a user is only for words that a person may have typed there; what is quoted in them has the origin of a tool.
//
// Functions have no state, and a [Queue] may be used by any goroutine.
package capture
