// Package gateway puts a policy between MCP clients and MCP servers: a result of any size
// reaches the agent in bounded, valid, navigable pieces, and everything that is not a
// large result, or not allowed, passes byte for byte.
//
//	server := gateway.NewServer(gateway.ServerOptions{
//		Name:  "github",
//		Spool: store,
//		Dial: func(d gateway.Dialing) transport.Peer {
//			return mcpclient.Stdio(mcpclient.StdioOptions{Name: "github", Launch: launch, Shared: d.Shared})
//		},
//		Settings: gateway.Settings{Deny: []string{"delete_*"}},
//	})
//	http.Handle("/mcp/github", mcpserver.New(mcpserver.Options{Open: server.Open}))
//	err := mcpserver.Stdio(ctx, os.Stdin, os.Stdout, server.Local(), mcpserver.StdioOptions{})
//
// A [Session] is the policy for one client over any [transport.Peer]. A [Server] is one
// configured MCP server for any number of clients: it finds out its protocol version, stands between
// protocol versions where client and server differ, and gives each client with a session a process of
// its own. A [Merge] is one endpoint in front of several servers.
//
// # What a client gets
//
// tools/list: all pages of the server in one, in its order, each tool's bytes as the
// server wrote them. What forbids a page is taken out of output schemas
// (schemas that cannot be followed go as a whole), tools that are not allowed are left out, and three are
// added that read kept results: result_page, result_search, result_query. When the server
// has one of these names itself ours begin with plimsoll_.
//
// tools/call and resources/read: under the cap as they came; over it page 1 of the result,
// valid in itself, and a notice that names the calls for the rest. The cap is the client's
// (see [ProfileOf]) unless one is configured. A call with a progress token is told how much
// has come. Tools that are not allowed are refused as unknown ones are, with the reason.
//
// # What is asked of a server beside what clients ask
//
// The other pages of tools/list; tools/list itself when a call comes before any and the
// policy needs to know the tool; server/discover once, where the protocol version of a
// server must be known before a client's message goes to it. The ids of these requests are
// "plimsoll-…". No call of a tool is ever made that a client did not make; refresh makes a
// stored one again, of tools with readOnlyHint only, because the model asked for it.
//
// # Behind a merged endpoint
//
// Tools and prompts are called PREFIX__NAME, at most 64 characters: a longer name ends in
// a digest of itself. Resources keep their URIs and go to the server that listed them, or
// whose template fits. Requests of servers are told apart by their ids, which are changed
// on the way. A server that does not answer takes its own tools away and nothing else; it
// is tried again with growing pauses, and list_changed tells the client. Tasks are not
// served there: their ids do not tell whose they are.
//
// # Concurrency and memory
//
// All methods may be called from any goroutine. What is kept of a session is its open
// requests (at most [MaxOpen]), 32 digests of calls and the client's name: lists of tools
// are kept once for all sessions that got the same. A list is held up to [MaxListBytes]
// while it is edited, what goes beyond stays behind the server's cursor. Reads of kept
// results run beside the calls, at most [MaxReading] in a session. A panic costs the
// request in which it happened.
//
// No text of a call or result goes into an event; names are cut at 64 bytes.
//
// # How it is tested
//
// End to end with a real server in this process, for every pairing of protocol versions and transports:
// what passes is compared byte for byte with what the server says without the gateway.
// The edits on bytes are fuzzed. Results of 256 MiB (PLIMSOLL_GIB=1: 1 GiB) pass while the
// heap is watched, and a thousand sessions come and go without leaving a goroutine.
package gateway
