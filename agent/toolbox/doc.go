// Package toolbox gives an agent the tools of MCP servers and of Go functions.
package toolbox
