package fit_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/window/tokens"
)

func TestJudge(t *testing.T) {
	l := fit.Lines{Room: 10_000, Trigger: 0.8, Target: 0.2}
	exact := func(n int) tokens.Estimate { return tokens.Estimate{Low: n, Best: n, High: n} }
	warm, first, cold := fit.Moment{Warm: true}, fit.Moment{Warm: true, First: true}, fit.Moment{Cold: true}
	for name, c := range map[string]struct {
		in   tokens.Estimate
		m    fit.Moment
		want fit.Verdict
	}{
		"below the line":                        {exact(8000), fit.Moment{}, fit.NotDue},
		"over it, and nothing is cached":        {exact(8001), fit.Moment{}, fit.Due},
		"over it in a warm cache":               {exact(8001), warm, fit.Waits},
		"over it in a warm cache, nearly full":  {exact(9500), warm, fit.Waits},
		"full":                                  {exact(9501), warm, fit.Due},
		"over it, and full by the upper count":  {tokens.Estimate{Low: 8001, Best: 8500, High: 9600}, warm, fit.Due},
		"over it at a turn's beginning":         {exact(8001), first, fit.Due},
		"far below it, after a long pause":      {exact(6800), cold, fit.NotDue},
		"near it, after a long pause":           {exact(6801), cold, fit.DueCold},
		"perhaps near it, after a long pause":   {tokens.Estimate{Low: 6000, Best: 7000, High: 7900}, cold, fit.NotDue},
		"near it, and the cache is warm":        {exact(6801), warm, fit.NotDue},
		"near it at a turn's beginning, cached": {exact(7999), first, fit.NotDue},
	} {
		if got := l.Judge(c.in, c.in.High > l.TriggerTokens(), c.m); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	own := fit.Lines{Room: 10_000, Trigger: 0.97, Target: 0.2}
	if got := own.Judge(exact(9701), true, warm); got != fit.Due {
		t.Errorf("a trigger above the line where a cut is necessary: %v", got)
	}
}
