package estimate

import (
	"slices"

	"github.com/plimsoll/plimsoll/limit"
)

// What a history must show to stand in place of the initial estimate. One `make --version` took
// 1.2 MiB, and made the next `make -j6` reserve as much, which took 726 MB.
const (
	// lightShare is the share of the initial estimate from which a demand counts as a need.
	lightShare = 0.10
	// lightRuns is the number of runs below lightShare, none of them brief, that count as a need all the same: a tool that has worked
	// twenty times in 40 MB is a small tool.
	lightRuns = 20
)

// evidence returns the samples that an estimate may rest on, in their order: none while all of
// them were brief or under a tenth of the initial estimate, else all but the brief ones without a need.
func evidence(samples []Sample, initial limit.Bytes) []Sample {
	needs := func(s Sample) bool {
		return s.Censored || s.Demand >= initial || !s.Brief && float64(s.Demand) >= lightShare*float64(initial)
	}
	light := 0
	for _, s := range samples {
		if !s.Brief && !needs(s) {
			light++
		}
	}
	if light < lightRuns && !slices.ContainsFunc(samples, needs) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(samples), func(s Sample) bool { return s.Brief && !needs(s) })
}

// Pool holds the samples of a tool by variant, each oldest first. "" is the tool without one, and all
// that was recorded before there were variants.
type Pool map[string][]Sample

// siblingShare is the share of the variants' votes at which the estimate for an unseen variant is taken.
const siblingShare = 0.75

// estimate returns an estimate for a variant that has no history; false when the pool gives none. If the tool's runs were recorded without
// variants, it is the estimate for those. Else each variant has a vote, and the initial estimate first has one: one heavy `sh -c` says
// little of the next, and a script that was never seen may well need what the initial estimate says.
func (p Pool) estimate(estimator Estimator, first Estimate, source string) (Estimate, bool) {
	if len(p) == 0 {
		return Estimate{}, false
	}
	if bare, only := p[""]; only && len(p) == 1 {
		known := evidence(bare, first.Bytes)
		bytes := estimator.Bytes(known)
		return Estimate{Bytes: bytes, Source: source, Samples: min(len(known), estimator.Window)}, bytes > 0
	}
	votes := []limit.Bytes{first.Bytes}
	count := 0
	for _, samples := range p {
		known := evidence(samples, first.Bytes)
		if len(known) == 0 {
			known = samples
		}
		if bytes := estimator.Bytes(known); bytes > 0 {
			votes = append(votes, bytes)
			count += min(len(known), estimator.Window)
		}
	}
	if count == 0 {
		return Estimate{}, false
	}
	slices.Sort(votes)
	bytes := votes[max(int(siblingShare*float64(len(votes))), 1)-1]
	if bytes <= first.Bytes {
		return first, true
	}
	return Estimate{Bytes: bytes, Source: source, Samples: count}, true
}
