package top

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// A run has what the definitions of all its servers take, each of them once; a gateway of no run has its own.
func TestARunHasTheDefinitionsOfItsGateways(t *testing.T) {
	gateway := func(id, parent, tool string, tokens, deferred int) *runs.Run {
		return &runs.Run{Entry: runs.Entry{
			ID: id, Kind: runs.KindGateway, Parent: parent, Tool: tool, Started: noon, Outcome: runs.Running,
			MCP: journal.MCP{DefinitionTokens: tokens, Deferred: deferred},
		}}
	}
	list := newRowSet([]*runs.Run{
		{Entry: runs.Entry{ID: "rrrr0001", Kind: runs.KindRun, Tool: "gemini", Started: noon, Outcome: runs.Running}},
		gateway("gggg0001", "rrrr0001", "mcp:notes", 4000, 0),
		gateway("gggg0002", "rrrr0001", "mcp:notes", 4000, 0), // of a second session
		gateway("gggg0003", "rrrr0001", "mcp:cluster", 8000, 30),
		gateway("gggg0004", "rrrr0001", "mcp:slow", 0, 0), // has listed nothing yet
		gateway("gggg0005", "", "mcp:alone", 700, 0),
	}, noon, nil).list()
	if len(list) != 2 || list[0].DefinitionTokens != 12_000 || list[0].DeferredTools != 30 || list[1].DefinitionTokens != 700 {
		t.Errorf("%+v", list)
	}
}
