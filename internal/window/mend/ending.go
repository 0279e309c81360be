package mend

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// mendEnding adds a message of the user if the last message is the model's own and this model does not continue its own words. Where it does, it
// removes the white space at their end that the provider refuses.
func (m *mending) mendEnding() {
	i := m.lastMessage()
	if i < 0 {
		return
	}
	msg := &m.r.Messages[i]
	if msg.Role != wire.RoleAssistant || m.rules.dialect.FreeEnd {
		return
	}
	for j := range msg.Parts {
		if msg.Parts[j].Kind == wire.Call || msg.Parts[j].Kind == wire.Other {
			return // an open call: the client knows what it does, or the provider goes on with a tool of its own
		}
	}
	if m.rules.prefill && !(m.rules.signed && m.hasThinkingBudget() && !startsWithThinking(msg)) {
		m.trimTrailing(i, msg)
		return
	}
	if flag := m.rules.dialect.PrefixFlag; flag != "" && string(rawjson.Get(m.r.Raw(msg.Span), flag).Of(m.r.Raw(msg.Span))) == "true" {
		return // it is meant
	}
	if flag := m.rules.dialect.SummaryFlag; flag != "" && !rawjson.Get(m.r.Body, flag).IsZero() {
		return // a request for a summary may end with the model's words (platform.claude.com "compaction-on-demand", 2026-11)
	}
	m.draft().InsertMessages(len(m.r.Messages), wire.TextMessage(m.r.Dialect, wire.RoleUser, goOn))
	m.addAction(Prompted, i, "", 0)
}

// startsWithThinking reports whether a message begins with the model's reasoning.
func startsWithThinking(msg *wire.Message) bool {
	return len(msg.Parts) > 0 && msg.Parts[0].Kind == wire.Reasoning
}

// trimTrailing removes white space at the end of a last message that the model is to continue ("final assistant content cannot end with
// trailing whitespace").
func (m *mending) trimTrailing(i int, msg *wire.Message) {
	if !m.rules.noTrailing || i < m.from || len(msg.Parts) == 0 {
		return
	}
	j := len(msg.Parts) - 1
	p := &msg.Parts[j]
	if p.Kind != wire.Text || len(p.Texts) != 1 || m.isWhite(p.Texts[0]) {
		return
	}
	text := string(wire.Unquote(nil, m.r.Raw(p.Texts[0])))
	if short := trimmed(text); short != text {
		m.draft().ReplaceText(i, j, 0, short)
		m.addAction(Trimmed, i, "", len(text)-len(short))
	}
}

// hasThinkingBudget reports whether the request asks for thinking with a budget.
func (m *mending) hasThinkingBudget() bool {
	if m.r.ThinkingSpan.IsZero() || m.r.Body[m.r.ThinkingSpan.Start] != '{' {
		return false
	}
	kind, _ := rawjson.Text(m.r.Raw(m.r.ThinkingSpan), "type")
	return kind == "enabled"
}

// leastBudget is the smallest thinking budget that the provider accepts, in tokens.
const leastBudget = 1024

// mendThinking changes the thinking budget, or both it and max_tokens, if the budget is not below max_tokens and has to be. It switches thinking off
// if the current turn lacks the thinking that it began with.
func (m *mending) mendThinking() {
	if !m.rules.signed || !m.hasThinkingBudget() {
		return
	}
	if m.lacksThinking() {
		// "When `thinking` is enabled, a final `assistant` message must start with a thinking block … To avoid this requirement, disable `thinking`."
		m.draft().Replace(m.r.ThinkingSpan, []byte(`{"type":"disabled"}`))
		m.addAction(Budgeted, -1, "", 0)
		return
	}
	raw := m.r.Raw(m.r.ThinkingSpan)
	at := rawjson.Get(raw, "budget_tokens")
	budget, err := strconv.Atoi(string(at.Of(raw)))
	most := m.r.MaxOutput
	if at.IsZero() || err != nil || m.r.MaxOutputSpan.IsZero() || most > budget || budget > 1<<30 || m.mayInterleave() {
		return
	}
	// A bound that somebody has set, or that the window leaves, stays where it can: the budget is halved. Where that would go below the
	// least one, the answer gets what was asked for beside it.
	if most >= 2*leastBudget {
		budget = most / 2
	} else {
		m.draft().SetMaxOutput(leastBudget + most)
		budget = leastBudget
	}
	m.draft().Replace(wire.Span{Start: m.r.ThinkingSpan.Start + at.Start, End: m.r.ThinkingSpan.Start + at.End}, fmt.Append(nil, budget))
	m.addAction(Budgeted, -1, "", 0)
}

// received stands between results and the words of the user, as the model's, where its template demands a message of the model there.
const received = "[The results are here.]"

