package proxy

import (
	"encoding/hex"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/client"
	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// maxAgain bounds how often a request that was refused for its rate is sent again.
const maxAgain = 8

// Rate joins a proxy to the queue that the runs of this host share. The zero value waits for nobody.
type Rate struct {
	Share *rate.Share
	// Run names whose requests these are; "" makes each conversation one.
	Run string
	// People says that a person waits for the answers. Their requests go before those of a batch.
	People bool
}

// queued holds a request's state in the queue for its provider's rate limit.
type queued struct {
	key   string
	turn  *rate.Turn
	again int // times that it was refused for its rate and sent again
}

// waitForRate waits until the provider's rate limit lets the request be sent, which is at once where no limit is known to be short. An
// error means that the client is gone.
func (t *exchange) waitForRate() error {
	q := t.p.o.Rate
	if q.Share == nil || t.p.o.Mode != Enforce {
		return nil
	}
	if t.queued.key == "" {
		t.queued.key = q.Share.Digest(t.payer() + "\x00" + t.model)
	}
	ask := rate.Ask{Key: t.queued.key, Run: q.Run, People: q.People, Since: t.readAt, Patience: t.patience()}
	if ask.Run == "" {
		ask.Run = t.name
	}
	input, _ := t.expectedTokens()
	ask.Input, ask.Output = t.p.sizes.expect(t.queued.key, input)
	held := int64(len(t.body.bytes))
	t.p.standing.Add(held)
	defer t.p.standing.Add(-held)
	began := time.Now()
	var w *waiting
	ask.Waits = func(why rate.Wait) {
		if w == nil {
			w = t.p.waits.begin(t, began)
		}
		t.p.waits.setReason(t.p, w, why)
	}
	turn, err := q.Share.Wait(t.r.Context(), ask)
	if w != nil {
		t.p.waits.end(t.p, w, err == nil, t.queued.again > 0)
	}
	t.queued.turn = turn
	return err
}

// patience returns how long the request may wait for the rate limit: as long as its client would, but not at all if waiting bodies hold
// half of the memory.
func (t *exchange) patience() time.Duration {
	if t.p.standing.Load()+int64(len(t.body.bytes)) > t.p.o.MemoryBudget/2 {
		return 0
	}
	return client.Patience(t.r.Header)
}

// endTurn ends the request's turn in the rate queue, by the head of its answer or the error. After a 429 or 5xx it does nothing: mayRetry
// ends that turn, once it has read more of the answer.
func (t *exchange) endTurn(res *http.Response, err error) {
	turn := t.queued.turn
	switch {
	case turn == nil:
	case err != nil:
		turn.Leave()
	case res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500:
		return
	default:
		turn.Answered(res.Header)
	}
	t.queued.turn = nil
}

// mayRetry ends the turn that endTurn has left open. It returns true if the provider refused the request for its rate and it may be sent
// again: not too often, and within the client's patience.
func (t *exchange) mayRetry(a *answer) bool {
	turn := t.queued.turn
	if turn == nil {
		return false
	}
	t.queued.turn = nil
	r, ok := rate.Refused(a.res.StatusCode, a.res.Header, unpackBeginning(a.res.Header.Get("Content-Encoding"), a.held))
	if !ok {
		turn.Leave()
		return false
	}
	turn.Refused(a.res.StatusCode, a.res.Header, r)
	over := time.Since(t.readAt)+r.After >= t.patience()
	if r.Final || turn.Forced || over || t.queued.again >= maxAgain || t.r.Context().Err() != nil {
		return false
	}
	t.queued.again++
	return true
}

// expected holds averages of the tokens that earlier requests took.
type expected struct {
	part   float64 // of the input that is not read from the provider's cache
	output float64
}

// expectations holds the averages of each login and model. The zero value has none.
type expectations struct {
	mu sync.Mutex
	of map[string]expected
}

// maxExpected bounds the logins and models of which something is expected.
const maxExpected = 256

// firstOutput is the length that is expected of an answer before there was one.
const firstOutput = 500

// expect returns the tokens that a request of input tokens will probably be charged with, by the average of earlier ones with the key:
// input that is not read from a cache, and output. Without earlier ones they are input and firstOutput.
func (x *expectations) expect(key string, input int) (in, out int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.of[key]
	if !ok {
		return input, firstOutput
	}
	return int(float64(input) * e.part), int(e.output)
}

// learn adds a request's usage to the average of the key, of which the newest makes a quarter. With cacheFree (Anthropic) input that was
// read from the cache does not count against the rate. Without a key or with an absurd usage it does nothing.
func (x *expectations) learn(key string, u *wire.Usage, cacheFree bool) {
	if key == "" || u.Input <= 0 || u.Input > absurd || u.Output > absurd {
		return
	}
	now := expected{part: 1, output: float64(u.Output)}
	if cacheFree {
		now.part = float64(max(u.Input-u.CacheRead, 0)) / float64(u.Input)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.of == nil || len(x.of) > maxExpected {
		x.of = map[string]expected{}
	}
	if e, ok := x.of[key]; ok { // the newer counts for a quarter
		now = expected{part: 0.75*e.part + 0.25*now.part, output: 0.75*e.output + 0.25*now.output}
	}
	x.of[key] = now
}

// waits journals which requests wait for a rate limit, at most one event in two seconds for each model.
type waits struct {
	mu sync.Mutex
	of map[string]*waitsOf
}

type waitsOf struct {
	event journal.WindowRateWaited // what has not been told
	now   map[*waiting]bool
	told  time.Time
	open  bool // the record told last has some that wait
}

// waiting is one request that waits.
type waiting struct {
	line  *waitsOf
	began time.Time
}

// How soon a wait is told, and how often.
const (
	tellAfter = time.Second
	tellEvery = 2 * time.Second
)

// begin records that a request waits since began. The caller passes the result to end.
func (x *waits) begin(t *exchange, began time.Time) *waiting {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := t.rt.up.Name + "\x00" + t.model
	line := x.of[key]
	if line == nil {
		if x.of == nil || len(x.of) >= maxExpected {
			x.of = map[string]*waitsOf{}
		}
		line = &waitsOf{now: map[*waiting]bool{}}
		line.event.Upstream, line.event.Model = t.rt.up.Name, t.model
		x.of[key] = line
	}
	w := &waiting{line, began}
	line.now[w] = true
	return w
}

// setReason sets the limit that a request waits for, and journals it if the request has waited for tellAfter.
func (x *waits) setReason(p *Proxy, w *waiting, why rate.Wait) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e := &w.line.event
	e.Unit, e.Left, e.Limit, e.Pause = "", int64(why.Left), int64(why.Limit), why.Pause
	if why.Limit > 0 {
		e.Unit = why.Unit.String()
	}
	if time.Since(w.began) >= tellAfter {
		w.line.journalWaits(p, false)
	}
}

// end records that a request no longer waits. sent is false for one that was given up; again means that it was sent anew.
func (x *waits) end(p *Proxy, w *waiting, sent, again bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(w.line.now, w)
	if sent {
		e, waited := &w.line.event, time.Since(w.began)
		e.Requests, e.Waited, e.Longest = e.Requests+1, e.Waited+waited, max(e.Longest, waited)
		if again {
			e.Again++
		}
	}
	w.line.journalWaits(p, w.line.open && len(w.line.now) == 0)
}

// journalWaits journals the waits since the last event, but not more often than each tellEvery unless atOnce is set. Short waits alone are
// not journalled.
func (l *waitsOf) journalWaits(p *Proxy, atOnce bool) {
	now := time.Now()
	if !atOnce && now.Sub(l.told) < tellEvery {
		return
	}
	e := l.event
	e.Waiting = len(l.now)
	for w := range l.now {
		e.Since = max(e.Since, now.Sub(w.began))
	}
	if e.Since < tellAfter && e.Waited < tellAfter {
		return
	}
	l.told, l.open = now, e.Waiting > 0
	l.event = journal.WindowRateWaited{Upstream: e.Upstream, Model: e.Model}
	p.journalEvent(e)
}

// close journals the waits that were not journalled yet.
func (x *waits) close(p *Proxy) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, line := range x.of {
		line.journalWaits(p, true)
	}
}

