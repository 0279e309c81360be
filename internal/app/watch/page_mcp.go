package watch

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

// mcpPage returns the page with MCP servers and tools by the size of all their results so far.
func mcpPage(s source) (dashboard.Page, bool) {
	return dashboard.TablesPage("mcp", "MCP", func(context.Context) ([]*dashboard.Table, error) {
		t := &dashboard.Table{Title: "Tools by size", Empty: "No MCP server was called yet: plimsoll mcp -- SERVER", Columns: []dashboard.Column{
			{Name: "Server"},
			{Name: "Tool"},
			{Name: "Calls", Kind: dashboard.Count},
			{Name: "Failed", Kind: dashboard.Count},
			{Name: "From the server", Kind: dashboard.Bytes},
			{Name: "To the agent", Kind: dashboard.Bytes},
			{Name: "Average", Kind: dashboard.Bytes},
			{Name: "95th percentile", Kind: dashboard.Bytes},
			{Name: "Largest", Kind: dashboard.Bytes},
			{Name: "Kept to be paged", Kind: dashboard.Count},
			{Name: "Last call", Kind: dashboard.Time},
		}}
		rows, err := mcp.Stats(s.core, "")
		for _, r := range rows {
			t.Add(r.Server, r.Tool, r.Calls, r.Failed, r.UpstreamBytes, r.DeliveredBytes, r.AverageBytes, r.P95Bytes, r.MaxBytes, r.Spilled, r.Last)
		}
		return []*dashboard.Table{t}, err
	}), true
}
