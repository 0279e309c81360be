package spend_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/window/models"
)

var price = models.Price{Rate: models.Rate{Input: 3, Output: 15, CacheRead: 0.3}}

func request(input, asked int) spend.Request {
	return spend.Request{Model: "m", Input: input, MaxOutput: asked, Price: price, Priced: true}
}

// A hundred sub-agents at once: nobody is refused before the money is spent, and the line is passed by no more than what was under way.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, each = 5.0, 0.012
		under, most := 0, 0
		var mu sync.Mutex
		m := spend.New(spend.Options{Limits: spend.Limits{Cost: limit}, Run: "r1"})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for {
					h, err := m.Hold(t.Context(), request(1000, 64_000))
					var over *spend.Over
					if errors.As(err, &over) {
						if over.Used < limit {
							t.Errorf("refused at %v", over.Used)
						}
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					under++
					most = max(most, under)
					mu.Unlock()
					time.Sleep(100 * time.Millisecond) // the answer; synctest's time
					mu.Lock()
					under--
					mu.Unlock()
					h.Settle(spend.Amount{Tokens: 1800, Cost: each})
				}
			})
		}
		all.Wait()
		if used := m.Settled().Cost; used < limit || used > limit+100*each {
			t.Errorf("spent %v of %v", used, limit)
		}
		if most < 50 {
			t.Errorf("at most %d were under way at once: what they asked for was held and not what they use", most)
		}
	})
}

// Where others hold the rest, a request waits: until they settle, or for as long as a client has patience.
func TestHeldMoneyMakesOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := spend.New(spend.Options{Limits: spend.Limits{Cost: 0.05}})
		first, err := m.Hold(t.Context(), request(1000, 0)) // $0.033 with the 2,000 tokens expected
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = m.Hold(t.Context(), request(1000, 0))
		var busy *spend.Busy
		if !errors.As(err, &busy) || busy.Name != spend.LimitCost {
			t.Fatalf("the second got %v", err)
		}
		if waited := time.Since(began); waited < 10*time.Second || waited >= 20*time.Second {
			t.Errorf("it waited %v", waited)
		}
		time.AfterFunc(time.Second, first.Release)
		second, err := m.Hold(t.Context(), request(1000, 0))
		if err != nil {
			t.Fatalf("after a release: %v", err)
		}
		second.Settle(spend.Amount{Cost: 0.01})
		second.Settle(spend.Amount{Cost: 7})
		second.Release()
		if m.Settled().Cost != 0.01 {
			t.Errorf("spent %v", m.Settled())
		}
		ctx, cancel := context.WithCancel(t.Context())
		hold, _ := m.Hold(t.Context(), request(1000, 0))
		time.AfterFunc(time.Second, cancel)
		if _, err := m.Hold(ctx, request(1000, 0)); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that goes away waits on: %v", err)
		}
		hold.Release()
	})
}

func TestLimits(t *testing.T) {
	plan := request(10, 10)
	plan.Plan = true
	unpriced := request(10, 10)
	unpriced.Priced = false
	window := []spend.Window{{Name: "5 hours", Used: 0.6, Reset: time.Now().Add(time.Hour)}}
	for name, c := range map[string]struct {
		limits spend.Limits
		spent  spend.Amount
		r      spend.Request
		want   string // of the error; "" for none
	}{
		"tokens":                     {spend.Limits{Tokens: 2_000_000}, spend.Amount{Tokens: 2_000_001}, plan, "may use 2M tokens"},
		"tokens left":                {spend.Limits{Tokens: 2_000_000}, spend.Amount{Tokens: 1_999_999}, plan, ""},
		"money":                      {spend.Limits{Cost: 5}, spend.Amount{Cost: 5}, request(10, 10), "plimsoll raise r1 --cost +5"},
		"a subscription's":           {spend.Limits{Cost: 5}, spend.Amount{Cost: 9, Plan: 9}, plan, ""},
		"no price":                   {spend.Limits{Cost: 5}, spend.Amount{}, unpriced, `[models."m"]`},
		"no price, and only tokens":  {spend.Limits{Tokens: 5}, spend.Amount{}, unpriced, ""},
		"quota":                      {spend.Limits{Quota: 0.6}, spend.Amount{}, plan, "60 % of the plan's window of 5 hours"},
		"quota left":                 {spend.Limits{Quota: 0.61}, spend.Amount{}, plan, ""},
		"quota, but tokens are paid": {spend.Limits{Quota: 0.5}, spend.Amount{}, request(10, 10), ""},
	} {
		m := spend.New(spend.Options{Limits: c.limits, Run: "r1"})
		h, _ := m.Hold(t.Context(), plan)
		h.Settle(c.spent)
		m.UpdateWindows(window)
		_, err := m.Hold(t.Context(), c.r)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each line is told once, and again after a raise, which lets the run go on.
func TestLinesAndRaise(t *testing.T) {
	var lines []spend.Line
	m := spend.New(spend.Options{Limits: spend.Limits{Cost: 1}, OnLine: func(l spend.Line) { lines = append(lines, l) }})
	for range 12 {
		h, err := m.Hold(t.Context(), request(1, 1))
		if err != nil {
			break
		}
		h.Settle(spend.Amount{Cost: 0.1})
	}
	if len(lines) != 2 || lines[0].Hard || !lines[1].Hard {
		t.Fatalf("%+v", lines)
	}
	m.Raise(spend.Limits{Cost: 2})
	h, err := m.Hold(t.Context(), request(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	h.Settle(spend.Amount{Cost: 0.7})
	if len(lines) != 3 || lines[2].Hard || lines[2].Max != 2 {
		t.Errorf("after a raise: %+v", lines)
	}
}

// What a usage says never makes a sum smaller, or no number.
func TestAbsurdAmounts(t *testing.T) {
	m := spend.New(spend.Options{Limits: spend.Limits{Cost: 1, Tokens: 100}})
	zero := 0.0
	for _, a := range []spend.Amount{{Tokens: -5, Cost: -1}, {Cost: zero / zero}, {Cost: 1 / zero}, {Plan: -1}} {
		h, err := m.Hold(t.Context(), request(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		h.Settle(a)
	}
	if used := m.Settled(); used != (spend.Amount{}) {
		t.Errorf("%+v", used)
	}
}

// An answer is expected to be like those before, not what was asked for.
func TestAnswersAreLearned(t *testing.T) {
	var a spend.Answers
	if got, n := a.P99(); got != 0 || n != 0 {
		t.Errorf("of none: %d of %d", got, n)
	}
	for i := range int64(1000) {
		a.AddAnswer(500+i%100, 10_000, 9_000)
	}
	a.AddAnswer(60_000, 10_000, 9_000)
	if got, _ := a.P99(); got < 600 || got > 720 {
		t.Errorf("99 of a hundred have at most %d", got)
	}
	var b spend.Answers
	b.AddFormer(40, 1000)
	if got, n := b.P99(); got < 1000 || got > 1200 || n != 40 {
		t.Errorf("%d of %d", got, n)
	}
}
