package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/window/models"
)

func init() {
	register("spend", "limits of what runs may spend: the price of a request with them, 200 runs that settle at once, 100 sub-agents at one limit", spendBench)
}

// spendBench compares the proxy with limits to the one without, as [proxyBench] does; args: "quick" does a tenth of the requests.
func spendBench(ctx context.Context, o *Out, args []string) error {
	b := &proxyRun{ctx: ctx, o: o, scale: 10}
	if slices.Contains(args, "quick") {
		b.scale = 1
	}
	defer b.stop()
	var err error
	if b.provider, err = b.child("child-provider"); err != nil {
		return err
	}
	body := benchHistory(1000, 1)
	for _, c := range []struct{ role, name string }{{"child-limited", "limits of a run"}, {"child-budget", "limits and budgets"}, {"child-queue", "the queue for rates"}} {
		if b.ours, err = b.child(c.role, b.provider.url); err != nil {
			return err
		}
		if b.theirs, err = b.child("child-plimsoll", b.provider.url); err != nil {
			return err
		}
		with, without, err := b.perRequest(15, 200*b.scale, func(int) []byte { return body })
		if err != nil {
			return err
		}
		o.Add(Row{Case: "1 KB, " + c.name, Metric: "CPU per request", Value: us(with), Unit: "µs", Baseline: "no limits", BaselineValue: us(without)})
	}
	if err := settleAtOnce(ctx, o); err != nil {
		return err
	}
	return subAgents(ctx, o)
}

// settleAtOnce lets 200 runs, each with a book of its own on one file, hold and settle at one moment.
func settleAtOnce(ctx context.Context, o *Out) error {
	const runs, rounds = 200, 20
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	price := models.Price{Rate: models.Rate{Input: 3, Output: 15}}
	one := func(m *spend.Meter) (time.Duration, error) {
		h, err := m.Hold(ctx, spend.Request{Input: 1000, Price: price, Priced: true})
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
	for range rounds {
		took, err := one(meters[0])
		if err != nil {
			return err
		}
		alone = append(alone, took)
		var all sync.WaitGroup
		var mu sync.Mutex
		var failed error
		start := make(chan struct{})
		for _, m := range meters {
			all.Go(func() {
				<-start
				took, err := one(m)
				mu.Lock()
				defer mu.Unlock()
				together, failed = append(together, took), errors.Join(failed, err)
			})
		}
		began := time.Now()
		close(start)
		all.Wait()
		if failed != nil {
			return failed
		}
		o.Add(Row{Case: "200 runs at once", Metric: "a request of each, over all", Value: us(time.Since(began)) / runs, Unit: "µs", Baseline: "alone", BaselineValue: us(median(alone))})
	}
	o.rows = slices.Delete(o.rows, len(o.rows)-rounds, len(o.rows)-1) // the last round stands for all
	for _, q := range []struct {
		name string
		part float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		o.Add(Row{Case: "200 runs at once", Metric: "settle " + q.name, Value: us(quantile(together, q.part)) / 1000, Unit: "ms", Baseline: "goal", BaselineValue: 2})
	}
	return nil
}

// subAgents lets 100 sub-agents of one run ask until their limit is used up, with answers of the sizes that real ones have.
func subAgents(ctx context.Context, o *Out) error {
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
				h, err := m.Hold(ctx, spend.Request{Input: input, MaxOutput: 64_000, Price: price, Priced: true})
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
	used := m.Used().Cost
	o.Add(Row{Case: "100 sub-agents, $5", Metric: "refused before the line", Value: float64(early), Unit: "requests", Baseline: "goal", BaselineValue: 0})
	o.Add(Row{Case: "100 sub-agents, $5", Metric: "spent", Value: used, Unit: "$", Baseline: "limit", BaselineValue: most})
	o.Add(Row{Case: "100 sub-agents, $5", Metric: "under way at once", Value: float64(peak), Unit: "requests", Baseline: "agents", BaselineValue: agents})
	o.Note("100 sub-agents: %d requests, %d waits in vain", asked, busy)
	return nil
}
