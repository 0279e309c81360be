package compact

import (
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// misplaced returns for each message of the base whether it is a system message that lost a neighbour that Anthropic demands: such a
// message stands behind a user's and "must precede an 'assistant' message or end the array", as the API puts it. If the client's own
// neighbours are still there, it is false: the client answers for them.
func (w *work) misplaced() []bool {
	found := make([]bool, len(w.base.Messages))
	if !w.base.Dialect.Rules().SystemBetween {
		return found
	}
	const none, note = -1, -2
	before := none
	var last int // the last system message that was kept, while nothing follows it
	last = none
	for i := range len(w.base.Messages) + 1 {
		if i == w.lay.at && w.note != "" {
			if last != none {
				found[last] = true // a user's message follows
			}
			before, last = note, none
		}
		if i == len(w.base.Messages) || w.dropped[i] {
			continue
		}
		role := w.base.Messages[i].Role
		if last != none && i != last+1 && role != wire.RoleAssistant {
			found[last] = true
		}
		last = none
		if role == wire.RoleSystem {
			last = i
			behindUser := before == note || before != none && (w.base.Messages[before].Role == wire.RoleUser || found[before])
			if before != i-1 && !behindUser {
				found[i] = true
				last = none
			}
		}
		before = i
	}
	return found
}

// reminder returns a system message as a user's, in the tags in which Anthropic's own client sends such messages to models that have no
// system messages there.
func (w *work) reminder(i int) []byte {
	var text strings.Builder
	text.WriteString("<system-reminder>\n")
	for _, p := range w.base.Messages[i].Parts {
		if p.Kind == wire.Text {
			text.WriteString(partText(w.base, &p) + "\n")
		}
	}
	return wire.TextMessage(w.base.Dialect, wire.RoleUser, text.String()+"</system-reminder>")
}
