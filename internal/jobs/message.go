package jobs

import (
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/journal"
)

// maxMessage bounds a report in a container's termination message, in bytes: of the last 4,096 bytes some are for what is said before it.
const maxMessage = 3 << 10

// Message returns a report as the last line of a container's termination message, which the engine hands on. What is long goes first where it
// would be too long.
func Message(r *journal.Report) []byte {
	short := *r
	for _, shorten := range []func(){
		func() {},
		func() { short.Window.NoProxy, short.Remembers, short.Limits = "", "", nil },
		func() { short.Orphans, short.Leftovers, short.Warnings = nil, nil, nil },
		func() { short.KilledChildren = short.KilledChildren[:min(len(short.KilledChildren), 3)] },
		func() { short.Command = short.Command[:min(len(short.Command), 1)] },
		func() { // the figures alone
			short.Command, short.KilledChildren, short.Window, short.MCP, short.Editor = nil, nil, journal.Window{}, journal.MCP{}, journal.Editor{}
			short.Tool, short.Variant, short.Project, short.Resume = "", "", "", ""
		},
	} {
		shorten()
		if text, err := json.Marshal(short); err == nil && len(text) < maxMessage {
			return append(text, '\n')
		}
	}
	return nil
}

// ParseMessage takes a termination message apart: what was said, and the report, nil where there is none.
func ParseMessage(message string) (said string, r *journal.Report) {
	i := strings.LastIndex("\n"+message, "\n{")
	if i < 0 || json.Unmarshal([]byte(message[i:]), &r) != nil || r == nil || r.Schema != journal.ReportSchema {
		return message, nil
	}
	return message[:i], r
}
