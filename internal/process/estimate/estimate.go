// Package estimate predicts the memory that a run will need from the needs of earlier runs. It reads no file and no clock: [FromRuns] makes
// [Sample]s of what package usage has.
//
//	e, err := estimate.Input{Project: estimate.FromRuns(runs), Configured: 4 * limit.GiB}.Estimate()
//	// e.Bytes, e.Source == "history:project", e.Samples == 12
//
// A kernel's high-water mark counts page cache, which is given back under pressure: the exact peak is the demand only when under a tenth of it was
// cache, else it is the sampled working set with a margin. A run that was killed for memory is censored: it needed at least what it had.
//
// [Estimators] lists formulas over the newest samples; [Default] is in force, and after memory ran out it stays above the line that was reached for
// twenty runs. Which is best is measured: [Replay] runs each over a sequence of tasks as they happened, which [ReadTrace] reads from a Nextflow
// trace. Everything is safe for concurrent use.
package estimate

import (
	"math"
	"slices"

	"github.com/plimsoll/plimsoll/limit"
)

// FirstGuess is the estimate for a tool that nobody has run or configured: 500 MB, as 500 × 2^20
// bytes like every other M here.
const FirstGuess = 500 * limit.MiB

// Where an estimate comes from, most specific first. The strings are stable: reports and scripts
// carry them.
const (
	// SourceReservation: the user said how much, and no history counts.
	SourceReservation = "reservation"
	SourceProject     = "history:project"
	SourceTool        = "history:tool"
	SourceImport      = "history:import"
	SourceFleet       = "history:fleet"
	SourceConfigured  = "configured"
	SourceProfile     = "profile"
	SourceDefault     = "default"
)

// Estimate is the memory that a run is expected to need.
type Estimate struct {
	Bytes limit.Bytes
	// Source is one of the Source constants.
	Source string
	// Samples is the number of earlier runs it rests on, or was held against; 0 without a history.
	Samples int
	// Guessed is true when Bytes is the initial estimate, or what light runs have made of it, although there is a history: no run of it has shown a
	// need.
	Guessed bool
	// Stated is true when a person has given this size, in a flag or a configuration.
	Stated bool
	// FromKills is the part of Bytes that rests only on runs that ran out of memory. They needed more than they had, and nobody knows how
	// much.
	FromKills limit.Bytes
}

// Input is all that an estimate can rest on; [Input.Estimate] uses the first of it that says anything.
type Input struct {
	// Project holds the samples of this variant of the tool in this project, Tool those of the
	// variant in all projects, both oldest first.
	Project, Tool []Sample
	// ToolSamples returns the samples of the variant in all projects. It is called only when the project's history gives no estimate and
	// Tool is nil, because it means reading many files. It may be nil.
	ToolSamples func() []Sample
	// Siblings are the tool's other variants in this project; ToolSiblings returns its variants in all projects, and may be nil. They are
	// used when the variant's own history gives no estimate.
	Siblings     Pool
	ToolSiblings func() Pool
	// Elsewhere are histories of other hosts, asked one after the other when this host has seen no run of the variant.
	Elsewhere []Elsewhere
	// Configured is the initial estimate of the configuration, Profile that of the built-in
	// profile of the tool; 0 means none.
	Configured, Profile limit.Bytes
	// Estimator is the name of one of [Estimators]; "" means [Default].
	Estimator string
}

// Elsewhere is a history of other hosts.
type Elsewhere struct {
	// Source is SourceImport or SourceFleet.
	Source string
	// Samples returns what they have seen of the variant in this project, and in all projects, both oldest first. It may wait.
	Samples func() (project, all []Sample)
}

