package estimate_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

const mib = limit.MiB

func TestARunTeachesItsDemand(t *testing.T) {
	for name, c := range map[string]struct {
		run    usage.Run
		want   limit.Bytes // 0: no sample
		exact  bool
		killed bool
		line   limit.Bytes
	}{
		"exact, little cache":         {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 400 * mib, PeakAnon: 380 * mib, Exact: true, Duration: time.Minute}, want: 400 * mib, exact: true},
		"exact, mostly cache":         {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 400 * mib, PeakAnon: 100 * mib, Exact: true, Duration: time.Minute}, want: 120 * mib},
		"the margin ends at the peak": {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 110 * mib, PeakAnon: 98 * mib, Exact: true, Duration: time.Minute}, want: 110 * mib},
		"exact, working set unseen":   {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 400 * mib, Exact: true, Duration: time.Minute}, want: 400 * mib, exact: true},
		"too short for a working set": {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 400 * mib, PeakAnon: 5 * mib, Exact: true, Duration: 50 * time.Millisecond}, want: 400 * mib, exact: true},
		"cache fills the limit":       {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 1000 * mib, PeakAnon: 300 * mib, Exact: true, Limit: 1000 * mib, Duration: time.Minute}, want: 360 * mib},
		"cat of a large file":         {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 64 * mib, PeakAnon: mib, Exact: true, Limit: 64 * mib, Duration: time.Second}},
		"at the limit, nothing seen":  {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 960 * mib, Exact: true, Limit: 1000 * mib, Duration: time.Minute}},
		"a lower bound":               {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 100 * mib, Duration: time.Minute}, want: 110 * mib},
		"failed, yet a sample":        {run: usage.Run{Outcome: journal.OutcomeFailed, ExitCode: 1, Peak: 100 * mib, Exact: true, Duration: time.Minute}, want: 100 * mib, exact: true},
		"not found":                   {run: usage.Run{Outcome: journal.OutcomeFailed, ExitCode: 127, Peak: mib, Exact: true}},
		"not executable":              {run: usage.Run{Outcome: journal.OutcomeFailed, ExitCode: 126, Peak: mib, Exact: true}},
		"refused":                     {run: usage.Run{Outcome: journal.OutcomeRefused, Peak: mib}},
		"nothing measured":            {run: usage.Run{Outcome: journal.OutcomeOK}},
		"killed at the limit":         {run: usage.Run{Outcome: journal.OutcomeOOM, Peak: 500 * mib, Exact: true, Limit: 500 * mib, OOMKills: 1}, want: 500 * mib, exact: true, killed: true, line: 500 * mib},
		"a child killed":              {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 499 * mib, Exact: true, Limit: 500 * mib, OOMKills: 1, KilledChildren: 1}, want: 500 * mib, exact: true, killed: true, line: 500 * mib},
		"killed by the monitor":       {run: usage.Run{Outcome: journal.OutcomeLimit, Peak: 450 * mib, Limit: 500 * mib}, want: 500 * mib, killed: true, line: 500 * mib},
		"killed by the host":          {run: usage.Run{Outcome: journal.OutcomeOOM, Peak: 200 * mib, Exact: true, Limit: 4096 * mib, OOMKills: 1}, want: 200 * mib, exact: true, killed: true, line: 200 * mib},
		"ended under host pressure":   {run: usage.Run{Outcome: journal.OutcomeOK, Peak: 200 * mib, Exact: true, Limit: 4096 * mib, KilledChildren: 1}, want: 200 * mib, exact: true, killed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, ok := estimate.FromRun(c.run)
			if ok != (c.want > 0) {
				t.Fatalf("a sample: %v, want %v (%+v)", ok, c.want > 0, s)
			}
			if want := (estimate.Sample{Demand: c.want, Exact: c.exact, Censored: c.killed, Line: c.line, Brief: s.Brief}); ok && s != want {
				t.Errorf("got %+v, want %+v", s, want)
			}
		})
	}
}

func TestAfterAMemoryKillTheEstimateIsAboveTheLimit(t *testing.T) {
	for _, limitBytes := range []limit.Bytes{64 * mib, 500 * mib, 4096 * mib} {
		runs := []usage.Run{
			{Outcome: journal.OutcomeOK, Peak: 10 * mib, Exact: true, Duration: time.Minute},
			{Outcome: journal.OutcomeOOM, ExitCode: 137, Peak: limitBytes, Exact: true, Limit: limitBytes, OOMKills: 1},
		}
		for range 20 {
			e, err := estimate.Input{Project: estimate.FromRuns(runs)}.Estimate()
			if err != nil {
				t.Fatal(err)
			}
			if floor := max(limitBytes*6/5, limitBytes+100*mib); e.Bytes < floor-1 {
				t.Fatalf("after %d runs: %v, want at least %v", len(runs), e.Bytes, floor)
			}
			runs = append(runs, usage.Run{Outcome: journal.OutcomeOK, Peak: 10 * mib, Exact: true, Duration: time.Minute})
		}
	}
}

func demands(sizes ...limit.Bytes) []estimate.Sample {
	samples := make([]estimate.Sample, len(sizes))
	for i, s := range sizes {
		samples[i] = estimate.Sample{Demand: s, Exact: true}
	}
	return samples
}

