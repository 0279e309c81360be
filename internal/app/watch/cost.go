package watch

import (
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// Cost returns a function that returns the cost of a run in US dollars; ok is false when no price of its models is known. What a subscription
// pays for is not in it. The prices are read once, so a caller with many runs keeps the function.
func Cost(l *config.Loaded) func(e *runs.Entry) (cost float64, ok bool) {
	price := priceNow(l)
	return func(e *runs.Entry) (float64, bool) { return e.Cost(price) }
}

// priceNow returns the price of tokens by what is written and known now, for those that had none when they were used. Which
// of the requests were long enough for a dearer rate is not known any more.
func priceNow(l *config.Loaded) func(runs.Usage) (float64, bool) {
	price := core.Prices(l)
	return func(u runs.Usage) (float64, bool) {
		p, ok := price(u.Upstream, u.Model)
		return p.Rate.Of(int(u.Input), int(u.Cached), int(u.Written-u.Hour), int(u.Hour), int(u.Output)), ok
	}
}
