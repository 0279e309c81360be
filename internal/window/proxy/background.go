package proxy

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/window/client"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/background"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// askAhead is the part of the trigger at which a summary is asked for in the background: at 0.7 of the room where the trigger is 0.8, so
// that it is ready when room is to be made.
const askAhead = 7.0 / 8

// budgeted charges the memory of background summaries to the budget of bodies.
type budgeted struct{ b *budget }

// Take reserves n bytes and reports whether they were free. It does not wait.
func (m budgeted) Take(n int64) bool { return m.b.sem.TryAcquire(n) }

// Give releases n bytes that Take has reserved.
func (m budgeted) Give(n int64) { m.b.sem.Release(n) }

// startSummary starts a background job that summarises the request that was just sent, by the provider or by the model that the user has
// set for it. It does nothing if that is not wanted, the window is far from full, or such a summary is there or being written. A finished
// one that no longer fits the conversation is dropped. It does not wait, and reports whether it started a job. The caller must still hold
// the request's body.
func (t *conversation) startSummary() bool {
	if t.request == nil || len(t.chain) == 0 || t.In.Best < int(askAhead*float64(t.TriggerTokens())) || t.p.summaries.Running(t.key()) {
		return false
	}
	if r, ready := t.p.summaries.Ready(t.key()); ready {
		if r.Covers <= len(t.chain) && t.chain[r.Covers-1] == r.Client {
			return false
		}
		t.p.summaries.Take(t.key()) // of a conversation that has gone another way
	}
	job, ok := t.summaryJob()
	if !ok {
		return false
	}
	job.Key, job.Covers, job.Client, job.Sent = t.key(), len(t.chain), t.chain[len(t.chain)-1], t.Tally.Chain[len(t.Tally.Chain)-1]
	return t.p.summaries.Start(job)
}

// summaryJob returns the job that summarises the conversation in the background, by the provider where it can, else by the model that the
// user has set; false if no summary is wanted or possible.
func (t *conversation) summaryJob() (background.Job, bool) {
	if rule, ok := t.nativeRule(); ok && !t.p.summaries.Refused(t.Ledger) {
		return t.nativeJob(rule)
	}
	if !t.asksModel() {
		return background.Job{}, false
	}
	a, ok := t.p.o.Compactor.Assign(t.View, summaryTokens)
	if !ok {
		return background.Job{}, false
	}
	p, event := t.p, journal.WindowSummary{By: "model", Upstream: t.rt.up.Name, Model: clip(t.model, 128), Conversation: t.name, Messages: len(t.chain)}
	return background.Job{
		Whom: "model", Size: int64(len(a.Transcript)) + 12*summaryTokens,
		Ask: func(ctx context.Context) (background.Answer, error) {
			written, err := p.o.Compactor.Write(ctx, a)
			return background.Answer{Text: written.Text, Usage: wire.Usage{Input: written.In, Output: written.Out}}, err
		},
		Told: func(o background.Outcome) { p.journalSummary(event, o) },
	}, true
}

// summaryTokens bounds a summary by a model.
const summaryTokens = 4000

// asksModel reports whether the conversation's summaries are written by the separate model that the user has set for them.
func (t *conversation) asksModel() bool {
	return t.p.o.Mode == Enforce && !t.p.o.NoPreflight && t.received.Bypass.Room() == wire.RoomAtTrigger && len(t.chain) > 0 && t.p.o.Compactor.AsksModel()
}

// summaryComing reports whether a summary is being written and none is ready: a cut that is not necessary yet is better made with it.
func (t *conversation) summaryComing() bool {
	if _, ready := t.summaryReady(); ready {
		return false
	}
	return t.p.summaries.Running(t.key())
}

// nativeJob returns the job in which the provider itself compacts the conversation, by a request with the client's credential; ok is false
// for a request that the rule does not take. Nothing is sent before the job runs.
func (t *conversation) nativeJob(rule native.Rule) (background.Job, bool) {
	call, err := rule.Request(t.rt.below, t.r.Header, t.request)
	if err != nil {
		return background.Job{}, false // this request cannot be; the next one may
	}
	rt, r := *t.rt, t.r.WithContext(context.Background())
	rt.below, r.Header = call.Path, call.Header
	req, err := t.p.outgoingRequest(r, &rt)
	if err != nil {
		return background.Job{}, false
	}
	setJSONBody(req, call.Body)
	// The job outlives the request, whose body is given back: nothing of it is kept but copies.
	p, event := t.p, journal.WindowSummary{By: "provider", Upstream: rt.up.Name, Model: clip(t.model, 128), Conversation: t.name, Messages: len(t.chain)}
	return background.Job{
		Whom: t.Ledger, Size: int64(len(call.Body)) + native.MaxAnswer,
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
		Told: func(o background.Outcome) { p.journalSummary(event, o) },
	}, true
}

