package agent

import (
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/topic"
)

// dueGoal returns the target of a compaction that is due. Where the request begins a new question, all that belongs to it stays whole, and
// between is true.
func (p *compactionPass) dueGoal() (goal compact.Goal, between bool) {
	goal = p.goal()
	b, ok := topic.Newest(p.view.Client, topic.Options{})
	if !ok || p.refused {
		return goal, false
	}
	at := p.lines().BoundaryGoal(p.in.Estimate, b.At)
	goal.Since, goal.Target, goal.SummaryTarget = at.Since, at.Target, at.SummaryTarget
	return goal, true
}
