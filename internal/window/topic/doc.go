// Package topic finds where one task of a conversation ends and another begins, by the structure of the request that an agent sends.
//
//	if b, ok := topic.Newest(r, topic.Options{Idle: sinceTheLastRequest}); ok && due {
//		// what stands before message b.At belongs to other tasks: the best place for a cut
//	}
//
// # What is a boundary
//
//   - [Prompt]: the user says something after the agent's final answer, an answer that called no tool;
//   - [Idle]: the user says something after 30 quiet minutes, also where the agent was interrupted;
//   - [Clear]: the client notes among the messages that the user began anew (Claude Code's /clear);
//   - [Directory]: the client notes that it works in another directory than before (Codex's environment_context);
//   - [Branch]: the agent has had git switch to another branch, and no error came back;
//   - [Todos]: the agent has put another list of things to do in place of the one that it had, with none of the old items.
//
// Words do not count. What a text is about, as TextTiling measures it, tells the topics of a real dialogue apart no better than even
// cuts do (Pk 46 to 51 against 46).
//
// Many clients keep nothing of what was said before /clear, and then there is no boundary to find: a new conversation has begun.
// A cd in a command is none, because agents change into a directory for a single command.
//
// # Who can make one
//
// No result of a tool can: results are never looked at but for whether they are errors, whatever they hold, and text beside a result
// is none of a person's. What the client writes in the role of the user is no prompt. Where a profile of the client proves which words
// a person typed ([Options.Typed], package client's Speaker), only these are. An agent that follows what a page tells it may switch
// branches or write lists; the worst that comes of it is that a cut that is due begins elsewhere.
//
// # Bounds and tests
//
// A request is read once, in its order; the arguments of calls are looked into only where a tool keeps a list or the command has "git"
// in it, and not above 256 KiB. The package is in the window plane, and not in
// the memory, because the proxy and the agents make room by it, and no plane imports another. The fuzz target holds every boundary to
// lie inside the request, and puts hostile results into it: the boundaries stay where they are.
package topic
