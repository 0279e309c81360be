package compact

import (
	"slices"

	"github.com/plimsoll/plimsoll/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// standing is what may be done to a unit.
type standing uint8

const (
	free     standing = iota // old: cut, mask, summarise, drop
	newest                   // among the newest messages: spared on the first level
	preamble                 // before the task, or the system's word between messages: spared up to the last level
	open                     // still running: only its results may be cut, at last
	sacred                   // the system's word before the model's first, the task, the newest user message
)

// A layout says where everything stands.
type layout struct {
	units    []wire.Unit
	standing []standing // of each unit
	first    int        // message with the task; -1 when the user said nothing
	latest   int        // newest message of the user's own
	at       int        // where a summary goes: before this message
	turn     int        // first unit after the last message that is no result: the model's running turn
}

// layOut reads where the parts of a conversation are.
func layOut(r *wire.Request, minMessages int) *layout {
	l := &layout{units: r.Units(), first: -1, latest: -1}
	l.standing = make([]standing, len(l.units))
	some := -1 // the first user message, whoever wrote it
	for i := range r.Messages {
		switch spoken(r, i) {
		case byUser:
			if l.first < 0 {
				l.first = i
			}
			l.latest = i
		case byClient:
			if some < 0 {
				some = i
			}
		}
	}
	if l.first < 0 {
		l.first, l.latest = some, some
	}
	spared := len(r.Messages) - minMessages
	began := false // the model has spoken
	for u, unit := range l.units {
		began = began || assistants(r, unit)
		switch {
		case l.holds(u, l.first) || l.holds(u, l.latest):
			l.standing[u] = sacred
			if l.holds(u, l.first) {
				l.at = unit.To
			}
		case unit.Open:
			l.standing[u] = open
		case !began && system(r, unit):
			// Instructions that stand among the messages: Claude Code has them behind the task,
			// Codex declares tools there.
			l.standing[u] = sacred
		case l.first >= 0 && unit.To <= l.first && quiet(r, unit), system(r, unit):
			l.standing[u] = preamble
		case unit.To > spared:
			l.standing[u] = newest
		}
		if m := &r.Messages[unit.To-1]; m.Role == wire.RoleUser && !holds(m, wire.Result) {
			l.turn = u + 1
		}
	}
	if l.first < 0 {
		for l.at < len(r.Messages) && r.Messages[l.at].Role == wire.RoleSystem {
			l.at++
		}
	}
	return l
}

func holds(m *wire.Message, kind wire.PartKind) bool {
	return slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == kind })
}

func (l *layout) holds(u, message int) bool {
	return message >= 0 && l.units[u].From <= message && message < l.units[u].To
}

// quiet tells that a unit before the task is a client's opening words and no work: Gemini CLI
// sets up the context and lets the model say that it got it.
func quiet(r *wire.Request, u wire.Unit) bool {
	for i := u.From; i < u.To; i++ {
		for _, p := range r.Messages[i].Parts {
			if p.Kind == wire.Call || p.Kind == wire.Result {
				return false
			}
		}
	}
	return true
}

func system(r *wire.Request, u wire.Unit) bool {
	for i := u.From; i < u.To; i++ {
		if r.Messages[i].Role != wire.RoleSystem {
			return false
		}
	}
	return true
}

type speaker uint8

const (
	byOthers speaker = iota
	byUser           // the user's own words, or media the user gave
	byClient         // a user's message that the client wrote
)

// spoken tells whose words a message holds.
func spoken(r *wire.Request, i int) speaker {
	m := &r.Messages[i]
	if m.Role != wire.RoleUser {
		return byOthers
	}
	found := byOthers
	var buf []byte
	for _, p := range m.Parts {
		switch p.Kind {
		case wire.Media:
			if !holds(m, wire.Result) { // beside a result it is what the tool showed
				return byUser
			}
		case wire.Text:
			for _, t := range p.Texts {
				buf = wire.Unquote(buf[:0], r.Raw(t))
				text := string(buf)
				if extract.IsSummary(text) {
					return byOthers
				}
				if extract.Own(text) != "" {
					return byUser
				}
				found = byClient
			}
		}
	}
	return found
}

// droppable lists the units that a level may summarise or drop, oldest first.
func (l *layout) droppable(at level) (units []int) {
	for u, s := range l.standing {
		if s == free || s == newest && at >= levelRelax || s == preamble && at >= levelOpen {
			units = append(units, u)
		}
	}
	return units
}

// anchor is the unit that has to stay though it is among the first n of units, or -1. While
// Anthropic's model is in the middle of a turn with tools, that turn must begin with the
// thinking it began with; a summary in front makes the first message that is kept the
// beginning. So the last unit with thinking before it stays.
func (l *layout) anchor(r *wire.Request, units []int, n int) int {
	if r.Dialect != wire.Messages {
		return -1
	}
	start := l.answer(r, l.turn, nil)
	if start == len(l.units) || !thinks(r, l.units[start]) {
		return -1
	}
	gone := make(map[int]bool, n)
	for _, u := range units[:n] {
		gone[u] = true
	}
	kept := l.answer(r, start, gone)
	if kept == start || kept == len(l.units) || thinks(r, l.units[kept]) {
		return -1
	}
	for u := kept - 1; u > start; u-- {
		if gone[u] && thinks(r, l.units[u]) {
			return u
		}
	}
	return start
}

// answer is the first unit from u on, of those not gone, that the model began.
func (l *layout) answer(r *wire.Request, u int, gone map[int]bool) int {
	for u < len(l.units) && (gone[u] || !assistants(r, l.units[u])) {
		u++
	}
	return u
}

func assistants(r *wire.Request, u wire.Unit) bool {
	return r.Messages[u.From].Role == wire.RoleAssistant
}

// thinks tells whether a unit begins with a thinking block.
func thinks(r *wire.Request, u wire.Unit) bool {
	parts := r.Messages[u.From].Parts
	return assistants(r, u) && len(parts) > 0 && parts[0].Kind == wire.Reasoning
}
