package watch

import (
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// Cost returns the cost of a run, by the prices that the user has written for its models ([models."NAME"]), in the user's currency; ok is
// false when there are none. Prices are never guessed.
func Cost(l *config.Loaded, e *runs.Entry) (cost float64, ok bool) {
	return e.Cost(func(u runs.Usage) (float64, bool) {
		p, ok := l.ModelPrices(u.Model)
		return p.Of(int(u.Input), int(u.Cached), int(u.Output)), ok
	})
}
