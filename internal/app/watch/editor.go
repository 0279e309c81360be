package watch

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// SessionLines returns lines about the traffic between an editor and an agent, as known at a time: one in all, and one for each open
// session.
func SessionLines(e journal.Editor, at time.Time) []string {
	head := fmt.Sprintf("%d sessions open of %d, %s, longest line %s", e.Open, e.Opened, limit.Count(e.Requests, "request"), limit.Bytes(e.LongestLine).Human())
	if e.Servers > 0 {
		head += ", " + limit.Count(e.Servers, "MCP server") + " behind the gateway"
	}
	if e.Answered > 0 {
		head += ", " + limit.Count(e.Answered, "request") + " answered for the agent"
	}
	lines := []string{head}
	for _, s := range e.Sessions {
		idle := "?"
		if active, err := time.Parse(time.RFC3339, s.Active); err == nil {
			idle = printable.Duration(max(0, at.Sub(active)))
		}
		line := fmt.Sprintf("%s  idle %s", s.Folder, idle)
		if s.SizeTokens > 0 {
			line += fmt.Sprintf(", %s of %s tokens", limit.Tokens(s.UsedTokens), limit.Tokens(s.SizeTokens))
		}
		lines = append(lines, line+"  "+s.ID)
	}
	if more := e.Open - len(e.Sessions); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
