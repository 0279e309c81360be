// Package acp stands between an editor and an agent that speak the Agent Client Protocol over pipes.
//
// A [Relay] passes the bytes of both on as they come, and keeps two small tables: the requests of the editor that are open, and the
// sessions. With the first it can answer for an agent that was ended ([Relay.Fail]), where the editor would wait for ever; with
// the second it says what goes on ([Relay.State]). The only bytes that it changes are the commands of MCP servers in session/new, session/load and
// session/resume, which it puts behind the gateway.
//
// # When it reads the messages
//
// [Spoken] reports by a command's words whether it may speak the protocol. The first line decides: unless it is the request
// initialize with a protocolVersion, nothing after it is looked at.
//
// # Bounds
//
// A line is held up to 1 MiB on its way to the agent and up to 64 KiB on its way back; a longer one passes in pieces, and only its
// id is looked for. At most 256 open requests and 128 sessions are known at once; what is beyond passes and is counted.
//
// The protocol is described at https://agentclientprotocol.com/protocol/overview, version 1.
package acp
