package sandbox

import (
	"math"
	"testing"
	"time"
)

// What a run had and wanted is counted only while it is busy, and no more is wanted than there are processors.
func TestProcessorWait(t *testing.T) {
	now := time.Now()
	p := processorWait{}
	asked := 0
	look := func(seconds int, cpu time.Duration) {
		p.measure(now.Add(time.Duration(seconds)*time.Second), cpu, func() []int { asked++; return nil })
	}
	look(0, time.Second)
	look(1, 2*time.Second) // too early
	look(3, 3*time.Second)
	look(6, 3*time.Second) // idle
	if asked != 2 {
		t.Errorf("the processes were asked %d times", asked)
	}
	if got := p.averages(4); got != (Processor{}) || got.Starved() {
		t.Errorf("an idle run: %+v", got)
	}
	p = processorWait{had: 8 * time.Second, wanted: 100 * time.Second, elapsed: 100 * time.Second}
	if got := p.averages(4); math.Abs(got.Had-0.08) > 1e-9 || math.Abs(got.Wanted-1) > 1e-9 || !got.Starved() {
		t.Errorf("%+v", got)
	}
	// Eight of its own on two processors wait for each other, and for nobody else.
	p = processorWait{had: 200 * time.Second, wanted: 800 * time.Second, elapsed: 100 * time.Second}
	if got := p.averages(2); got.Starved() || got.Wanted != 2 {
		t.Errorf("%+v", got)
	}
	p = processorWait{had: time.Second, wanted: 9 * time.Second, elapsed: 9 * time.Second}
	if p.averages(2).Starved() {
		t.Error("nine seconds are nothing to tell of")
	}
}
