package agent

import (
	"github.com/plimsoll/plimsoll/internal/window/topic"
)

// compactBetween compacts a request that is near the trigger if it begins a new question, so that room need not be made while that is being
// answered.
func (p *compactionPass) compactBetween() error {
	lines := p.lines()
	if p.refused || !lines.Near(p.in.Estimate) {
		return nil
	}
	b, ok := topic.Newest(p.view.Client, topic.Options{})
	if !ok {
		return nil
	}
	goal := lines.BoundaryGoal(p.in.Estimate, b.At, false)
	goal.DropReasoning = p.goal().DropReasoning
	goal.Strict = p.window.Context < p.whole.Context
	if err := p.compact(goal); err != nil {
		return err
	}
	p.result.Between = p.result.MadeRoom
	return nil
}
