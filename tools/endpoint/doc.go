// Package endpoint is the side of the gateway that MCP clients speak to: standard streams
// and streamable HTTP, for servers that somebody else provides as a [peer.Peer].
//
// [New] makes an http.Handler for one path. It takes clients of the session era (MCP
// 2025-03-26 to 2025-11-25: initialize, Mcp-Session-Id, a GET stream, requests of the
// server) and of the stateless one (2026-07-28: every request for itself). [Stdio] serves
// one client on a pair of streams.
package endpoint
