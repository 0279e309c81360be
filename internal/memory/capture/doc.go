// Package capture makes records of what was said in conversations.
//
//	q := capture.NewQueue(capture.QueueOptions{MaxBytes: 8 << 20, Write: store.Add})
//	q.Put(size, func() []memory.Record { // at once; false means that it was dropped and counted
//		return capture.Episodes(capture.Conversation{Namespace: "project/x", Client: "claude"}, said)
//	})
//
// # Passages
//
// An episode is a passage of what was said, word for word, of at most 2 KiB: a text is cut between paragraphs, lines or
// sentences ([Passages]). It carries the conversation, the turn, the role and the tool. The store keeps identical passages once, with a count. Of a
// text that is longer than 128 passages the beginning and the end are kept. The system's words are never taken.
//
// # Nothing of ours
//
// What Plimsoll itself put into a conversation must not come back as something that was said: blocks of recalled memory
// ([Wrap]), summaries, masks and notes ("[Plimsoll …", "[plimsoll] …"), results of the memory's own tools and of commands that
// call plimsoll, and lines that repeat what was recalled into this conversation ([Conversation].Recalled). All of that is taken
// out before a passage is cut ([Strip]).
//
// # Secrets and origins
//
// Credentials are masked (package internal/secrets) before anything is written. Origins are the caller's to prove: a [Said]
// with the origin of a user keeps it only for words that the user wrote there, in a text that a person may have typed (at most
// 2 KiB). What is quoted in it ("> …", code, elements, long quotations) has the origin of a tool, and so has all else.
//
// # Concurrency and tests
//
// Functions have no state. A [Queue] may be used by any goroutine; it runs one of its own while there is work. Tests hold every
// passage to be a part of its text, run a loop of 200 turns through recall and capture, and fuzz both.
package capture
