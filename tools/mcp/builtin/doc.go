// Package builtin is an MCP server made of Go functions, as a [transport.Peer].
//
//	type listing struct {
//		Project string `json:"project,omitempty" jsonschema:"Only applications of this project"`
//		Page    int    `json:"page,omitempty" jsonschema:"Page, from 1"`
//	}
//
//	s, err := builtin.New(builtin.Options{Name: "argocd", Version: version, Tools: []builtin.Tool{
//		builtin.Typed(builtin.Tool{
//			Name: "list_applications", Description: "Lists applications.", Hints: builtin.Hints{ReadOnly: true, Idempotent: true},
//		}, func(ctx context.Context, c *builtin.Call, in listing) (*builtin.Result, error) {
//			…
//			return builtin.JSON(page)
//		}),
//	}})
//	g := gateway.NewServer(gateway.ServerOptions{Name: "argocd", Builtin: true, Dial: func(gateway.Dialing) transport.Peer { return s.Dial() }, …})
//
// The gateway in front of it bounds and pages what the tools answer, as it does for any
// server; an endpoint serves it over standard streams or HTTP.
//
// # What it speaks
//
// Both protocol versions of MCP, at the same time: initialize, of 2025-11-25 and older, and
// server/discover, of 2026-07-28. Nothing has to be remembered about a client, so there are
// no sessions here. tools/list is one page, sorted, with all four hints on each tool.
// subscriptions/listen is acknowledged and ends, because the tools never change. Everything
// else that is no notification is answered with an error: -32601 for a method that is not
// known, -32602 for params that are wrong and for a tool that is not known, with the nearest
// name.
//
// # Answers
//
// A result is one block of text. [Result].Stream writes it as it comes: up to 32 KiB are
// held, then the tool waits for its reader, and what is there can be read although the tool
// waits for more. Bytes that are no UTF-8 become U+FFFD. An error of a tool is a result with
// isError, which models read and act on; so is a panic, without its text, and it is counted
// ([Stats]) and told to the journal. An error after the first byte of a stream breaks the
// message off.
//
// A call ends when its client takes it back (notifications/cancelled, or by closing its
// connection), when its Peer is closed and when the server is: its context ends, and the
// receiver is told Done at once, whatever the tool is doing.
//
// # Arguments
//
// [Typed] infers the schema of a struct and reads arguments into it: strictly, so that a
// misspelled filter is never a filter that is not there, and leniently in what models write
// in the wrong type without meaning something else.
//
// # Concurrency and memory
//
// All methods may be called by any goroutine, and Run is called by many at once. Each open
// call has one goroutine, and one more while it streams; there are at most Options.MaxCalls,
// of all clients together, and one more is refused. A client costs a few words. Measured: a
// call takes 40 µs and 3 KB; a stream of 64 MiB holds 110 KiB, at 90 MB/s.
//
// # How it is tested
//
// With the official client of both protocol versions, over HTTP and standard streams, through endpoint and
// gateway: that each call is given its own client's headers, and that what is taken back
// ends. Alone: a thousand calls at once, a stream of 64 MiB with the heap watched, three
// thousand clients that leave nothing behind. Messages, arguments (against encoding/json) and
// streams in pieces (against package rawjson) are fuzzed.
package builtin