// Estimate returns the first estimate that can be given, in this order: the variant's history in the project; what other hosts have seen of the
// variant, if the only other source is the tool's other variants; those variants; the variant's history in other projects; the tool's variants in
// others; the configured initial estimate; the profile's; [FirstGuess]. A history that shows no need (see evidence) is passed over. If none shows
// a need, the initial estimate is returned with Guessed, lowered by each light run, and Source and Samples name the history that it was compared
// with. An initial estimate that a person has stated bounds what a history leads to until a run needed more. The error is about an unknown estimator.
func (in Input) Estimate() (Estimate, error) {
	estimator, err := ByName(in.Estimator)
	if err != nil {
		return Estimate{}, err
	}
	first := in.initialEstimate()
	without := first // what is said when no history shows a need
	from := func(samples []Sample, source string) (Estimate, bool) {
		known := telling(samples, first.Bytes)
		bytes := first.capByStated(estimator.Bytes(known), known)
		if len(samples) > 0 && without.Samples == 0 {
			without = Estimate{Bytes: first.lowerByLightRuns(samples), Source: source, Samples: min(len(samples), estimator.Window), Stated: first.Stated, Guessed: true}
		}
		ended := slices.DeleteFunc(slices.Clone(known), func(s Sample) bool { return s.Censored })
		return Estimate{
			Bytes: bytes, Source: source, Samples: min(len(known), estimator.Window),
			FromKills: max(0, bytes-estimator.Bytes(ended)),
		}, bytes > 0
	}
	if e, ok := from(in.Project, SourceProject); ok {
		return e, nil
	}
	elsewhere := func() (Estimate, bool) {
		for _, other := range in.Elsewhere {
			project, all := other.Samples()
			if e, ok := from(project, other.Source); ok {
				return e, true
			}
			if e, ok := from(all, other.Source); ok {
				return e, true
			}
		}
		return Estimate{}, false
	}
	if e, ok := in.Siblings.estimate(estimator, first, SourceProject); ok {
		if seen, ok := elsewhere(); ok {
			return seen, nil
		}
		return e, nil
	}
	tool := in.Tool
	if tool == nil && in.ToolSamples != nil {
		tool = in.ToolSamples()
	}
	if e, ok := from(tool, SourceTool); ok {
		return e, nil
	}
	if e, ok := elsewhere(); ok {
		return e, nil
	}
	if in.ToolSiblings != nil {
		if e, ok := in.ToolSiblings().estimate(estimator, first, SourceTool); ok {
			return e, nil
		}
	}
	return without, nil
}

// initialEstimate returns the estimate without any history.
func (in Input) initialEstimate() Estimate {
	switch {
	case in.Configured > 0:
		return Estimate{Bytes: in.Configured, Source: SourceConfigured, Stated: true}
	case in.Profile > 0:
		return Estimate{Bytes: in.Profile, Source: SourceProfile}
	}
	return Estimate{Bytes: FirstGuess, Source: SourceDefault}
}

// What a history must show to stand in place of the initial estimate. One `make --version` took
// 1.2 MiB, and made the next `make -j6` reserve as much, which took 726 MB.
const (
	// lightShare is the share of the initial estimate from which a demand counts as a need.
	lightShare = 0.10
	// lightRuns is the number of runs below lightShare, none of them brief, that count as a need all the same: a tool that has worked
	// twenty times in 40 MB is a small tool.
	lightRuns = 20
)

// capByStated returns what a history led to, bytes, but not more than the initial estimate that a person has stated, as long as no run has needed
// more: the wide margin after few runs stands for what nobody knows of a tool, and here somebody does. A fifth above the largest need stays in any
// case.
func (e Estimate) capByStated(bytes limit.Bytes, known []Sample) limit.Bytes {
	most := limit.Bytes(0)
	for _, s := range known {
		most = max(most, s.Demand)
	}
	if !e.Stated || most > e.Bytes {
		return bytes
	}
	return min(bytes, max(e.Bytes, scale(most, floorFactor)))
}

// lowerByLightRuns returns an initial estimate after runs that needed less than a tenth of it: each that was not brief lowers it by the same share,
// so that it has come down to a tenth when lightRuns of them stand in its place.
func (e Estimate) lowerByLightRuns(samples []Sample) limit.Bytes {
	light := 0
	for _, s := range samples {
		if !s.Brief {
			light++
		}
	}
	return scale(e.Bytes, math.Pow(lightShare, float64(min(light, lightRuns))/lightRuns))
}

// telling returns the samples that an estimate may rest on, in their order. There are none while all of them were brief or below a tenth of the
// initial estimate; otherwise only the brief ones that show no need are left out.
func telling(samples []Sample, initial limit.Bytes) []Sample {
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

// estimate returns an estimate for a variant that has no history; ok is false if the pool gives none. If the tool's runs were recorded without
// variants, it is the estimate for those. Otherwise each variant has a vote, and so has the initial estimate: one heavy `sh -c` says little about
// the next, and a script that was never seen may well need as much as the initial estimate.
func (p Pool) estimate(estimator Estimator, first Estimate, source string) (Estimate, bool) {
	if len(p) == 0 {
		return Estimate{}, false
	}
	if bare, only := p[""]; only && len(p) == 1 {
		known := telling(bare, first.Bytes)
		bytes := estimator.Bytes(known)
		return Estimate{Bytes: bytes, Source: source, Samples: min(len(known), estimator.Window)}, bytes > 0
	}
	votes := []limit.Bytes{first.Bytes}
	count := 0
	for _, samples := range p {
		known := telling(samples, first.Bytes)
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
