// Package bridge lets a client of the older versions of MCP work with a server that speaks only the newest. The bridge is a
// [transport.Peer] over a transport.Peer.
//
//	version, err := bridge.Detect(ctx, next, transport.Message{}, bridge.Options{})
//	…
//	p := bridge.Legacy(next, o) // a client of 2025-11-25 or older over a server of 2026-07-28
//
// There is no bridge the other way: a client of 2026-07-28 falls back by itself. The table in docs/bridge.md lists how each feature crosses
// and what is refused; it is part of the contract of this package.
//
// # What differs
//
// A legacy server asks its client in the middle of a call and waits. A modern one answers input_required, and is sent the request again
// with the inputs. So the bridge asks its client by requests and repeats the call with the answers; it holds nothing at the server.
//
// Messages are edited as bytes: ids, tokens and members of _meta are put in and taken out,
// everything else keeps its order, its numbers and its unknown members. A large response is
// edited at its beginning while it streams; nothing of it is held.
//
// # Concurrency
//
// A bridge may be called by many goroutines; it serves one client. Listen returns at once and tells
// Done when its context ends. A receiver may answer from within Receive.
//
// # What to expect
//
// HTTP headers of the client do not cross, for they are of another protocol version:
// messages go on with a nil Header, and the connection to the server makes its own. A server's 401 or 403 is handed on by Open.
//
// Errors made here name the server as Options.Server does and say what to do.
//
// # How it is tested
//
// Each row of the table has a test of its name, which TestTable demands
// and runs, against a server written for it (internal/testing/toolserver) over pipes and over HTTP.
// The official SDK's client runs through the bridge. Fuzz targets hold the edits to valid
// JSON that keeps every member.
package bridge
