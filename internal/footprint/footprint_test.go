package footprint

import (
	"runtime/debug"
	"testing"
)

func percent() int {
	p := debug.SetGCPercent(100)
	debug.SetGCPercent(p)
	return p
}

func TestStartIsForTheFirstMoments(t *testing.T) {
	t.Setenv("GOGC", "")
	before := percent()
	settled := Start()
	if got := percent(); got != starting {
		t.Errorf("the collector runs at %d %%", got)
	}
	settled()
	settled()
	if got := percent(); got != before {
		t.Errorf("afterwards the collector runs at %d %%, before at %d %%", got, before)
	}

	settled = Start()
	defer debug.SetGCPercent(before)
	debug.SetGCPercent(garbage)
	settled()
	if got := percent(); got != garbage {
		t.Errorf("what was set meanwhile is %d %% now", got)
	}

	debug.SetGCPercent(before)
	t.Setenv("GOGC", "70")
	Start()()
	if got := percent(); got != before {
		t.Errorf("who has set GOGC gets %d %%", got)
	}
}