// maxPlans bounds the windows of plans that were told, so as not to be told twice.
const maxPlans = 256

// journalPlan journals what the headers of an answer say of the windows of the client's subscription, where it has changed by a hundredth
// since it was journalled last.
func (t *exchange) journalPlan(h http.Header) {
	plans := rate.PlanOf(h)
	t.reportPlan(plans)
	if len(plans) == 0 {
		return
	}
	account := t.loginHash()
	for _, now := range plans {
		key := account + now.Window
		then, told := t.p.plans.Get(key)
		if told && math.Abs(then.Utilization-now.Utilization) < 0.01 && then.Status == now.Status && then.Reset.Equal(now.Reset) {
			continue
		}
		t.p.plans.Put(key, now)
		t.p.journalEvent(journal.WindowPlan{
			Upstream: t.rt.up.Name, Account: account, Window: now.Window, Utilization: now.Utilization, Status: now.Status, Reset: now.Reset,
		})
	}
}

// unknownReset is the time for which a window counts whose provider does not tell when it begins anew.
const unknownReset = 10 * time.Minute

// reportPlan passes what the provider says of the subscription's windows to Options.Spend, which limits what a run may use of them.
func (t *exchange) reportPlan(plans []rate.Plan) {
	if t.p.o.Spend == nil {
		return
	}
	var windows []spend.Window
	for _, p := range plans {
		if p.Reset.IsZero() {
			p.Reset = t.p.now().Add(unknownReset)
		}
		windows = append(windows, spend.Window{Name: p.Window, Used: p.Utilization, Reset: p.Reset})
	}
	t.p.o.Spend.UpdateWindows(windows)
}

// loginHash returns a short hash of the credential that the provider sees.
func (t *exchange) loginHash() string {
	if q := t.p.o.Rate; q.Share != nil {
		return q.Share.Digest(t.payer())[:12]
	}
	s := t.p.scope(t.payer())
	return hex.EncodeToString(s[:6])
}

// payer returns the credential that the provider sees, with its address: the configured key, or else the client's. It is a secret.
func (t *exchange) payer() string {
	who := t.rt.up.key
	if who == "" {
		who = credential(t.r.Header, t.r.URL.RawQuery)
	}
	return t.rt.up.base.String() + "\x00" + who
}