// withSummaryForm returns the headers and the body that the provider demands for a request with its own summary in it. For any other
// request it returns nil and body.
func (t *conversation) withSummaryForm(body []byte) (http.Header, []byte) {
	if !startsWithSummary(t.request) || startsWithSummary(t.received) {
		return nil, body
	}
	rule, ok := native.RuleFor(string(t.rt.up.Provider), t.rt.dialect, t.model)
	if !ok {
		return nil, body
	}
	header, next, err := rule.Carry(t.r.Header, t.request)
	if err != nil {
		return nil, body
	}
	return header, next
}

// startsWithSummary reports whether a request's first message holds a provider's summary of those before it.
func startsWithSummary(r *wire.Request) bool {
	return len(r.Messages) > 0 && slices.ContainsFunc(r.Messages[0].Parts, func(p wire.Part) bool { return p.Type == "compaction" })
}

// useNative returns the cut with the provider's summary in place of the messages that it covers; those behind it keep their reasoning. It
// returns false if there is no such summary or it frees too little; then it is discarded.
func (t *conversation) useNative(goal compact.Goal) (compact.Result, bool) {
	r, ok := t.summaryReady()
	if !ok || len(r.Messages) == 0 {
		return compact.Result{}, false
	}
	n := t.View.Frozen(r.Covers)
	d := t.View.Request.Draft()
	d.ReplaceMessages(0, n, r.Messages...)
	next, err := d.Build()
	t.p.summaries.Take(t.key())
	if err != nil || len(next.Body) >= len(t.request.Body) {
		return compact.Result{}, false
	}
	before := max(t.In.Best, 1)
	after := t.p.o.Counter.Tally(next, t.Family).Total.Best * before / max(t.Tally.Total.Best, 1)
	if after > goal.Trigger {
		return compact.Result{}, false
	}
	res := t.View.Cut(next).Result(before, after)
	res.Rungs, res.Messages, res.CutBytes = []string{compact.RungProvider}, n, int64(len(t.request.Body)-len(next.Body))
	for i := range n {
		res.Cut = append(append(res.Cut, t.View.Request.Raw(t.View.Request.Messages[i].Span)...), '\n')
	}
	return res, true
}

// errNoAnswer means that a provider that was asked for a summary gave no answer, or not all of it.
var errNoAnswer = errors.New("the provider gave no answer")

// nativeRule returns the rule by which the provider compacts the conversation itself; false if it cannot, or must not.
func (t *conversation) nativeRule() (native.Rule, bool) {
	if t.p.o.Mode != Enforce || t.p.o.NoPreflight || t.received.Bypass.Room() != wire.RoomAtTrigger || len(t.chain) == 0 || !t.Enforced() {
		return native.Rule{}, false
	}
	rule, ok := native.RuleFor(string(t.rt.up.Provider), t.rt.dialect, t.model)
	if !ok {
		return rule, false
	}
	ok, _ = native.Wanted(t.p.o.Summaries, native.Case{
		OwnCompaction: t.compactsItself(), Bound: t.boundReasoning(),
		Subscription: t.rt.up.key == "" && client.Subscription(t.r.Header),
	})
	return rule, ok
}

// compactsItself reports whether the client compacts its history by itself: it was started so, or its requests name such a client.
func (t *conversation) compactsItself() bool {
	if t.p.o.OwnCompaction {
		return true
	}
	agent, ok := profile.Find(t.speakerOf().Client)
	return ok && agent.Compacts
}

// summaryReady returns a summary that was written in the background and fits the conversation: the messages it covers are still sent by the
// client, as they were sent to the provider; false if there is none. The caller removes it with Take when it has put it in.
func (t *conversation) summaryReady() (background.Result, bool) {
	r, ok := t.p.summaries.Ready(t.key())
	if !ok || r.Covers > len(t.chain) || t.chain[r.Covers-1] != r.Client {
		return background.Result{}, false
	}
	n := t.View.Frozen(r.Covers)
	if n <= 0 || n > len(t.Tally.Chain) || t.Tally.Chain[n-1] != r.Sent {
		return background.Result{}, false
	}
	return r, true
}

// journalSummary completes e with the outcome of a background summary and journals it. One that a closing proxy skipped is not journalled.
func (p *Proxy) journalSummary(e journal.WindowSummary, o background.Outcome) {
	if o.Outcome == compact.SummarySkipped {
		return // the proxy ends
	}
	e.Outcome, e.Took, e.Rest, e.Error = o.Outcome, o.Took, o.Rest, errorText(o.Err)
	e.SummaryIn, e.SummaryOut, e.CacheRead = int64(o.Usage.Input), int64(o.Usage.Output), int64(o.Usage.CacheRead)
	p.journalEvent(e)
}
