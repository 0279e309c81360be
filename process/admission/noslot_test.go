package admission

import "testing"

// An MCP server that a gateway has started must not keep agents waiting for a slot.
func TestWhatTakesNoSlotKeepsNobodyOut(t *testing.T) {
	l := open(t)
	acquire(t, l, Request{Tool: "mcp-files", NoSlot: true, Force: true})
	acquire(t, l, Request{Tool: "mcp-files", NoSlot: true, Force: true})
	acquire(t, l, Request{SlotsTotal: 1})
	if _, err := l.Acquire(t.Context(), Request{Tool: "codex", SlotsTotal: 1}); err == nil {
		t.Error("a second run got the only slot")
	}
}
