package runs

import "github.com/plimsoll/plimsoll/journal"

// Usage counts the tokens that one model read and wrote for a run, as its provider counted them. Input includes Cached.
type Usage struct {
	Model  string `json:"model"`
	Input  int64  `json:"input_tokens"`
	Cached int64  `json:"cached_tokens,omitempty"`
	Output int64  `json:"output_tokens"`
}

// maxUsage bounds the models of one run in [Observed.Usage]; later ones are not counted.
const maxUsage = 16

// use adds tokens to those of a model.
func (o *Observed) use(model string, input, cached, output int64) {
	if model == "" || input == 0 && output == 0 {
		return
	}
	for i := range o.Usage {
		if u := &o.Usage[i]; u.Model == model {
			u.Input, u.Cached, u.Output = u.Input+input, u.Cached+cached, u.Output+output
			return
		}
	}
	if len(o.Usage) < maxUsage {
		o.Usage = append(o.Usage, Usage{model, input, cached, output})
	}
}

// used adds the tokens that an event reports.
func (o *Observed) used(e journal.Event) {
	switch e := e.(type) {
	case journal.WindowResponse:
		if e.Status >= 300 {
			return
		}
		input := e.TokensIn
		if input == 0 {
			input = e.Estimated
		}
		o.use(e.Model, input, e.CacheRead, e.TokensOut)
	case journal.AgentRequest:
		o.model = e.Model
	case journal.AgentQueryEnded:
		o.use(o.model, e.TokensIn, e.TokensCached, e.TokensOut)
	}
}

// Cost returns the cost of the tokens of a run. of returns the cost of those of one model, or false when that has no price; ok is false
// when none has.
func (o *Observed) Cost(of func(Usage) (cost float64, ok bool)) (sum float64, ok bool) {
	for _, u := range o.Usage {
		if cost, priced := of(u); priced {
			sum, ok = sum+cost, true
		}
	}
	return sum, ok
}
