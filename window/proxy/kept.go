package proxy

import (
	"context"

	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/reasoning"
)

// adopt uses a cut that somebody else stored while this request waited.
func (t *conversation) adopt(goal compact.Goal) bool {
	c := checkpoint.Lookup(t.p.o.Store, t.log, t.chain)
	if c == nil || c.Generation <= t.generation {
		return false
	}
	view, err := compact.Replay(t.received, checkpoint.Log(t.p.o.Store, t.log, t.chain, 0)...)
	if err != nil {
		return false
	}
	t.generation = c.Generation
	t.use(view, view.Request)
	t.recount()
	if t.in.High > goal.Trigger {
		return false
	}
	t.actions = append(t.actions, "replayed")
	return true
}

// keep stores what was made, and uses what is in force: another replica may have been first
// with the same step. It tells whether that is another.
func (t *conversation) keep(c *checkpoint.Checkpoint) bool {
	res := t.result
	cut := checkpoint.Cut{Text: res.Cut, Entry: checkpoint.Entry{
		Conversation: t.name, Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Rungs: res.Rungs,
		Before: res.Before, After: res.After, Messages: res.Messages, CutBytes: res.CutBytes,
	}}
	got, _ := t.p.o.Store.Put(t.log, c, cut) // the store journals what went wrong
	if got == c || got == nil {
		return false
	}
	view, err := compact.Replay(t.received, got)
	if err != nil {
		return false
	}
	t.use(view, view.Request)
	return true
}

// recovered stores what a provider took after it had refused something else.
func (t *conversation) recovered() {
	if t.result == nil {
		return
	}
	if c := compact.Checkpoint(t.view, t.result, t.chain); c != nil {
		ctx := context.WithoutCancel(t.r.Context())
		if unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.name); err == nil {
			sent := t.request
			t.keep(c)
			t.request = sent // it is on its way already
			unlock()
		}
	}
}

// withoutThoughts is the view that a cut begins with: where reasoning is valid only behind what it was made behind, it goes with the
// cut, all of it, once. What is made afterwards stays valid, because what the cut leaves is frozen.
func (t *conversation) withoutThoughts() (view *compact.View, thoughts int) {
	if !t.boundReasoning() {
		return t.view, 0
	}
	next, n, err := reasoning.Without(t.view.Request, 0)
	if err != nil || n == 0 {
		return t.view, 0
	}
	return t.view.Cut(next), n
}

// withThoughts completes the result of a cut that took reasoning out before it began. Where that was all, it is a result by itself. One that
// nothing forces and that does not come below the trigger is none: with the reasoning of each turn there would be another one in the next.
func (t *conversation) withThoughts(view *compact.View, res compact.Result, goal compact.Goal) compact.Result {
	before := max(t.in.Best, res.Before)
	if !res.Changed() {
		out := view.Result(before, res.After)
		out.SummaryIn, out.SummaryOut, out.SummaryError = res.SummaryIn, res.SummaryOut, res.SummaryError
		out.CutBytes = max(0, int64(len(t.request.Body)-len(out.Request.Body)))
		res = out
	}
	forced := goal.MinGain == 0 && t.in.High > t.room()
	if !forced && (res.After > goal.Trigger || before-res.After < goal.MinGain) {
		return compact.Result{Request: t.view.Request, Before: before, After: before, SummaryIn: res.SummaryIn, SummaryOut: res.SummaryOut, SummaryError: res.SummaryError}
	}
	res.Before, res.Rungs = before, append([]string{compact.RungThinking}, res.Rungs...)
	return res
}
