// Package spend holds what requests to models may cost: the limits of one run, and budgets over all runs of a user.
//
//	m := spend.New(spend.Options{Limits: spend.Limits{Cost: 5}, Book: book})
//	h, err := m.Hold(ctx, spend.Request{Input: 12_000, MaxOutput: 64_000, Price: price, Priced: true})
//	h.Settle(spend.Amount{Tokens: 12_800, Cost: 0.05})  // or h.Release()
//
// Before a request is sent, what it will probably cost is held. Held money makes others wait, and only settled money refuses: a run that has
// spent nothing is never refused, and a limit is passed by no more than the answers that were under way. A refusal is an [*Over], a wait that
// came to nothing a [*Busy].
//
// A [Book] keeps the sums of budgets for all processes of a user. What a process held when it was killed counts as spent.
package spend

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// patience bounds the wait of a request for others to settle: one client gives up after 20 seconds without a byte. poll is the time between two
// looks at a book, which other processes change.
const (
	patience = 15 * time.Second
	poll     = 100 * time.Millisecond
)

// SoftLine is the part of a limit at which it is told that it comes near.
const SoftLine = 0.8

// Limits bound one run; 0 sets no limit.
type Limits struct {
	Tokens int64
	Cost   float64 // US dollars
	// Quota is the part of a window of a subscription, 0 to 1, up to which the run may use it.
	Quota float64
}

// Line tells that a line of a limit was reached: four fifths of it, or, with Hard, all.
type Line struct {
	Name      string
	Hard      bool
	Used, Max float64
}

// Window is a window of a subscription as its provider tells of it.
type Window struct {
	Name string // "5 hours", "7 days"
	Used float64
	// Reset is the time at which it begins anew.
	Reset time.Time
}

// Options configure a [Meter].
type Options struct {
	Limits Limits
	// Run is the id by which a person raises the limits.
	Run string
	// Book holds the budgets over runs; nil where there are none.
	Book *Book
	// Answers knows the sizes of the tool's answers; nil begins with none.
	Answers *Answers
	// OnLine is called when a line is reached, once for each until the limit is raised. It is called with locks held.
	OnLine func(Line)
	// OnBlind is called once when Limits.Quota can do nothing, because an answer tells of no plan.
	OnBlind func()
	// OnUse is called after each settlement with the limits and all that the run has used. It is called with locks held.
	OnUse func(Limits, Amount)
}

// Meter holds the limits of one run. It is safe for concurrent use.
type Meter struct {
	o       Options
	answers *Answers

	mu      sync.Mutex
	limits  Limits
	settled Amount
	held    Amount
	holds   int // requests under way
	windows []Window
	told    map[string]bool // lines, by name and "!" for the hard one
	changed chan struct{}   // closed when a hold ends or a limit is raised
}

// New returns a meter with nothing spent.
func New(o Options) *Meter {
	m := &Meter{o: o, answers: o.Answers, limits: o.Limits, told: map[string]bool{}, changed: make(chan struct{})}
	if m.answers == nil {
		m.answers = &Answers{}
	}
	return m
}

// Hold holds an amount for one request.
type Hold struct {
	m    *Meter
	want Amount
	book *bookHold
	once sync.Once
}

var errWait = errors.New("others hold the rest")

