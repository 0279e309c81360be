package tokens

// Estimate is a number of tokens that is known within a band: the truth is taken to lie
// from Low to High, and Best is where it most likely is. An exact count has all three equal.
type Estimate struct{ Low, Best, High int }

// Exactly returns the estimate whose three numbers are n.
func Exactly(n int) Estimate { return Estimate{n, n, n} }

// Plus returns the sum of two estimates.
func (e Estimate) Plus(o Estimate) Estimate {
	return Estimate{e.Low + o.Low, e.Best + o.Best, e.High + o.High}
}

// atMost returns the estimate with all three numbers lowered to at most n.
func (e Estimate) atMost(n int) Estimate {
	return Estimate{min(e.Low, n), min(e.Best, n), min(e.High, n)}
}

// Exact reports whether the number is known exactly.
func (e Estimate) Exact() bool { return e.Low == e.High }

// Over reports whether room must be made, for a trigger above which it should and a limit that must not be passed. If the band includes the
// trigger, sure is false, and over reports whether High is above the limit: a provider that counts for free should then be asked, and over
// is for callers who cannot. So nothing is touched that may be under the trigger, and nothing sent that may be over the limit.
func (e Estimate) Over(trigger, limit int) (over, sure bool) {
	switch {
	case e.High <= trigger:
		return false, true
	case e.Low > trigger:
		return true, true
	}
	return e.High > limit, false
}

// Counted is the source of a token count, in the words of the journal.
type Counted string

// The ways to know a number of input tokens.
const (
	CountedExact    Counted = "exact"    // the band is a point
	CountedEstimate Counted = "estimate" // nothing was reported for any prefix of the conversation
	CountedUsage    Counted = "usage"    // reported for a prefix, an upper estimate of the rest
	CountedProvider Counted = "provider" // the provider counted this very request
)
