package pressure

import (
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// The more runs there are, the more rarely each supervisor reads the ledger of all, and under pressure as often as ever.
func TestManyRunsShareTheLooksAtTheLedger(t *testing.T) {
	start := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	lines := Lines{Soft: limit.GiB, Hard: limit.GiB / 2}
	plenty := Reading{Total: 64 * limit.GiB, Physical: 64 * limit.GiB}
	short := Reading{Total: limit.GiB / 4, Physical: limit.GiB / 4}
	for runs, want := range map[int]time.Duration{0: 15 * time.Second, 15: 15 * time.Second, 16: 30 * time.Second, 40: 45 * time.Second, 100: time.Minute, 9000: time.Minute} {
		p := newPolicy("me", Warn, lines, Pace{}.withDefaults())
		p.decide(input{now: start, reading: plenty, ledgerRead: true, holders: make([]Holder, runs)})
		if p.wantsLedger(start.Add(want-time.Millisecond), plenty) || !p.wantsLedger(start.Add(want), plenty) {
			t.Errorf("%d runs: not every %s", runs, want)
		}
		p.decide(input{now: start, reading: short, ledgerRead: true, holders: make([]Holder, runs)})
		if !p.wantsLedger(start.Add(DefaultLedger), short) {
			t.Errorf("%d runs: not each second under pressure", runs)
		}
	}
}