func TestFormulas(t *testing.T) {
	upTo20 := make([]limit.Bytes, 20)
	for i := range upTo20 {
		upTo20[i] = limit.Bytes(i+1) * mib
	}
	for _, c := range []struct {
		name    string
		samples []estimate.Sample
		want    float64 // MiB
	}{
		{"p95", demands(upTo20...), 19},
		{"p95", demands(append([]limit.Bytes{1000 * mib}, upTo20...)...), 19}, // the 21st is out of the window
		{"p95", demands(7 * mib), 7},
		{"max20", demands(upTo20...), 20},
		{"vpa", demands(upTo20...), 18 * 1.15},
		{"max5x1.5", demands(append(upTo20, 1*mib, 1*mib, 1*mib, 1*mib)...), 30},
		{"bound", demands(100 * mib), 163},
		{"bound", demands(50*mib, 100*mib, 50*mib, 100*mib), 133},
		{"bound-log", demands(100*mib, 100*mib), 100 * math.Exp(0.03)},
		{"tail", demands(1000 * mib), 1020 + 1000*6*0.4},
		{"tail", demands(1000*mib, 1000*mib, 1000*mib, 1000*mib), 1000 * (1.02 + 6*0.25*0.4/2.25)},
		{"tail", demands(4 * mib), 20},
		{"tail", demands(append([]limit.Bytes{4096 * mib}, slices.Repeat([]limit.Bytes{2048 * mib}, 75)...)...), 2048 * (1.02 + 6*0.25*0.4/9.25)}, // halved by now
	} {
		e, err := estimate.ByName(c.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(e.Bytes(c.samples)) / float64(mib); math.Abs(got-c.want) > 0.001 {
			t.Errorf("%s of %d samples is %.3f MiB, want %.3f", c.name, len(c.samples), got, c.want)
		}
	}
}

// TestInvariants holds what every estimator promises, over random histories.
func TestInvariants(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		samples := make([]estimate.Sample, 1+r.IntN(250))
		for i := range samples {
			samples[i] = estimate.Sample{Demand: limit.Bytes(1 + r.Int64N(1<<uint(1+r.IntN(50))))}
			if r.IntN(20) == 0 {
				samples[i].Censored, samples[i].Line = true, samples[i].Demand
			}
		}
		for _, e := range estimate.Estimators() {
			got := e.Bytes(samples)
			if got <= 0 || got > 1<<50 {
				t.Fatalf("%s: %d of %d samples", e.Name, got, len(samples))
			}
			if last := samples[len(samples)-1]; (e.Name == "bound" || e.Name == "bound-log" || e.Name == "tail") && last.Line > 0 && got <= last.Line && last.Line < 1<<49 {
				t.Fatalf("%s: %d is not above the line %d", e.Name, got, last.Line)
			}
			if got := e.Bytes(samples[max(0, len(samples)-e.Window):]); got != e.Bytes(samples) {
				t.Fatalf("%s looks beyond its window", e.Name)
			}
			if e.Bytes(nil) != 0 {
				t.Fatalf("%s of nothing is not 0", e.Name)
			}
		}
	}
}

func TestBackOff(t *testing.T) {
	project, tool := demands(100*mib, 100*mib), demands(300*mib)
	asked := 0
	ask := func() []estimate.Sample { asked++; return tool }
	for _, c := range []struct {
		in      estimate.Input
		source  string
		bytes   limit.Bytes
		samples int
	}{
		{estimate.Input{Project: project, ToolSamples: ask, Configured: 7 * mib, Estimator: "p95"}, "history:project", 100 * mib, 2},
		{estimate.Input{ToolSamples: ask, Configured: 7 * mib, Estimator: "p95"}, "history:tool", 300 * mib, 1},
		{estimate.Input{Tool: tool, Estimator: "p95"}, "history:tool", 300 * mib, 1},
		{estimate.Input{Configured: 7 * mib, Profile: 8 * mib}, "configured", 7 * mib, 0},
		{estimate.Input{Profile: 8 * mib}, "profile", 8 * mib, 0},
		{estimate.Input{}, "default", 500 * mib, 0},
	} {
		got, err := c.in.Estimate()
		if err != nil {
			t.Fatal(err)
		}
		if want := (estimate.Estimate{Bytes: c.bytes, Source: c.source, Samples: c.samples, Stated: c.in.Configured > 0 && c.samples == 0}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if asked != 1 {
		t.Errorf("the tool's runs were asked for %d times, want once: a project with history needs no other files", asked)
	}
	if _, err := (estimate.Input{Estimator: "guess"}).Estimate(); err == nil {
		t.Error("an unknown estimator is no error")
	}
}

func TestAShortRunDoesNotUnseatAProfile(t *testing.T) {
	version := estimate.Sample{Demand: 200 * limit.MiB, Brief: true}
	session := estimate.Sample{Demand: 600 * limit.MiB}
	for name, c := range map[string]struct {
		samples []estimate.Sample
		profile bool
	}{
		"asked for its version once":      {[]estimate.Sample{version}, true},
		"asked for its version ten times": {slices.Repeat([]estimate.Sample{version}, 10), true},
		"a session, then its version":     {[]estimate.Sample{session, version}, false},
	} {
		e, err := estimate.Input{Project: c.samples, Profile: 4 * limit.GiB}.Estimate()
		if err != nil || e.Source != estimate.SourceProject || (e.Bytes == 4*limit.GiB) != c.profile {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if e, _ := (estimate.Input{Project: []estimate.Sample{version}}).Estimate(); e.Bytes > limit.GiB {
		t.Errorf("a tool without a profile learns from its first run: %+v", e)
	}
}
