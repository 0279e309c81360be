// Package mcp is the commands of the tools plane: `plimsoll mcp`, `mcp argocd`, `mcp wrap` and
// `stats --mcp`; and the plane itself, for the agents and the daemon.
//
//	plane, err := mcp.Open(app, settings, mcp.PlaneOptions{Journal: events})
//	defer plane.Close()
//	gateway, err := plane.Gateway(server, os.Stderr) // starts no process: the first call does
//
// A [Plane] wires the MCP gateway to what it needs of others: the spool of results, the ledger of
// claims, the sandbox of each server. It is safe for concurrent use once opened; Gateway, ArgoCD and
// Close are for one goroutine. What can be left out (sizes, the ledger) is left out with a warning.
// The package is tested by its own tests and by the scripts in cmd/plimsoll/testdata.
package mcp
