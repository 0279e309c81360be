package app

import (
	"github.com/plimsoll/plimsoll/journal"

	"github.com/plimsoll/plimsoll/app/mcp"
)

// collectTally puts what the gateways of this run did into its report.
func (x *execution) collectTally(run string) {
	rows, err := mcp.TakeTally(x.app.Core, run)
	if err != nil {
		x.warn("mcp", "not all that the MCP gateway did is in the report: "+err.Error())
	}
	for _, r := range rows {
		x.journal.Append(journal.ToolsTallied{
			Server: r.Server, Tool: r.Tool, Calls: r.Calls, UpstreamBytes: r.UpstreamBytes, DeliveredBytes: r.DeliveredBytes, Spilled: r.Spilled,
		})
	}
}
