package run

import (
	"fmt"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// toolsRow is what the tools plane did; "" for a run whose MCP servers, if it had any, were
// not behind the gateway.
func toolsRow(m journal.MCP) string {
	if m.Calls == 0 {
		return ""
	}
	row := fmt.Sprintf("%s to MCP servers, %s sent, %s delivered", limit.Count(m.Calls, "call"), limit.Bytes(m.UpstreamBytes).Human(), limit.Bytes(m.DeliveredBytes).Human())
	if m.Spilled > 0 {
		row += fmt.Sprintf(" · %s came in pages", limit.Count(m.Spilled, "result"))
	}
	return row
}
