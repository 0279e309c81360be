// Package transport defines the messages between the parts of the tools plane: a client's
// message on its way to an MCP server, and the frames that come back for it.
//
//	MCP client ──► server ──► gateway ──► bridge ──► client ──► MCP server
//	           ◄──        ◄──         ◄──        ◄──        ◄──
//
// Each arrow is a [Peer]: it takes a [Message] and hands what comes back for it to a
// [Receiver], one [Frame] at a time. The package server speaks to MCP clients (standard streams,
// HTTP) and calls a Peer; the package client speaks to MCP servers and is one; what lies between
// is both, so that the same parts serve every pairing of transports.
//
// A frame is the bytes of a message as its sender wrote them. A small one is whole in
// memory; of a large one there is a beginning and a reader for the rest, so that a result
// of a gigabyte passes through in constant memory. Nothing here decodes a message and
// encodes it again.
//
// # Concurrency
//
// A Peer may be called by many goroutines. The calls of one Receiver never overlap, and
// Done is the last of them. Receive may take its time: so a slow client slows the
// server down, so what must go on meanwhile must not wait for it.
package transport
