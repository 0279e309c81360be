// Package check holds what is made for GitHub and for the MCP registry to the rules of those who read it: the action and its example
// workflow to actionlint, server.json to the registry's own schema. It is a module of its own, so that nobody else compiles these
// tools, and has nothing but tests:
//
//	go -C deploy/check test ./...
package check
