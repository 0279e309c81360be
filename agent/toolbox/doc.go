// Package toolbox gives an agent the tools of MCP servers and of Go functions.
//
//	box, err := toolbox.New(ctx, toolbox.Options{
//		Servers: []toolbox.Server{
//			{Name: "files", Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "."}},
//			{Name: "wiki", URL: "https://wiki.example.com/mcp", Header: header},
//		},
//		Functions: []builtin.Tool{builtin.Typed(builtin.Tool{Name: "now", Description: "The time."}, now)},
//	})
//	defer box.Close()
//	a, err := agent.New(agent.Options{Model: model, Tools: box, Compose: prompt.Compose(prompt.Options{})})
//
// A [Toolbox] is a client of a gateway (package internal/tools/gateway) in front of each server: a
// result of any size goes to a spool on the disk, and the model gets a page of it and the
// tools result_page, result_search and result_query that read the rest. A server in this
// process (Peer) and a gateway that is there already (Gateway) can be given too.
//
// # What a model sees
//
// Functions and the tools of a single server have their own names; those of several servers
// are called NAME__TOOL, as behind a merged gateway. Letters that models' providers refuse
// become "_", what is longer than 64 ends in a digest. Descriptions end at
// builtin.MaxDescription bytes. Schemas lose what providers refuse at their top ($schema,
// anyOf and the like); one that is none, or longer than 64 KiB, is shown as any object.
// The order does not change without need: functions, servers as they were given, each one's
// tools by name, and last those that read kept results.
//
// A result is its texts, one below the other. Images, audio and other data are described
// (kind, type, size) and not held; links to resources are named; structured content is shown
// where there is no text; nothing is "(no output)". Errors of tools, of servers and of the way
// to them are outputs that are marked as failed and describe the failure.
//
// # Before a call
//
// [Toolbox.Check] holds arguments against the schema and names the corrections: the nearest names
// of a tool that is not there, the path of each argument that is wrong. It is milder than the
// schema. What means the right thing ("20" for 20) and what it does not know it leaves to the
// server; a schema that would take for ever costs a bounded number of steps.
//
// # Servers that fail
//
// A process that ends fails the calls under way and is started again by the next call; one
// that does not stay up is tried with growing pauses, and calls say so meanwhile. No call is
// ever made twice. A server that did not answer at [New] is tried again when [Toolbox.List]
// is called, after a second at first and a minute at last. The end of a call's context cancels
// it at the server too, and Call does not wait for that. What servers ask of their client
// (input, a model, files) is refused at once: nobody is there to be asked.
//
// # Concurrency and memory
//
// All methods may be called from any goroutine; chunk is called by the goroutine of the call.
// A call holds the text of its result, about 10 KB (Options.MaxResult, and [MaxText] whatever
// a Gateway lets pass), and 10 KB of buffers, whatever the server sends. Measured: 64 MiB pass
// with 240 KiB of live heap, and 60 results of 1 MB leave nothing. Lists are bounded by
// [MaxTools] and [MaxToolBytes], arguments by [MaxArguments]. At most gateway.MaxReading
// reads of kept results run at once, more wait.
//
// # How it is tested
//
// With real servers of both protocol versions as processes, on pipes and over HTTP, with functions, and
// with one that says what it is told to the letter: 50 calls at once, servers that die, forget,
// ask, stay silent and change their lists. What arguments are refused is compared with package
// jsonschema, results in pieces with results whole; both are fuzzed. Live heap is measured
// while 64 MiB pass.
package toolbox
