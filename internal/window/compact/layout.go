package compact

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// standing is the treatment that a unit, a message or a call with its results, may get.
type standing uint8

const (
	free     standing = iota // old: cut, mask, summarise, drop
	newest                   // among the newest messages: spared on the first level
	preamble                 // before the task, or a system message between others: spared up to the last level
	open                     // still running: only its results may be cut, at last
	covered                  // up to a compaction of the provider's: never edited, but for results behind it, at last
	sacred                   // system messages before the model's first, the task, the newest user message
)

// A layout holds the position and standing of every unit.
type layout struct {
	units    []wire.Unit
	standing []standing // of each unit
	stays    []bool     // of each unit: a cut leaves it where it is, see declare; nil when there are none
	between  []int      // of those, the units that may only stand between the ones beside them, in order
	first    int        // index of the message with the task; -1 without a user's message
	latest   int        // index of the user's newest own message
	at       int        // where a summary goes: before this message
	edge     int        // index of the first message behind a compaction of the provider's; 0 where there is none
	covered  int        // number of units up to that compaction
}

// newLayout returns the layout of a conversation. Its newest minMessages messages are spared, with the units they belong to.
func newLayout(r *wire.Request, minMessages int) *layout {
	l := &layout{units: r.Units(), first: -1, latest: -1}
	l.standing = make([]standing, len(l.units))
	some := -1 // the first user message, whoever wrote it
	l.setCovered(r)
	for i := l.edge; i < len(r.Messages); i++ {
		switch authorOf(r, i) {
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
		began = began || beginsWithAssistant(r, unit)
		switch {
		case u < l.covered:
			l.standing[u] = covered
			l.at = max(l.at, unit.To)
		case l.contains(u, l.first) || l.contains(u, l.latest):
			l.standing[u] = sacred
			if l.contains(u, l.first) {
				l.at = unit.To
			}
		case unit.Open:
			l.standing[u] = open
		case !began && isSystem(r, unit):
			// Instructions that stand among the messages: Claude Code has them behind the task,
			// Codex declares tools there.
			l.standing[u] = sacred
		case l.first >= 0 && unit.To <= l.first && hasNoCalls(r, unit), isSystem(r, unit):
			l.standing[u] = preamble
		case unit.To > spared:
			l.standing[u] = newest
		}
	}
	l.pinDeclaring(r)
	if l.first < 0 {
		for l.at < len(r.Messages) && r.Messages[l.at].Role == wire.RoleSystem {
			l.at++
		}
	}
	return l
}

// setCovered sets edge and covered by the newest compaction in the request that the provider itself has made, if there is one.
func (l *layout) setCovered(r *wire.Request) {
	edge, part := r.Edge()
	if part == 0 {
		return
	}
	l.edge = edge + 1
	for l.covered < len(l.units) && l.units[l.covered].From <= edge {
		l.covered++
	}
}

// hasPart reports whether a message has a part of a kind.
func hasPart(m *wire.Message, kind wire.PartKind) bool {
	return slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == kind })
}

// contains reports whether a message is in unit u; false for the index -1.
func (l *layout) contains(u, message int) bool {
	return message >= 0 && l.units[u].From <= message && message < l.units[u].To
}

// hasNoCalls reports whether a unit contains neither calls nor results. Before the task such a unit is a client's own opening: Gemini CLI
// sets up the context and lets the model confirm it.
func hasNoCalls(r *wire.Request, u wire.Unit) bool {
	for i := u.From; i < u.To; i++ {
		for _, p := range r.Messages[i].Parts {
			if p.Kind == wire.Call || p.Kind == wire.Result {
				return false
			}
		}
	}
	return true
}

// isSystem reports whether all messages of a unit are system messages.
func isSystem(r *wire.Request, u wire.Unit) bool {
	for i := u.From; i < u.To; i++ {
		if r.Messages[i].Role != wire.RoleSystem {
			return false
		}
	}
	return true
}

// author says who wrote a message.
type author uint8

const (
	byOthers author = iota
	byUser          // the user's own words, or media the user gave
	byClient        // a user's message that the client wrote
)