// addAnswers adds a message of the model where the user speaks right behind results that are messages of their own.
func (m *mending) addAnswers() {
	for i := 1; i < len(m.r.Messages); i++ {
		switch {
		case m.r.Messages[i].Role != wire.RoleUser || m.r.Messages[i-1].Role != wire.RoleTool:
		case i < m.from:
			m.addAction(Cut, i, "", 0)
		default:
			m.draft().InsertMessages(i, wire.TextMessage(m.r.Dialect, wire.RoleAssistant, received))
			m.addAction(Answered, i, "", 0)
		}
	}
}

// addReasoning adds a space as reasoning to the model's messages that lost theirs, if the model has reasoning that nobody signs.
func (m *mending) addReasoning() {
	add := m.rules.dialect.BlankReasoning
	if add == nil || m.rules.claude {
		return
	}
	d, tried := m.r.Draft(), m.r.Draft()
	for i := range m.r.Messages {
		switch {
		case m.r.Messages[i].Role != wire.RoleAssistant:
		case i >= m.from && add(d, i):
			m.d = d
			m.addAction(Reasoned, i, "", 0)
		case i < m.from && add(tried, i):
			m.addAction(Cut, i, "", 0)
		}
	}
}

// mayInterleave reports whether thinking may stand between calls: then its budget is that of a whole turn, and may be over
// max_tokens (platform.claude.com "extended-thinking", 2026-11).
func (m *mending) mayInterleave() bool {
	const beta = "interleaved-thinking"
	if len(m.r.Tools) == 0 {
		return false
	}
	if slices.ContainsFunc(m.o.Betas, func(v string) bool { return strings.Contains(v, beta) }) {
		return true
	}
	return strings.Contains(string(rawjson.Get(m.r.Body, "anthropic_beta").Of(m.r.Body)), beta) // as it is given to Bedrock
}

// lacksThinking reports whether the current turn has calls and does not begin with thinking. Blank texts, and new thinking without a signature, are
// passed over; false if a block of unknown type comes first.
func (m *mending) lacksThinking() bool {
	first, calls := -1, false
	for i := len(m.r.Messages) - 1; i >= 0; i-- {
		msg := &m.r.Messages[i]
		switch {
		case m.dropped[i] || msg.Role == wire.RoleSystem:
		case msg.Role == wire.RoleAssistant:
			first = i
			calls = calls || hasKind(msg, wire.Call)
		case !hasKind(msg, wire.Result) && !m.followsResults(i):
			i = 0 // the user's words that the turn began with
		}
	}
	if first < 0 || !calls {
		return false
	}
	for j := range m.r.Messages[first].Parts {
		p := &m.r.Messages[first].Parts[j]
		if p.Kind == wire.Reasoning && p.Sealed.Len() > 2 || first < m.from && p.Kind == wire.Reasoning {
			return false
		}
		if empty, _ := m.isBlank(p); p.Kind == wire.Text && empty || p.Kind == wire.Reasoning {
			continue
		}
		return p.Kind != wire.Other
	}
	return false
}

// followsResults reports whether message i, the user's, follows one with results, which the provider joins with it.
func (m *mending) followsResults(i int) bool {
	for i--; i >= 0 && m.r.Messages[i].Role == wire.RoleUser; i-- {
		if hasKind(&m.r.Messages[i], wire.Result) {
			return true
		}
	}
	return false
}

// hasKind reports whether a message has a part of a kind.
func hasKind(msg *wire.Message, kind wire.PartKind) bool {
	for j := range msg.Parts {
		if msg.Parts[j].Kind == kind {
			return true
		}
	}
	return false
}

// dropMarks removes the oldest cache marks if there are more than the provider accepts: first in the messages, then before them.
func (m *mending) dropMarks() {
	limit := m.rules.marks
	if limit == 0 || len(m.r.Marks) < limit {
		return
	}
	if m.rules.dialect.Marks > 0 && rawjson.Get(m.r.Body, "cache_control").Len() > 4 {
		limit-- // one for the whole request takes a place (platform.claude.com "prompt-caching", 2026-11)
	}
	var count []int // indices of the marks that count, those in messages first
	var before []int
	for n, mark := range m.r.Marks {
		if slices.ContainsFunc(m.gone, func(s wire.Span) bool { return s.Contains(mark) }) || m.markIn(mark) == nil {
			continue
		}
		if m.r.List.Contains(mark) {
			count = append(count, n)
		} else {
			before = append(before, n)
		}
	}
	count = append(count, before...)
	for _, n := range count[:max(0, len(count)-limit)] {
		m.draft().DropMark(n)
		m.addAction(Unmarked, m.messageAt(m.r.Marks[n]), "", 0)
	}
}

// messageAt returns the index of the message that contains a span, -1 if none does.
func (m *mending) messageAt(s wire.Span) int {
	i, ok := slices.BinarySearchFunc(m.r.Messages, s.Start, func(msg wire.Message, at int) int {
		switch {
		case msg.Span.End <= at:
			return -1
		case msg.Span.Start > at:
			return 1
		}
		return 0
	})
	if !ok {
		return -1
	}
	return i
}
