package proxy

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/client"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// busyRetry is the Retry-After of a request that has waited in vain for others to settle.
const busyRetry = 2 * time.Second

// holdCost reserves the probable cost of a request with input tokens that asks for at most maxOutput, 0 for no limit. It returns nil, nil
// if spending is not limited. The error is a *refusal or the context's.
func (t *modelRequest) holdCost(input, maxOutput int) (*spend.Hold, error) {
	if t.p.o.Spend == nil {
		return nil, nil
	}
	price, priced := t.p.price(t.upstream, t.model)
	h, err := t.p.o.Spend.Hold(t.r.Context(), spend.Request{
		Model: t.model, Input: input, MaxOutput: maxOutput, Price: price, Priced: priced, Plan: t.paidByPlan(), Patience: max(client.Patience(t.r.Header), time.Millisecond),
	})
	if err == nil {
		return h, nil
	}
	if _, busy := errors.AsType[*spend.Busy](err); busy {
		return nil, &refusal{status: http.StatusTooManyRequests, reason: "spend_wait", retry: busyRetry, text: "Plimsoll: " + err.Error()}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil, err
	}
	return nil, overLimit(t.rt, "spend", err.Error())
}

// paidByPlan reports whether the client's subscription pays for the request.
func (t *modelRequest) paidByPlan() bool { return t.rt.up.key == "" && client.Subscription(t.r.Header) }

// price returns the price of a model at an upstream; false if it is not known.
func (p *Proxy) price(upstream, model string) (models.Price, bool) {
	if p.o.Price == nil {
		return models.Price{}, false
	}
	return p.o.Price(upstream, model)
}

// holdUnread reserves the probable cost of a body of n bytes that is not read. If that is refused, it answers and returns false.
func (p *Proxy) holdUnread(w http.ResponseWriter, r *http.Request, rt *route, n int64) (*spend.Hold, bool) {
	m := &modelRequest{p: p, r: r, rt: rt, upstream: rt.up.modelsName(), model: rt.name}
	h, err := m.holdCost(int(max(n, 0)/bytesPerToken), 0)
	if err != nil {
		p.answerError(w, r, rt, err)
		return nil, false
	}
	return h, true
}

// Bytes of an answer for one token, where nothing tells how many it had: of text in JSON, and in an event stream, whose events have about as
// much around each piece of text.
const (
	bytesPerToken  = 4
	streamPerToken = 40
)

// absurd is a number of tokens that no request has: the largest window of 2026 takes ten million. A provider's word beyond it is not taken.
const absurd = 20_000_000

// addCost adds to ev what the request has cost and whether a subscription pays. Tokens that the provider did not count are guessed. r is
// nil for an answer that could not be parsed.
func (t *exchange) addCost(ev *journal.WindowResponse, r *wire.Answer) {
	var u wire.Usage
	counted, begun := false, true
	if r != nil {
		u, counted, begun = r.Usage, r.Counted, r.Begun
	}
	if u.Input > absurd || u.Output > absurd {
		u, counted = wire.Usage{}, false
		ev.TokensIn, ev.TokensOut, ev.CacheRead, ev.CacheWrite, ev.Reasoning = 0, 0, 0, 0, 0
	}
	if u.Input == 0 {
		ev.GuessIn = int64(t.In.Best)
		if ev.GuessIn == 0 { // it was not counted
			ev.GuessIn = int64(len(t.content)) / bytesPerToken
		}
	}
	if !counted || ev.Ended != "complete" {
		per := int64(bytesPerToken)
		if ev.Stream {
			per = streamPerToken
		}
		if guess := ev.Bytes / per; begun && guess > int64(u.Output) {
			ev.GuessOut = guess
		}
	}
	ev.CacheHour = int64(u.CacheHour)
	ev.Plan = t.paidByPlan()
	if price, ok := t.p.price(t.upstream, t.model); ok {
		input, output := max(ev.TokensIn, ev.GuessIn), max(ev.TokensOut, ev.GuessOut)
		ev.Cost = price.Of(int(input), u.CacheRead, u.CacheWrite-u.CacheHour, u.CacheHour, int(output))
	}
}

// settleCost replaces the reserved cost of a request by what its answer has cost. A failed request costs nothing.
func (t *exchange) settleCost(ev *journal.WindowResponse) {
	if t.held == nil {
		return
	}
	if ev.Status != http.StatusOK {
		t.held.Release()
		return
	}
	a := spend.Amount{Tokens: max(ev.TokensIn, ev.GuessIn) + max(ev.TokensOut, ev.GuessOut)}
	if ev.Plan {
		a.Plan = ev.Cost
	} else {
		a.Cost = ev.Cost
	}
	if ev.TokensOut > 0 && ev.GuessOut == 0 {
		t.p.o.Spend.AddAnswer(ev.TokensOut, ev.TokensIn, ev.CacheRead)
	}
	t.held.Settle(a)
}

// uncounted are the ends of paths that cost money of which the answer tells nothing that is read here: a limit could not be held.
var uncounted = []string{
	"batches", "embeddings", "embedContent", "batchEmbedContents", "batchGenerateContent", "asyncBatchEmbedContent", "generations", "edits", "variations", "speech",
	"transcriptions", "translations", "videos", "predict", "predictLongRunning", "generateImages", "jobs", "runs", "rerank", "invoke", "completions",
	"invoke-with-response-stream", "invoke-with-bidirectional-stream", "sessions", "client_secrets", "calls",
}

// checkUncounted returns a refusal for a request that costs money without being a model request, if spending is limited: its cost could not
// be counted. Else it returns nil.
func (p *Proxy) checkUncounted(r *http.Request, rt *route) *refusal {
	if p.o.Spend == nil || !p.o.Spend.HasLimits() || r.Method != http.MethodPost {
		return nil
	}
	_, last := cutLast(strings.TrimSuffix(rt.below, "/"))
	if _, method, ok := cutMethod(last); ok {
		last = method
	}
	if slices.Contains(uncounted, last) {
		return overLimit(rt, "spend", "what POST …/"+last+" costs is not counted, and this run has a limit of what it may spend: without that limit it goes through")
	}
	return nil
}
