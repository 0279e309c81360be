package run

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// toolsRow returns what the MCP gateway did; "" for a run without MCP servers behind the gateway.
func toolsRow(m journal.MCP) string {
	if m.Calls == 0 && m.DefinitionTokens == 0 {
		return ""
	}
	row := "no call to MCP servers"
	if m.Calls > 0 {
		row = fmt.Sprintf("%s to MCP servers, %s sent, %s delivered", limit.Count(m.Calls, "call"), limit.Bytes(m.UpstreamBytes).Human(), limit.Bytes(m.DeliveredBytes).Human())
	}
	if m.Spilled > 0 {
		row += fmt.Sprintf(" · %s came in pages", limit.Count(m.Spilled, "result"))
	}
	if m.DefinitionTokens > 0 {
		row += fmt.Sprintf(" · definitions of about %d tokens", m.DefinitionTokens)
	}
	return row
}

// tooManyDefinitions returns a warning when the tool definitions of the MCP servers take more than a tenth of the model's window; "" when
// they do not, or no window is known.
func tooManyDefinitions(m journal.MCP, w journal.Window) string {
	if w.LimitTokens <= 0 || int64(m.DefinitionTokens) <= w.LimitTokens/10 {
		return ""
	}
	return fmt.Sprintf("the definitions of the tools of its MCP servers take about %d tokens of each request, more than a tenth of the window of %d; deny what is not used, or set tools_max of [mcp]",
		m.DefinitionTokens, w.LimitTokens)
}

// defers reports whether a tool, or the agent for which it translates, loads tool definitions only when it needs them.
func defers(tool string) bool {
	a, ok := profile.Find(tool)
	if ok && a.Adapter != nil {
		a, ok = profile.Find(a.Adapter.Agent)
	}
	return ok && a.DefersTools
}