// authorOf returns the author of a user's message: byUser if it has words of the user or media, byClient if all its words are the client's;
// byOthers for an earlier summary, for results, and for other roles.
func authorOf(r *wire.Request, i int) author {
	m := &r.Messages[i]
	if m.Role != wire.RoleUser {
		return byOthers
	}
	found := byOthers
	var buf []byte
	for _, p := range m.Parts {
		switch p.Kind {
		case wire.Media:
			if !hasPart(m, wire.Result) { // beside a result it is what the tool showed
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

// droppable returns the units that may be summarised or dropped on a level, oldest first; one of l.between comes before the unit in front
// of it.
func (l *layout) droppable(at level) (units []int) {
	for u, s := range l.standing {
		if !l.pinned(u, at) && (s == free || s == newest && at >= levelRelax || s == preamble && at >= levelOpen) {
			units = append(units, u)
		}
	}
	for k := 1; k < len(units) && len(l.between) > 0; k++ {
		if _, ok := slices.BinarySearch(l.between, units[k]); ok && units[k-1] == units[k]-1 { // not without what stands before it
			units[k-1], units[k] = units[k], units[k-1]
		}
	}
	return units
}

// anchorUnits returns which of the first n of units must not be dropped. While Anthropic's model is in the middle of a turn with tools,
// that turn must begin with the thinking it began with, and behind a summary it would begin with the first unit that is kept. So the last
// unit with thinking before that one stays; and where a user's message would begin a turn only because the results before it went, those
// stay too.
func (l *layout) anchorUnits(r *wire.Request, units []int, n int) (stay []int) {
	if !r.Dialect.Rules().SignedThinking {
		return nil
	}
	if start := l.firstAnswer(r, l.currentTurn(r, nil), nil); start == len(l.units) || !beginsWithReasoning(r, l.units[start]) {
		return nil
	}
	gone := make(map[int]bool, n)
	for _, u := range units[:n] {
		gone[u] = true
	}
	for {
		turn := l.currentTurn(r, gone)
		kept := l.firstAnswer(r, turn, gone)
		if kept == len(l.units) || beginsWithReasoning(r, l.units[kept]) {
			return stay
		}
		u := kept - 1
		for u >= turn && !(gone[u] && beginsWithReasoning(r, l.units[u])) {
			u--
		}
		if u < turn { // the turn began earlier before its results went
			u = turn - 2
			for u >= 0 && !beginsWithAssistant(r, l.units[u]) {
				u--
			}
			if u < 0 || !gone[u] || !hasPart(&r.Messages[l.units[u].To-1], wire.Result) {
				return stay
			}
		}
		stay = append(stay, u)
		delete(gone, u)
	}
}

// currentTurn returns the first unit of the turn that the model is in, if the units in gone were not there. A user's message begins a turn
// unless it comes right after results, because the provider joins consecutive messages of one role.
func (l *layout) currentTurn(r *wire.Request, gone map[int]bool) (turn int) {
	answering := false
	turn = l.covered // behind the provider's compaction a turn begins
	for u, unit := range l.units {
		for i := unit.From; i < unit.To && !gone[u]; i++ {
			switch m := &r.Messages[i]; {
			case m.Role == wire.RoleAssistant:
				answering = false
			case m.Role == wire.RoleUser && hasPart(m, wire.Result):
				answering = true
			case m.Role == wire.RoleUser && !answering:
				turn = u + 1
			}
		}
	}
	return turn
}

// firstAnswer returns the first unit at or after u that begins with an assistant's message and is not in gone; the number of units if there
// is none.
func (l *layout) firstAnswer(r *wire.Request, u int, gone map[int]bool) int {
	for u < len(l.units) && (gone[u] || !beginsWithAssistant(r, l.units[u])) {
		u++
	}
	return u
}

// beginsWithAssistant reports whether a unit's first message is the assistant's.
func beginsWithAssistant(r *wire.Request, u wire.Unit) bool {
	return r.Messages[u.From].Role == wire.RoleAssistant
}

// beginsWithReasoning reports whether a unit begins with the model's reasoning.
func beginsWithReasoning(r *wire.Request, u wire.Unit) bool {
	parts := r.Messages[u.From].Parts
	return beginsWithAssistant(r, u) && len(parts) > 0 && parts[0].Kind == wire.Reasoning
}
