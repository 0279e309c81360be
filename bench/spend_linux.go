package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/window/models"
)

// spendBench compares the proxy with limits to the one without, as [proxyBench] does; args: "quick" does a tenth of the requests.
func spendBench(o *Out, args []string) {
	b := o.proxyRun(args)
	body := benchHistory(1000, 1)
	for _, c := range []struct{ role, name string }{{"child-limited", "limits of a run"}, {"child-budget", "limits and budgets"}, {"child-queue", "the queue for rates"}} {
		b.ours, b.theirs = b.proxy(c.role), b.proxy("child-plimsoll")
		with, without := b.cpuPerRequest(15, 200*b.scale, func(int) []byte { return body })
		o.Add(Row{Case: "1 KB, " + c.name, Metric: "CPU per request", Value: with, Unit: "µs", Baseline: "no limits", BaselineValue: without})
	}
	settleAtOnce(o)
	subAgents(o)
}

// settleAtOnce lets 200 runs, each with a book of its own on one file, hold and settle at one moment.
func settleAtOnce(o *Out) {
	const runs, rounds = 200, 20
	dir := o.TempDir()
	price := models.Price{Rate: models.Rate{Input: 3, Output: 15}}
	one := func(m *spend.Meter) (time.Duration, error) {
		h, err := m.Hold(o.ctx, spend.Request{Input: 1000, Price: price, Priced: true})
		if err != nil {
			return 0, err
		}
		began := time.Now()
		h.Settle(spend.Amount{Tokens: 1200, Cost: 0.01})
		return time.Since(began), nil
	}
	meters := make([]*spend.Meter, runs)
	for i := range meters {
		meters[i] = spend.New(spend.Options{Book: spend.OpenBook(dir, fmt.Sprint(i%10), spend.Budget{Day: 1e6})})
	}
	var alone, together []time.Duration
	var last time.Duration // stands for all rounds
	for range rounds {
		alone = append(alone, must(one(meters[0])))
		var all sync.WaitGroup
		took, errs := make([]time.Duration, runs), make([]error, runs)
		start := make(chan struct{})
		for i, m := range meters {
			all.Go(func() {
				<-start
				took[i], errs[i] = one(m)
			})
		}
		began := time.Now()
		close(start)
		all.Wait()
		last = time.Since(began)
		check(errors.Join(errs...))
		together = append(together, took...)
	}
	o.Add(Row{Case: "200 runs at once", Metric: "a request of each, over all", Value: us(last) / runs, Unit: "µs", Baseline: "alone", BaselineValue: us(median(alone))})
	for _, q := range quantiles {
		o.Add(Row{Case: "200 runs at once", Metric: "settle " + q.name, Value: us(quantile(together, q.part)) / 1000, Unit: "ms", Baseline: "goal", BaselineValue: 2})
	}
}

// subAgents lets 100 sub-agents of one run ask until their limit is used up, with answers of the sizes that real ones have.
func subAgents(o *Out) {
	const agents, most = 100, 5.0
	price := models.Price{Rate: models.Rate{Input: 3, Output: 15}}
	m := spend.New(spend.Options{Limits: spend.Limits{Cost: most}})
	var all sync.WaitGroup
	var mu sync.Mutex
	asked, early, busy, under, peak := 0, 0, 0, 0, 0
	for i := range agents {
		all.Go(func() {
			for turn := 0; ; turn++ {
				input := 8000 + 400*turn
				h, err := m.Hold(o.ctx, spend.Request{Input: input, MaxOutput: 64_000, Price: price, Priced: true})
				over, isOver := errors.AsType[*spend.Over](err)
				mu.Lock()
				switch {
				case isOver:
					if over.Used < most {
						early++
					}
					mu.Unlock()
					return
				case err != nil:
					busy++
					mu.Unlock()
					if o.ctx.Err() != nil {
						return
					}
					continue
				}
				asked++
				under++
				peak = max(peak, under)
				mu.Unlock()
				time.Sleep(time.Duration(20+(i*37+turn*11)%60) * time.Millisecond)
				output := 100 + (i*7919+turn*104729)%1500
				mu.Lock()
				under--
				mu.Unlock()
				h.Settle(spend.Amount{Tokens: int64(input + output), Cost: price.Of(input, 0, 0, 0, output)})
			}
		})
	}
	all.Wait()
	used := m.Settled().Cost
	o.Add(Row{Case: "100 sub-agents, $5", Metric: "refused before the line", Value: float64(early), Unit: "requests", Baseline: "goal", BaselineValue: 0})
	o.Add(Row{Case: "100 sub-agents, $5", Metric: "spent", Value: used, Unit: "$", Baseline: "limit", BaselineValue: most})
	o.Add(Row{Case: "100 sub-agents, $5", Metric: "under way at once", Value: float64(peak), Unit: "requests", Baseline: "agents", BaselineValue: agents})
	o.Note("100 sub-agents: %d requests, %d waits in vain", asked, busy)
}
