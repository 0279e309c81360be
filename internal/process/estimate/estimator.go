package estimate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// Estimator predicts the memory that the next run needs from the samples of earlier ones.
type Estimator struct {
	// Name names it in the configuration and in reports.
	Name string
	// Rule is the formula in one line, for people.
	Rule string
	// Window is the number of samples that it uses, the newest.
	Window int

	bytes func([]Sample) float64
}

// Bytes returns the estimate from samples, oldest first; 0 when there are none. It depends on the last Window samples only, and is never
// negative or beyond any machine.
func (e Estimator) Bytes(samples []Sample) limit.Bytes {
	samples = samples[max(0, len(samples)-e.Window):]
	if len(samples) == 0 {
		return 0
	}
	return fromFloat(e.bytes(samples))
}

// Names of the estimators that are referred to by name elsewhere.
const (
	// Default is the estimator in force.
	Default = "tail"
	// Baseline names the estimator that all others are compared with.
	Baseline = "p95"
)

// The floor after memory ran out: for the next floorRuns runs the estimate stays above the line
// that was reached, by a fifth or by 100 MiB, whichever is more. Twenty runs are enough to see
// whether the need is real and few enough to forget an accident.
const (
	floorRuns   = 20
	floorFactor = 1.2
	floorExtra  = 100 * limit.MiB
)

// window is the number of samples that an estimator over the whole history uses: all that are kept.
const window = 200

var estimators = []Estimator{
	{Name: "p95", Rule: "95th percentile (nearest rank) of the last 20", Window: 20, bytes: func(s []Sample) float64 { return quantile(s, 0.95) }},
	{Name: "max20", Rule: "maximum of the last 20", Window: 20, bytes: largestDemand},
	{Name: "vpa", Rule: "90th percentile of the last 200 × 1.15, as the Kubernetes vertical pod autoscaler", Window: window, bytes: func(s []Sample) float64 { return 1.15 * quantile(s, 0.90) }},
	{Name: "max5x1.5", Rule: "maximum of the last 5 × 1.5", Window: 5, bytes: func(s []Sample) float64 { return 1.5 * largestDemand(s) }},
	{Name: "bound", Rule: "maximum of the last 200 × (1.03 + 0.6/√n), above the line of an OOM kill for 20 runs", Window: window, bytes: boundParams.estimateBound},
	{Name: "bound-log", Rule: "maximum of the last 200 × exp(sd(log)/√n + 0.03)", Window: window, bytes: estimateBoundLog},
	{Name: "tail", Rule: "maximum of the last 200 × (1.02 + min(6 × tail, 2.5/√n)), tail = mean log gap of the top √n, peaks older than 50 runs halved every 25, above the line of an OOM kill for 20 runs", Window: window, bytes: tailParams.estimateTail},
}

// Estimators returns all estimators, the baseline first.
func Estimators() []Estimator { return slices.Clone(estimators) }

// ByName returns the estimator of this name, the default for "". The error for an unknown name lists all.
func ByName(name string) (Estimator, error) {
	if name == "" {
		name = Default
	}
	names := make([]string, len(estimators))
	for i, e := range estimators {
		if e.Name == name {
			return e, nil
		}
		names[i] = e.Name
	}
	return Estimator{}, fmt.Errorf("no estimator is called %.40q; there are %s", name, strings.Join(names, ", "))
}

// largestDemand returns the largest demand of the samples, 0 without any.
func largestDemand(samples []Sample) float64 {
	m := 0.0
	for _, s := range samples {
		m = max(m, float64(s.Demand))
	}
	return m
}

// quantile returns the nearest-rank quantile of the demands: the smallest with a share of at least q of all at or below it.
func quantile(samples []Sample, q float64) float64 {
	sorted := make([]limit.Bytes, len(samples))
	for i, s := range samples {
		sorted[i] = s.Demand
	}
	slices.Sort(sorted)
	rank := int(math.Ceil(q * float64(len(sorted))))
	return float64(sorted[min(max(rank, 1), len(sorted))-1])
}

// Params are the constants of the estimators bound and tail: the margin over the maximum is Base − 1
// plus Cap/n^Fall, for tail at most Factor times the tail index. After Keep newer runs a sample counts less, half as much
// after Half more; Half 0 means never.
type Params struct {
	Base, Cap, Fall, Factor float64
	Keep, Half              int
}

