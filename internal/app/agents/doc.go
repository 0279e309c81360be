// Package agents is the commands of Plimsoll's own agents: `plimsoll ask`, `agent serve`, `agent list`
// and `agent sessions`; and the agents of the daemon.
//
//	report, err := agents.Ask(ctx, app, agents.AskOptions{Question: "which applications are degraded?"})
//	os.Exit(report.Status())
//
// An agent is wired from the configuration: which model is asked and with whose key, which MCP
// servers it has, through the gateway of internal/app/mcp, and where its conversations lie. Functions are safe
// for concurrent use. The package is tested by its own tests, by the scripts in cmd/plimsoll/testdata
// and by e2e.
package agents
