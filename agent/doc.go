// Package agent is a loop between a language model and tools that stays inside its limits: it
// cannot grow, go in circles without end, or lose a conversation.
//
//	model, err := openai.New(openai.Options{Key: key, Model: "gpt-5.1"})
//	tools, err := toolbox.New(ctx, toolbox.Options{Functions: functions})
//
//	a, err := agent.New(agent.Options{Model: model, Tools: tools, System: "You look after a cluster."})
//	defer a.Close()
//
//	result, err := a.Ask(ctx, agent.Query{Text: "What is out of sync?", Session: "7f3a"})
//	fmt.Println(result.Outcome, result.Answer)
//
// A [Model] is one request to a language model: agent/openai, agent/anthropic and
// agent/gemini make them for the protocols that nearly everybody speaks. [Tools] are the tools for the model to call:
// agent/toolbox makes them of MCP servers and Go functions. [Conversations] keep what was said:
// agent/conversation does that on disk. Each is a small interface, and anything may implement it.
//
// # The steps of a query
//
// The question goes to the end of its session. Then, until the model answers without calls:
//
//   - The request is made to fit the window of the model, each one, the first too. Holes in
//     the history are mended on the way.
//   - The model is asked. What passes by itself is tried again, with growing pauses; an answer
//     that the output limit cuts is asked for in parts.
//   - All calls of the answer are checked. When one is malformed none runs, and the model is
//     told what is wrong.
//   - The calls run at once, each with a time limit. Each ends in exactly one result, whatever
//     its tool does: a panic, a time limit, a cancellation are results too.
//   - Steps that go in circles are noticed: the model is told once, then the query ends.
//
// The last step is without tools, so that the model answers with what it has. How a query
// ended is its [Outcome]; what there is of an answer is in [Result].Answer with any of them.
//
// # What is bounded
//
// [Limits] says it all, with the defaults. A query holds three things, which
// [Run.MemoryUsage] counts as they change:
//
//	messages       40, and no more than the window takes; 2 MiB, and the newest step
//	step results   8 KiB of each call, and 4 MiB of all
//	call history   10 calls, for the recognition of loops
//
// Of a tool's result the model gets up to 1 MiB divided by the calls of its step, at least
// 16 KiB, before the window is looked at. So 64 queries at once hold some 200 MiB when all of
// them get the largest results there are, and a few hundred KiB otherwise. A finished query
// leaves nothing in memory but its session, when no store was given: those are 64 sessions
// and 16 MiB.
//
// # What survives
//
// A message is in the store before anything comes of it: the question before the model is
// asked, the calls before a tool runs, each result as soon as those before it are there. When
// a query ends, results for the calls that still run are stored before their tools are told.
// When the process dies, the calls without results get some at the next question, which say
// that they may have run. So every history that reaches a provider has a result for each
// call: providers refuse others.
//
// A tool that does not return when its time is over is given up. Nothing in Go can end it, so
// it is counted in [Stats].Leaked, and after 16 of its name, or 128 of all, no more are begun.
//
// # Concurrency
//
// All methods of [Agent] and [Run] may be called from any goroutine. A session is one query's
// at a time: further ones wait in their order, at most [Limits].MaxWaiting. Events of a query
// come one at a time, from several goroutines. A query has one goroutine, and one more for
// the request or each call that runs.
//
// # How it is tested
//
// Time is testing/synctest's. Every request of the tests goes to a provider that is as strict
// as the real ones (internal/testing/scripted). Queries end by every road there is while tools run:
// cancelled, timed out, panicked, the agent closed, the store failing, the process dead; the
// next turn must be accepted. A thousand queries, half of them with results of 1 MB, may leave
// 4 MiB on the heap, and leave about 0.6. What is counted is fuzzed against a recount, the
// cutting of histories against the pairing of calls and results.
package agent
