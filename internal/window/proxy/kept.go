package proxy

import (
	"context"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
)

// adopt uses a newer cut that another request stored while this one waited, if there is one. It returns true if that brings the request
// below the trigger.
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
	if t.In.High > goal.Trigger {
		return false
	}
	t.actions = append(t.actions, "replayed")
	return true
}

// keep stores c, the cut that was just made. If another replica has stored one for the same step first, it makes that one what is sent and
// returns true. taken says that the provider has taken it already.
func (t *conversation) keep(c *checkpoint.Checkpoint, taken bool) bool {
	res := t.result
	cut := checkpoint.Cut{Text: res.Cut, Entry: checkpoint.Entry{
		Conversation: t.name, Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Rungs: res.Rungs,
		Before: res.Before, After: res.After, Messages: res.Messages, CutBytes: res.CutBytes,
	}}
	got, _ := t.p.o.Store.Put(t.log, c, cut) // the store journals what went wrong
	log := []*checkpoint.Checkpoint{got}
	var mine *checkpoint.Checkpoint
	if taken {
		mine = got
	}
	if t.publish(mine) {
		log = checkpoint.Log(t.p.o.Store, t.log, t.chain, 0)
	}
	if len(log) == 0 || log[0] == c || log[0] == nil {
		return false
	}
	view, err := compact.Replay(t.received, log...)
	if err != nil {
		return false
	}
	t.use(view, view.Request)
	return true
}

// recovered stores the cut that the provider took after it had refused the request before it.
func (t *conversation) recovered() {
	if t.result == nil {
		return
	}
	if c := compact.Checkpoint(t.View, t.result, t.chain); c != nil {
		ctx := context.WithoutCancel(t.r.Context())
		if unlock, err := t.p.o.Store.Lock(ctx, t.scope, t.name); err == nil {
			sent := t.request
			t.keep(c, true)
			t.request = sent // it is on its way already
			unlock()
		}
	}
}
