// Package server is the side of the gateway that MCP clients speak to: standard streams
// and streamable HTTP, for servers that somebody else provides as a [transport.Peer].
//
//	h := server.New(server.Options{Open: server.Open})
//	defer h.Close()
//	mux.Handle("/mcp/files", h)
//
//	err := server.Stdio(ctx, os.Stdin, os.Stdout, server.Local(), server.StdioOptions{})
//
// [New] makes an http.Handler for one path, for clients of both protocol versions at once: the one with
// sessions (MCP 2025-03-26 to 2025-11-25: initialize, Mcp-Session-Id, a GET stream, requests
// of the server) and the one without (2026-07-28: every request for itself). A request with
// a modern version in its header or _meta is of the second, any other of the first.
// [Stdio] serves one client, of either protocol version, on a pair of streams.
//
// # Two kinds of sessions
//
// A passed session ([Session].Passed) is the server's own: the server speaks streamable HTTP
// in the client's protocol version, and its status, headers, session ids, event ids and streams reach the
// client as they are, and the client's headers the server. What is kept here is only which
// Peer belongs to which session id, and that may be forgotten.
//
// Any other session is ours. Its id is unguessable and of use to its principal only; it ends
// by DELETE, when nobody used it for [Options].Idle, or when it is the least recently used
// of too many. A request goes on when its client's connection ends; what its answer held
// waits, within bounds, for a GET with Last-Event-ID. In the sessionless version the end of
// the connection takes the request back.
//
// # What a client gets
//
// JSON when the first message of an answer is the response, and server-sent events when
// something comes before it, when the client takes nothing else, or when the answer takes
// longer than [Options].KeepAlive. What a server sends of its own accord goes to the answer
// of the only open request, if there is just one, else to the listening GET stream, else to
// the newest answer; for a client that has no stream open a few messages are kept, and a
// request of the server beyond them is answered with an error. Never to two of them.
//
// Errors made here are JSON-RPC errors with the HTTP status that the specification names:
// 400 for what is no message, a batch, a missing session id or headers that contradict the
// message, 401, 403, 404 for a session that is not known, 405, 406, 408, 413, 415, 429 and
// 503 for what is too much, 502 when a passed server cannot be reached, 500 after a panic,
// which costs the one request.
//
// # Memory
//
// A message of a client is held whole, at most MaxMessage of one and MaxBodies of all. Of
// what comes back small messages are held for slow readers within MaxStored for all sessions
// together; beyond that, and for large ones, the server waits for the client and the bytes
// pass through one buffer of 32 KiB. A client that takes nothing for WriteTimeout is given up.
//
// # Concurrency
//
// A Handler serves any number of requests at once. Nothing of a session outlives
// [Handler.Close], which waits for its peers to be closed. Peers may call from any goroutine;
// a panic in such a call is counted ([Stats]) and ends at most that call.
//
// # How it is tested
//
// Against a scripted peer, over real connections; with the official Go SDK's client, in both
// protocol versions, against a real server; with 1000 sessions, 10,000 calls, slow readers and clients
// that die; with messages of 256 MiB whose allocations are counted; and by fuzzing of raw
// requests and of lines. Every test checks that no goroutine, session or held byte is left.
package server
