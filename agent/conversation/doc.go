// Package conversation keeps what was said to agents and by them, on disk and within bounds.
//
//	store, err := conversation.Open(conversation.Options{Dir: dir})
//	defer store.Close()
//
//	a, err := agent.New(agent.Options{Model: model, Conversations: store})
//	list, err := store.List() // the last written first, with the first question as title
//	err = store.Remove(ctx, "monday")
//
// A [Store] is the agent.Conversations of an agent whose sessions survive its process.
//
// # Files
//
// Each session has a file under a digest of its id, which may be any text of at most 256
// bytes. All names are resolved below the directory (os.Root); it is 0700, files are 0600.
// A file is lines: the length and the CRC-32C of a JSON text, and that text. The first one
// is the head, with the session's id, its begin and its title; each other one is a message.
//
//	00000058 3c1d09aa {"at":"2026-11-20T09:12:44Z","message":{"role":"user","text":"Which …"}}
//
// Append returns when its records are on the disk (fsync). A process that is killed at any
// byte loses at most the record that it was writing: the next one to open the session drops
// what is behind the last whole line, and counts it. Replace, and the first Append of a
// session, write a file beside the old one and rename it.
//
// A line in the middle that is not a record is damage, which no killed process does. The file
// gets another name (KEY.damaged-TIME) and stays for people to look at; the conversation
// goes on with all records that can be read, which may leave holes. The log, the journal and
// [Stats] tell of it. A file of a newer version is left alone and is an error.
//
// When the disk is full Append is an error, and the file is as it was before.
//
// # Bounds
//
//	sessions      MaxSessions (256)   the least recently written go; those in use stay
//	bytes         MaxBytes (64M)      likewise; damaged files count, and at most 16 are kept
//	age           MaxAge (90 days)    since the last message
//	one session   MaxSession (4M)     its oldest turns go, calls together with their results,
//	                                  until a quarter of the bound is free
//	one message   a quarter of that   its text is cut and says so
//
// When a turn alone passes the bound its oldest calls go with their results; its question
// and its last message stay. When all that could go is in use, Append is an [ErrFull]. What
// a bound does is an event in the journal and counted in [Stats].
//
// Processes that share a directory share the bounds. Each looks at all of it when it begins
// a session and when it has written a 64th of MaxBytes, so together they may pass the bound
// by a 64th for each process.
//
// # Concurrency
//
// A session belongs to one [Store.Open] at a time, over all processes (flock(2), LockFileEx).
// The next one waits until its context ends and then gets an [ErrLocked] that names the
// session and who has it. The lock of a process that dies ends with it. Another process' lock
// is looked at five times a second. A Store may be used by many goroutines; so may a
// conversation, though it is made for one.
//
// # What to expect
//
// An append costs a write and an fsync. An open conversation keeps no words in memory, only
// the places of its messages: about 50 bytes for each. Opening one takes the memory of what
// it holds, and never more than about twice MaxSession, however large the file is. List
// reads all files to count their lines.
//
// # How it is tested
//
// Files are cut at every byte and every byte is made wrong; real processes are killed while
// they append and replace; others hold a session, share the bounds, and run into a limit of
// file size and a full disk. The reader and the writer are fuzzed, live heap is measured.
package conversation
