package estimate_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/limit"
)

// What other hosts have seen is asked for only where this one has seen no run of the variant, and its nearest part counts.
func TestElsewhere(t *testing.T) {
	here, there := demands(2*limit.GiB), demands(3*limit.GiB)
	for name, c := range map[string]struct {
		in         estimate.Input
		imported   [2][]estimate.Sample
		fleet      [2][]estimate.Sample
		want       string
		demand     limit.Bytes // of the one sample it rests on; 0: the first guess
		askedFleet bool
	}{
		"this project's own":         {in: estimate.Input{Project: here}, fleet: [2][]estimate.Sample{there, there}, want: estimate.SourceProject, demand: 2 * limit.GiB},
		"another project's here":     {in: estimate.Input{Tool: here}, fleet: [2][]estimate.Sample{there, there}, want: estimate.SourceTool, demand: 2 * limit.GiB},
		"the fleet's":                {fleet: [2][]estimate.Sample{there, here}, want: estimate.SourceFleet, demand: 3 * limit.GiB, askedFleet: true},
		"another project's there":    {fleet: [2][]estimate.Sample{nil, there}, want: estimate.SourceFleet, demand: 3 * limit.GiB, askedFleet: true},
		"an import needs no fleet":   {imported: [2][]estimate.Sample{nil, there}, fleet: [2][]estimate.Sample{here, here}, want: estimate.SourceImport, demand: 3 * limit.GiB},
		"before another variant":     {in: estimate.Input{Siblings: estimate.Pool{"lint": here}}, fleet: [2][]estimate.Sample{there, nil}, want: estimate.SourceFleet, demand: 3 * limit.GiB, askedFleet: true},
		"else another variant's":     {in: estimate.Input{Siblings: estimate.Pool{"": here}}, want: estimate.SourceProject, demand: 2 * limit.GiB, askedFleet: true},
		"nobody has seen any":        {want: estimate.SourceDefault, askedFleet: true},
		"nobody has seen what lasts": {fleet: [2][]estimate.Sample{{{Demand: limit.MiB, Brief: true}}, nil}, want: estimate.SourceFleet, askedFleet: true},
	} {
		asked := false
		c.in.Elsewhere = []estimate.Elsewhere{
			{Source: estimate.SourceImport, Samples: func() (a, b []estimate.Sample) { return c.imported[0], c.imported[1] }},
			{Source: estimate.SourceFleet, Samples: func() (a, b []estimate.Sample) { asked = true; return c.fleet[0], c.fleet[1] }},
		}
		got, err := c.in.Estimate()
		if err != nil {
			t.Fatal(err)
		}
		want := estimate.FirstGuess
		if c.demand > 0 {
			e, _ := estimate.ByName("")
			want = e.Bytes(demands(c.demand))
		}
		if got.Source != c.want || got.Bytes != want || got.Guessed != (c.demand == 0 && c.want == estimate.SourceFleet) || asked != c.askedFleet {
			t.Errorf("%s: %+v, asked the fleet: %v; want %s, %s", name, got, asked, c.want, want.Human())
		}
	}
}
