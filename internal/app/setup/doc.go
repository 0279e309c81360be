// Package setup makes the five changes by which Plimsoll is there without being typed, and takes them out again: the shell hook, the gateway
// in front of the MCP servers of clients that no run starts, the status line of Claude Code with notices, `plimsoll run` before the agents
// that editors start, and a bound of what definitions of tools take.
//
//	r, err := setup.Do(ctx, setup.Options{Ask: ask}) // asks what concerns what is installed; Yes answers them as proposed
//	r, err = setup.Undo(ctx, setup.Options{})
//
// A change puts one piece of text into a file and touches no other byte. The record, setup.json in the state directory, has the digests of
// the file before and after and none of its text, and is written first: a program that is killed in between can be undone. [Undo] gives back
// the file to the byte, or, when it has been changed since, takes out the piece alone. If a change fails, those before it are taken back;
// files are replaced whole, and only if they are still what was shown.
//
// A symbolic link is followed below the home directory only, unless Options.FollowLinks is set. Two programs at once wait for each other.
package setup