// Hold holds what a request will probably cost, and waits, at most r.Patience, while others hold what is left. The error is an [*Over] if a
// limit is used up, a [*Busy] after waiting in vain, the context's, or that of a book that cannot be read or written: without a book
// nothing may be spent.
func (m *Meter) Hold(ctx context.Context, r Request) (*Hold, error) {
	want := m.answers.expectedUse(r)
	var late <-chan time.Time
	for {
		answer, _ := m.o.Book.teamState()
		m.mu.Lock()
		h, name, err := m.tryHold(ctx, r, want)
		changed := m.changed
		m.mu.Unlock()
		if !errors.Is(err, errWait) {
			return h, err
		}
		if late == nil {
			t := time.NewTimer(cmp.Or(r.Patience, patience))
			defer t.Stop()
			late = t.C
		}
		var look <-chan time.Time
		if m.o.Book != nil {
			look = time.After(poll)
		}
		select {
		case <-changed:
		case <-look:
		case <-answer:
		case <-late:
			busy := &Busy{Name: name}
			if name != LimitTokens && name != LimitCost {
				_, busy.Away = m.o.Book.teamState()
			}
			return nil, busy
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// tryHold holds want if the limits of the run and the budgets allow it. If the rest is held by other requests, the error is errWait, and name
// is the limit to wait for. A request alone may exceed a limit of the run. The caller holds m.mu.
func (m *Meter) tryHold(ctx context.Context, r Request, want Amount) (h *Hold, name string, err error) {
	if err := m.checkLimits(r); err != nil {
		return nil, "", err
	}
	if m.holds > 0 { // alone, a request may pass the line: only what is settled refuses
		switch {
		case m.limits.Tokens > 0 && m.settled.Tokens+m.held.Tokens+want.Tokens > m.limits.Tokens:
			return nil, LimitTokens, errWait
		case m.limits.Cost > 0 && want.Cost > 0 && m.settled.Cost+m.held.Cost+want.Cost > m.limits.Cost:
			return nil, LimitCost, errWait
		}
	}
	h = &Hold{m: m, want: want}
	if b := m.o.Book; b != nil {
		if b.needsPrice(r) {
			return nil, "", &Over{Name: b.firstBudget(), Unpriced: r.Model}
		}
		if h.book, name, err = b.holdAmount(ctx, want); err != nil {
			return nil, name, err
		}
	}
	m.held.add(want)
	m.holds++
	return h, "", nil
}

// checkLimits returns the [*Over] of a limit of the run that is used up, or that cannot be held because the model's price is not known; nil if
// there is none.
func (m *Meter) checkLimits(r Request) error {
	l := m.limits
	if l.Tokens > 0 && m.settled.Tokens >= l.Tokens {
		return &Over{Name: LimitTokens, Used: float64(m.settled.Tokens), Max: float64(l.Tokens), Run: m.o.Run}
	}
	if l.Cost > 0 && !r.Plan {
		if !r.Priced {
			return &Over{Name: LimitCost, Unpriced: r.Model, Run: m.o.Run}
		}
		if m.settled.Cost >= l.Cost {
			return &Over{Name: LimitCost, Used: m.settled.Cost, Max: l.Cost, Run: m.o.Run}
		}
	}
	if l.Quota > 0 && r.Plan {
		for _, w := range m.windows {
			if w.Used >= l.Quota && time.Now().Before(w.Reset) {
				return &Over{Name: LimitQuota, Used: w.Used, Max: l.Quota, Window: w.Name, Reset: w.Reset, Run: m.o.Run}
			}
		}
	}
	return nil
}

// Settle ends a hold with what the request has cost. Only the first call of Settle or Release counts.
func (h *Hold) Settle(a Amount) { h.finish(&a) }

// SettleHeld ends a hold of a request of which nothing tells what it has cost: it was what was held.
func (h *Hold) SettleHeld() {
	if h != nil {
		h.finish(&h.want)
	}
}

// Release ends a hold of a request that cost nothing.
func (h *Hold) Release() { h.finish(nil) }

// finish gives the held amount back and, if a is not nil, counts a as spent. It reports lines that were crossed, and wakes those that wait. A
// second call does nothing, and neither does one on nil.
func (h *Hold) finish(a *Amount) {
	if h == nil {
		return
	}
	h.once.Do(func() {
		m := h.m
		m.mu.Lock()
		defer m.mu.Unlock()
		m.held.subtract(h.want)
		m.holds--
		if m.holds == 0 {
			m.held = Amount{} // floating point leaves crumbs
		}
		if a != nil {
			m.settled.add(*a)
			m.reportLines()
			if m.o.OnUse != nil {
				m.o.OnUse(m.limits, m.settled)
			}
		}
		if h.book != nil {
			for _, l := range h.book.settle(a) {
				m.report(l)
			}
		}
		m.wakeWaiting()
	})
}

// Close ends the use of the book, once nothing is under way.
func (m *Meter) Close() { m.o.Book.Close() }

// wakeWaiting lets the requests that wait look again. The caller holds m.mu.
func (m *Meter) wakeWaiting() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// reportLines reports the lines of tokens and cost that the run has reached. The caller holds m.mu.
func (m *Meter) reportLines() {
	for _, l := range []Line{
		{LimitTokens, false, float64(m.settled.Tokens), float64(m.limits.Tokens)},
		{LimitCost, false, m.settled.Cost, m.limits.Cost},
	} {
		m.reportReached(l)
	}
}

// reportReached reports the line of a limit that l.Used has reached, if it has reached one. The caller holds m.mu.
func (m *Meter) reportReached(l Line) {
	if l.Max > 0 && l.Used >= l.Max*SoftLine {
		l.Hard = l.Used >= l.Max
		m.report(l)
	}
}

// report calls OnLine for a line, once for its soft and once for its hard part; after the hard part, the soft one is not reported any more. The
// caller holds m.mu.
func (m *Meter) report(l Line) {
	name := l.Name
	if l.Hard {
		name += "!"
	}
	if m.told[name] {
		return
	}
	m.told[l.Name], m.told[name] = true, true
	if m.o.OnLine != nil {
		m.o.OnLine(l)
	}
}

// UpdateWindows records the windows of the plan that the provider has named in an answer, and reports those that have reached the quota. If a quota
// is set and no provider has named any window, it calls OnBlind once.
func (m *Meter) UpdateWindows(windows []Window) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(windows) > 0 {
		m.windows = windows
	}
	if m.limits.Quota == 0 {
		return
	}
	if len(m.windows) == 0 && !m.told["blind"] && m.o.OnBlind != nil {
		m.told["blind"] = true
		m.o.OnBlind()
	}
	for _, w := range windows {
		m.reportReached(Line{LimitQuota, false, w.Used, m.limits.Quota})
	}
}

// AddAnswer counts an answer of output tokens, whose request had input tokens, read of them from a cache.
func (m *Meter) AddAnswer(output, input, read int64) { m.answers.AddAnswer(output, input, read) }

// HasLimits reports whether anything bounds what is spent: a limit of the run, or a budget.
func (m *Meter) HasLimits() bool { return m.o.Book != nil || m.Limits() != (Limits{}) }

// Limits returns the limits in force.
func (m *Meter) Limits() Limits {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.limits
}

// Settled returns the use of all requests of the run that have ended.
func (m *Meter) Settled() Amount {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settled
}

// Raise replaces the limits by l, and lets those that wait look again. Lines are reported anew.
func (m *Meter) Raise(l Limits) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limits = l
	clear(m.told)
	m.wakeWaiting()
}
