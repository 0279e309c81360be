// Package setup makes the five changes by which Plimsoll is there without being typed, and takes them out again: the shell hook in
// the shell's file, the gateway in front of the MCP servers of clients that no run starts, the status line of Claude Code with
// notices, `plimsoll run` before the agents that editors start, and a bound of what definitions of tools take.
//
//	r, err := setup.Do(ctx, setup.Options{Ask: ask}) // asks what concerns what is installed; Yes answers them as proposed
//	r, err = setup.Undo(ctx, setup.Options{})
//
// # How files are changed
//
// Every change but those of MCP servers and of agents in editors (which are [wrap]'s) puts one piece of text into a file and touches no other byte. What was put
// where is recorded in setup.json of the state directory, with the digests of the file before and after, and none of the
// file's own text: such files hold keys. [Undo] takes the piece out, and the file is what it was to the byte; when it has been changed
// since, only the piece goes, and that is said. A file that was made is removed with the folders that were made for it.
//
// All changes are computed before one is made. The record is written first, so a program that is killed in between can be
// undone. If a change fails, those before it are taken back. Files are replaced as a whole, with their mode, and only if they are
// still what they were when the change was shown. A second call changes nothing.
//
// A symbolic link is followed to a file below the home directory, and that is said. One that leads out of it is left alone unless
// Options.FollowLinks is set, as is a file that is none.
//
// # Concurrency and tests
//
// Two programs at once wait for each other by a lock on the record. The tests hold that undoing gives back the very bytes of
// every kind of file, also by a fuzz target, and that a failure in the middle leaves everything as it was.
package setup
