package proxy

import (
	"context"
	"errors"
	"io"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/client"
	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/background"
	"github.com/plimsoll/plimsoll/window/compact/native"
	"github.com/plimsoll/plimsoll/window/wire"
)

// askAhead is the part of the trigger at which a summary is asked for in the background: at 0.7 of the room where the trigger is 0.8, so
// that it is ready when room is to be made.
const askAhead = 7.0 / 8

// budgeted charges the bytes of bodies.
type budgeted struct{ b *budget }

func (m budgeted) Take(n int64) bool { return m.b.sem.TryAcquire(n) }
func (m budgeted) Give(n int64)      { m.b.sem.Release(n) }

// summaryKey names the conversation and whose it is.
func (t *conversation) summaryKey() string { return t.log.String() + t.name }

// startSummary has the provider compact what was sent just now, where that is wanted, it has such a thing, and the window fills. It does
// not wait, and reports whether something was begun. The request's body is still held.
func (t *conversation) startSummary() bool {
	rule, ok := t.nativeRule()
	if !ok || t.in.Best < int(askAhead*t.p.o.Trigger*float64(t.room())) || t.p.summaries.Running(t.summaryKey()) || t.p.summaries.Refused(t.ledger) {
		return false
	}
	if r, ready := t.p.summaries.Ready(t.summaryKey()); ready {
		if r.Covers <= len(t.chain) && t.chain[r.Covers-1] == r.Client {
			return false
		}
		t.p.summaries.Take(t.summaryKey()) // of a conversation that has gone another way
	}
	call, err := rule.Request(t.rt.below, t.r.Header, t.request)
	if err != nil {
		return false // this request cannot be; the next one may
	}
	rt, r := *t.rt, t.r.WithContext(context.Background())
	rt.below, r.Header = call.Path, call.Header
	req, err := t.p.outgoing(r, &rt)
	if err != nil {
		return false
	}
	ownBody(req, call.Body)
	// The job outlives the request, whose body is given back: nothing of it is kept but copies.
	p, event := t.p, journal.WindowSummary{By: "provider", Upstream: rt.up.Name, Model: clip(t.model, 128), Conversation: t.name, Messages: len(t.chain)}
	return p.summaries.Start(background.Job{
		Key: t.summaryKey(), Whom: t.ledger, Covers: len(t.chain), Client: t.chain[len(t.chain)-1], Sent: t.tally.Chain[len(t.tally.Chain)-1],
		Size: int64(len(call.Body)) + native.MaxAnswer,
		Ask: func(ctx context.Context) (background.Answer, error) {
			req := req.WithContext(ctx)
			if err := p.sign(req, &rt, call.Body); err != nil {
				return background.Answer{}, err
			}
			res, err := p.transport.RoundTrip(req)
			if err != nil {
				return background.Answer{}, errNoAnswer // its words name addresses
			}
			defer res.Body.Close()
			body, err := io.ReadAll(io.LimitReader(res.Body, native.MaxAnswer+1))
			if err != nil {
				return background.Answer{}, errNoAnswer
			}
			block, err := rule.Parse(res.StatusCode, res.Header.Get("Content-Type"), body)
			return background.Answer{Messages: block.Messages, Usage: block.Usage}, err
		},
		Told: func(o background.Outcome) { p.summarised(event, o) },
	})
}

// errNoAnswer says that a provider that was asked for a summary gave no answer, or not all of it.
var errNoAnswer = errors.New("the provider gave no answer")

// nativeRule is how the provider compacts the conversation, where it is wanted.
func (t *conversation) nativeRule() (native.Rule, bool) {
	if t.p.o.Mode != Enforce || t.p.o.NoPreflight || t.received.Bypass != wire.BypassNone || len(t.chain) == 0 || !t.enforced() {
		return native.Rule{}, false
	}
	rule, ok := native.RuleFor(string(t.rt.up.Provider), t.rt.dialect, t.model)
	if !ok {
		return rule, false
	}
	ok, _ = native.Wanted(t.p.o.Summaries, native.Case{
		OwnCompaction: t.p.o.OwnCompaction || t.compactsItself(), Bound: t.boundReasoning(),
		Subscription: t.rt.up.key == "" && client.Subscription(t.r.Header),
	})
	return rule, ok
}

// compactsItself tells whether the client is known to make room in its history.
func (t *conversation) compactsItself() bool {
	profile, ok := client.For(t.speak().Client)
	return ok && profile.Compacts
}

// summaryReady is a summary that was written in the background and fits the conversation: it covers messages that the client still sends,
// as they were sent to the provider. The caller takes it when it has put it in.
func (t *conversation) summaryReady() (background.Result, bool) {
	r, ok := t.p.summaries.Ready(t.summaryKey())
	if !ok || r.Covers > len(t.chain) || t.chain[r.Covers-1] != r.Client {
		return background.Result{}, false
	}
	n := t.view.Frozen(r.Covers)
	if n <= 0 || n > len(t.tally.Chain) || t.tally.Chain[n-1] != r.Sent {
		return background.Result{}, false
	}
	return r, true
}

// summarised journals what came of a summary in the background.
func (p *Proxy) summarised(e journal.WindowSummary, o background.Outcome) {
	if o.Outcome == compact.SummarySkipped {
		return // the proxy ends
	}
	e.Outcome, e.Took, e.Rest, e.Error = o.Outcome, o.Took, o.Rest, errorText(o.Err)
	e.SummaryIn, e.SummaryOut, e.CacheRead = int64(o.Usage.Input), int64(o.Usage.Output), int64(o.Usage.CacheRead)
	p.event(e)
}
