package sandbox

import "time"

// Processor is the use of the processors by a run while it had something to do, and the use it would have made: both in processors.
// It is looked at in the first thread of each process, and counts only where one of them was busy. The zero value is "not measured".
type Processor struct {
	Had, Wanted float64
	// Busy is the time for which it was looked at meanwhile.
	Busy time.Duration
}

const (
	// waitEvery is the time between two readings of how long busy processes have waited for a processor.
	waitEvery = 2 * time.Second
	// busyFrom is the use of one processor from which a run is not idle.
	busyFrom = 0.01
)

// schedUse is the scheduler's account of one thread: how long it ran, and how long it could have run and waited for others.
type schedUse struct{ ran, waited time.Duration }

// processorWait adds up what the processes of a run ran and waited.
type processorWait struct {
	at      time.Time
	cpu     time.Duration
	last    map[int]schedUse
	had     time.Duration
	wanted  time.Duration
	elapsed time.Duration
}

// look reads the processes' waits when it is time to, unless the run is idle. cpu is the use of the run so far, as far as it is known.
func (p *processorWait) look(now time.Time, cpu time.Duration, pids func() []int) {
	since := now.Sub(p.at)
	if !p.at.IsZero() && since < waitEvery {
		return
	}
	idle := !p.at.IsZero() && float64(cpu-p.cpu) < busyFrom*float64(since)
	known := p.last != nil
	p.at, p.cpu = now, cpu
	if idle {
		p.last = nil
		return
	}
	list := pids()
	next := make(map[int]schedUse, min(len(list), maxCPUReads))
	var sum schedUse
	for _, pid := range list[:min(len(list), maxCPUReads)] {
		use, ok := schedUseOf(pid)
		if !ok {
			continue
		}
		next[pid] = use
		if before, here := p.last[pid]; here && use.ran >= before.ran && use.waited >= before.waited {
			sum.ran += use.ran - before.ran
			sum.waited += use.waited - before.waited
		}
	}
	p.last = next
	if wanted := sum.ran + sum.waited; known && float64(wanted) >= float64(since)/10 {
		p.had += sum.ran
		p.wanted += wanted
		p.elapsed += since
	}
}

// processor returns the result for a run that may use most processors.
func (p *processorWait) processor(most float64) Processor {
	if p.elapsed <= 0 {
		return Processor{}
	}
	had := float64(p.had) / float64(p.elapsed)
	wanted := float64(p.wanted) / float64(p.elapsed)
	return Processor{Had: had, Wanted: max(had, min(wanted, most)), Busy: p.elapsed}
}

// Starved reports whether the run had less than half of what it could use, over long enough that somebody waited for it.
func (p Processor) Starved() bool { return p.Busy >= 10*time.Second && p.Had < p.Wanted/2 }
