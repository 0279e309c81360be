package agent

import "context"

// summarizer asks a model for a summary; it is [Model].Generate without the pieces.
type summarizer func(ctx context.Context, r *Request) (*Reply, error)

// fitted says what fit did.
type fitted struct {
	Tokens  int    // of the whole request as it is now, by our count
	Limit   int    // of the input
	Actions string // what was done, for people; "" when nothing was
	Changed bool   // the messages are others than those that were given
}

// fitter makes each request fit the window. It belongs to one query.
type fitter struct {
	info      ModelInfo
	limits    Limits
	summarize summarizer
}

func newFitter(info ModelInfo, l Limits, summarize summarizer) *fitter {
	return &fitter{info: info, limits: l, summarize: summarize}
}

func (f *fitter) fit(ctx context.Context, system string, ms []Message, specs []ToolSpec, maxOutput int) (out []Message, did fitted, err error) {
	return ms, fitted{}, nil
}

// learned takes in the limit that a refusal named; 0 is one that named none.
func (f *fitter) learned(limit int) {}

// report takes in what the provider counted for the last request that fit returned.
func (f *fitter) report(u Usage) {}
