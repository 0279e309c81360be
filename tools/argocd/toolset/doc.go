// Package toolset is the MCP tools that agents use against Argo CD.
package toolset
