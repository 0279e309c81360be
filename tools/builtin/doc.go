// Package builtin is an MCP server made of Go functions, as a [peer.Peer].
package builtin
