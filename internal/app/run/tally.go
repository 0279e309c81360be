package run

import (
	"github.com/plimsoll/plimsoll/journal"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
)

// collectTally adds what the MCP gateways of this run did to its report.
func (x *process) collectTally(run string) {
	rows, err := mcp.TakeTally(x.app.Core, run)
	if err != nil {
		x.report.warn("mcp", "not all that the MCP gateway did is in the report: "+err.Error())
	}
	for _, r := range rows {
		x.report.journal.Append(journal.ToolsTallied{
			Server: r.Server, Tool: r.Tool, Calls: r.Calls, UpstreamBytes: r.UpstreamBytes, DeliveredBytes: r.DeliveredBytes, Spilled: r.Spilled,
			DefinitionTokens: r.DefinitionTokens, Deferred: r.Deferred,
		})
	}
	done := x.report.reporter.Report()
	if text := tooManyDefinitions(done.MCP, done.Window); text != "" && !defers(done.Tool) {
		x.report.warn("mcp", text)
	}
}
