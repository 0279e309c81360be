package estimate_test

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/limit"
)

func estimateOf(t *testing.T, in estimate.Input) estimate.Estimate {
	t.Helper()
	e, err := in.Estimate()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestWhatShowsNoNeedDoesNotDisplaceTheInitialEstimate(t *testing.T) {
	version := estimate.Sample{Demand: mib, Brief: true}
	light := estimate.Sample{Demand: 40 * mib}
	build := estimate.Sample{Demand: 726 * mib}
	for name, c := range map[string]struct {
		samples  []estimate.Sample
		low      limit.Bytes
		high     limit.Bytes
		initial  bool
		initials limit.Bytes
	}{
		"one version":                     {samples: []estimate.Sample{version}, initial: true},
		"two hundred versions":            {samples: slices.Repeat([]estimate.Sample{version}, 200), initial: true},
		"a long run under a tenth":        {samples: []estimate.Sample{light}, initial: true, low: 440 * mib, high: 450 * mib},
		"nineteen of them":                {samples: slices.Repeat([]estimate.Sample{light}, 19), initial: true, low: 50 * mib, high: 60 * mib},
		"twenty of them are a small tool": {samples: slices.Repeat([]estimate.Sample{light}, 20), low: 41 * mib, high: 100 * mib},
		"a build, then its version":       {samples: []estimate.Sample{build, version, version}, low: 727 * mib, high: 3000 * mib},
		"a build and a hundred versions":  {samples: append([]estimate.Sample{build}, slices.Repeat([]estimate.Sample{version}, 100)...), low: 727 * mib, high: 3000 * mib},
		"versions between them say nothing": {
			samples: append(slices.Repeat([]estimate.Sample{version}, 100), light), initial: true, low: 440 * mib, high: 450 * mib,
		},
		"a tenth of what is configured": {
			samples: []estimate.Sample{{Demand: 399 * mib}}, initial: true, initials: 4096 * mib, low: 3600 * mib, high: 3700 * mib,
		},
		"brief and above what was guessed": {samples: []estimate.Sample{{Demand: 2048 * mib, Brief: true}}, low: 2049 * mib, high: 8192 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			e := estimateOf(t, estimate.Input{Project: c.samples, Configured: c.initials})
			if e.Guessed != c.initial {
				t.Errorf("guessed: %t", e.Guessed)
			}
			if c.initial && c.high == 0 {
				c.low, c.high = estimate.FirstGuess, estimate.FirstGuess
			}
			if e.Source != estimate.SourceProject || e.Bytes < c.low || e.Bytes > c.high {
				t.Errorf("%+v, want %v to %v", e, c.low, c.high)
			}
		})
	}
}

// A person's estimate stands in for the wide margin after few runs, until a run has needed more.
func TestAStatedEstimateBoundsAHistory(t *testing.T) {
	gib := limit.GiB
	line := estimate.Sample{Demand: 2 * gib, Censored: true, Line: 2 * gib}
	for name, c := range map[string]struct {
		samples         []estimate.Sample
		stated, profile limit.Bytes
		low, high       limit.Bytes
	}{
		"one run":                       {samples: demands(gib), stated: 2 * gib, low: 2 * gib, high: 2 * gib},
		"nobody has said anything":      {samples: demands(gib), low: 3 * gib, high: 4 * gib},
		"a profile is a guess":          {samples: demands(gib), profile: 2 * gib, low: 3 * gib, high: 4 * gib},
		"a history that says less":      {samples: slices.Repeat(demands(gib), 100), stated: 2 * gib, low: gib, high: 5 * gib / 4},
		"a run that came close":         {samples: demands(2*gib - mib), stated: 2 * gib, low: 2*gib + gib/3, high: 2*gib + gib/2},
		"a run that needed more":        {samples: demands(2*gib + mib), stated: 2 * gib, low: 6 * gib, high: 7 * gib},
		"one that died of what was set": {samples: []estimate.Sample{line}, stated: 2 * gib, low: 2*gib + gib/3, high: 2*gib + gib/2},
	} {
		e := estimateOf(t, estimate.Input{Project: c.samples, Configured: c.stated, Profile: c.profile})
		if e.Bytes < c.low || e.Bytes > c.high || e.Source != estimate.SourceProject || e.Guessed {
			t.Errorf("%s: %+v, want %v to %v", name, e, c.low.Human(), c.high.Human())
		}
	}
}

func TestAVariantBacksOffToItsTool(t *testing.T) {
	heavy, small := demands(4096*mib), demands(3*mib)
	for name, c := range map[string]struct {
		in     estimate.Input
		source string
		bytes  limit.Bytes
	}{
		"its own history counts alone":       {estimate.Input{Project: demands(100 * mib), Siblings: estimate.Pool{"": heavy}, Estimator: "p95"}, estimate.SourceProject, 100 * mib},
		"what was recorded without variants": {estimate.Input{Siblings: estimate.Pool{"": demands(726 * mib)}, Estimator: "p95"}, estimate.SourceProject, 726 * mib},
		"one heavy script says nothing":      {estimate.Input{Siblings: estimate.Pool{"code-1": heavy}, Estimator: "p95"}, estimate.SourceDefault, 500 * mib},
		"nor among small ones":               {estimate.Input{Siblings: estimate.Pool{"code-1": heavy, "code-2": small, "code-3": small}, Estimator: "p95"}, estimate.SourceDefault, 500 * mib},
		"all of them heavy":                  {estimate.Input{Siblings: estimate.Pool{"a": heavy, "b": heavy}, Estimator: "p95"}, estimate.SourceProject, 4096 * mib},
		"the variant elsewhere": {estimate.Input{
			ToolSamples: func() []estimate.Sample { return demands(600 * mib) },
			Estimator:   "p95",
		}, estimate.SourceTool, 600 * mib},
		"the tool elsewhere": {estimate.Input{
			ToolSiblings: func() estimate.Pool { return estimate.Pool{"": demands(700 * mib)} },
			Estimator:    "p95",
		}, estimate.SourceTool, 700 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			if e := estimateOf(t, c.in); e.Source != c.source || e.Bytes != c.bytes {
				t.Errorf("%+v, want %v from %s", e, c.bytes, c.source)
			}
		})
	}
}

func TestOneHeavyRunIsForgottenInTime(t *testing.T) {
	history := append(demands(4096*mib), slices.Repeat(demands(600*mib), 199)...)
	for _, c := range []struct {
		runs      int
		low, high limit.Bytes
	}{{1, 4096 * mib, 16384 * mib}, {51, 4096 * mib, 16384 * mib}, {101, 1024 * mib, 2048 * mib}, {200, 610 * mib, 800 * mib}} {
		if e := estimateOf(t, estimate.Input{Project: history[:c.runs]}); e.Bytes < c.low || e.Bytes > c.high {
			t.Errorf("after %d runs: %v, want %v to %v", c.runs, e.Bytes.Human(), c.low.Human(), c.high.Human())
		}
	}
}
