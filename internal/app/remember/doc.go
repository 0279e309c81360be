// Package remember joins the memory with what fills it and what asks it: the proxy of a run and of the daemon, and Plimsoll's own
// agents.
//
//	m := remember.Open(app, settings, remember.Options{Journal: events, Project: project.Key, Warn: app.Warn})
//	defer m.Close()
//	plane, err := window.Open(app, settings, window.Options{Keeper: m.Keeper(), KeepTurns: m.Turns(), Recaller: m.Recaller(), …})
//
// Nothing is opened until there is something to keep: a run without a compaction does not touch the memory. What is kept is written by
// a queue, off the way of requests. Only where the memory is on is the index read, in the background at the start; until that is done, and
// where an answer would take too long, nothing is added to a prompt.
//
// What a client's messages are is told by its form (internal/window/client): a prompt that a person typed at a terminal has the origin user, what
// a model wrote agent, and all else tool. Inside another run nobody types: whatever stands there has the origin tool.
package remember
