// Package bridge stands between the two protocol versions of MCP: a client of one and a server of the
// other. Both of its bridges are a [transport.Peer] over a transport.Peer.
//
//	version, err := bridge.Detect(ctx, next, transport.Message{}, bridge.Options{})
//	…
//	p := bridge.Modern(next, o) // a client of 2026-07-28 over a server of 2025-11-25 or older
//	p := bridge.Legacy(next, o) // a client of 2025-11-25 or older over a server of 2026-07-28
//
// The table in docs/bridge.md says how each feature crosses, where a call is held open
// and what is refused; it is part of the contract of this package.
//
// # What differs
//
// A legacy server asks its client in the midst of a call and waits. A modern client does
// not listen for that: it gets the answer input_required, and sends its request again with
// the inputs. So [Modern] holds the call open at the server, under a requestState that
// cannot be guessed, is good once, and belongs to one principal and one request; the number
// of such calls, their time and their rounds are bounded. [Legacy] holds nothing at the
// server: it asks its client by requests and repeats the call with the answers.
//
// Messages are edited as bytes: ids, tokens and members of _meta are put in and taken out,
// everything else keeps its order, its numbers and its unknown members. A large response is
// edited at its beginning while it streams; nothing of it is held.
//
// # Concurrency
//
// A bridge may be called by many goroutines. Modern serves any number of clients: each
// principal, clientInfo and set of capabilities has a session of its own with the server
// when Options.Open can make one. Legacy serves one client. Listen returns at once and tells
// Done when its context ends. A receiver may answer from within Receive.
//
// # What to expect
//
// HTTP headers of the client do not cross, for they are of another protocol version:
// messages go on with a nil Header, and the connection to the server makes its own. What a connection
// needs of the client's (credentials) Options.Open can take from the first request; a
// server's 401 or 403 is handed on by Open.
//
// Errors made here name the server as Options.Server does and say what to do. No argument,
// answer or requestState is in an event.
//
// # How it is tested
//
// Each row of the table has a test of its name for each direction, which TestTable demands
// and runs, against a server written for it (internal/testing/toolserver) over pipes and over HTTP.
// The official SDK's client runs through both bridges. Fuzz targets hold the edits to valid
// JSON that keeps every member, and the requestState to its seal.
package bridge
