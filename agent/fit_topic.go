package agent

import (
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/topic"
)

// dueGoal returns the target of a compaction that is due. Where the request begins a new question, all that belongs to it stays whole, and
// between is true.
func (p *compactionPass) dueGoal() (goal compact.Goal, between bool) {
	goal = p.goal()
	if b, ok := topic.Newest(p.view.Client, topic.Options{}); ok && !p.refused {
		goal.Since, between = b.At, true
	}
	return goal, between
}