// Family returns the estimator "tail" or, for any other name, "bound" with other constants. It is for finding constants; see the bench
// called estimates.
func Family(name string, p Params) Estimator {
	formula := p.estimateBound
	if name == "tail" {
		formula = p.estimateTail
	}
	return Estimator{Name: name, Window: window, bytes: formula}
}

// fadeOld returns the demands with old ones lowered: a peak older than Keep runs is halved with every further Half runs, so that one heavy run is
// not paid for two hundred times.
func (p Params) fadeOld(samples []Sample) []float64 {
	demands := make([]float64, len(samples))
	for i, s := range samples {
		demands[i] = float64(s.Demand)
		if age := len(samples) - 1 - i - p.Keep; p.Half > 0 && age > 0 {
			demands[i] = max(demands[i]*math.Exp2(-float64(age)/float64(p.Half)), 1)
		}
	}
	return demands
}

// estimateBound returns the maximum with a margin that shrinks with the number of runs: the more have been seen, the less the next one can stand out.
// Base − 1 remains for what no history shows.
func (p Params) estimateBound(samples []Sample) float64 {
	margin := p.Base + p.Cap/math.Pow(float64(len(samples)), p.Fall)
	return max(slices.Max(p.fadeOld(samples))*margin, floorAfterKill(samples))
}

// estimateBoundLog returns the maximum with a margin that depends on the spread of the logarithms, see spread.
func estimateBoundLog(samples []Sample) float64 {
	n := float64(len(samples))
	return max(largestDemand(samples)*math.Exp(spread(samples)/math.Sqrt(n)+0.03), floorAfterKill(samples))
}

// spread returns the standard deviation of the logarithms of the demands; 0 for fewer than two.
func spread(samples []Sample) float64 {
	if len(samples) < 2 {
		return 0
	}
	mean := 0.0
	for _, s := range samples {
		mean += math.Log(float64(s.Demand))
	}
	mean /= float64(len(samples))
	sum := 0.0
	for _, s := range samples {
		d := math.Log(float64(s.Demand)) - mean
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(samples)-1))
}

// Constants of bound and tail. docs/estimates.md describes the measurements behind them.
var (
	boundParams = Params{Base: 1.03, Cap: 0.6, Fall: 0.5}
	tailParams  = Params{Base: 1.02, Cap: 2.5, Fall: 0.5, Factor: 6, Keep: 50, Half: 25}
)

const (
	tailPrior  = 0.4 // the tail of a tool nobody knows: the next peak is half as large again
	tailWeight = 0.25
	tailExtra  = 16 * limit.MiB // no margin is smaller: a few MiB more or less are noise in any process
)

// estimateTail returns the maximum with a margin that depends on how far apart the largest peaks are, and not on how far all of them spread: a tool
// that often needs 1 GB and often 4 GB has a wide spread, but when its many 4 GB runs lie close together the next will hardly be 5. The statistic is
// Hill's estimator of a tail's index over the top √n values, shrunk to a prior because with few runs it knows nothing.
func (p Params) estimateTail(samples []Sample) float64 {
	n := len(samples)
	sorted := p.fadeOld(samples)
	slices.Sort(sorted)
	top := min(int(math.Ceil(math.Sqrt(float64(n)))), n-1)
	gaps := 0.0
	for _, v := range sorted[n-top:] { // none after the first run: then the prior speaks alone
		gaps += math.Log(v / sorted[n-top-1])
	}
	index := (tailWeight*tailPrior + gaps) / (tailWeight + float64(top))
	margin := min(p.Factor*index, p.Cap/math.Pow(float64(n), p.Fall))
	largest := sorted[n-1]
	return max(largest*(p.Base+margin), largest+float64(tailExtra), floorAfterKill(samples))
}

// floorAfterKill returns the bytes that the estimate must not go below because memory ran out in one of the last floorRuns runs; 0 when it did not.
func floorAfterKill(samples []Sample) float64 {
	f := 0.0
	for _, s := range samples[max(0, len(samples)-floorRuns):] {
		if s.Line > 0 {
			f = max(f, floorFactor*float64(s.Line), float64(s.Line+floorExtra))
		}
	}
	return f
}

// fromFloat returns f rounded to bytes: 0 when it is not above 0, at most 1 PiB.
func fromFloat(f float64) limit.Bytes {
	const most = float64(limit.Bytes(1) << 50)
	if math.IsNaN(f) || f <= 0 {
		return 0
	}
	return limit.Bytes(max(math.Round(min(f, most)), 1))
}
