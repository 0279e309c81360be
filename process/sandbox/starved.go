package sandbox

import "time"

// Processor holds the number of processors that a run had on average while it was busy, and how many it would have used if it had not had to wait for
// one. Only the first thread of each process is measured. The zero value means that nothing was measured.
type Processor struct {
	Had, Wanted float64
	// Busy is the time in which the run was busy and measured.
	Busy time.Duration
}

const (
	// waitEvery is the time between two readings of how long busy processes have waited for a processor.
	waitEvery = 2 * time.Second
	// busyFrom is the use of one processor below which a run is idle.
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

// look reads, every waitEvery, how long the processes ran and waited since the last reading, and adds it up unless the run is idle. cpu is
// the processor time of the run so far, as far as it is known; pids lists its processes.
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

// processor returns the averages, Wanted being at most most processors; the zero Processor when nothing was measured.
func (p *processorWait) processor(most float64) Processor {
	if p.elapsed <= 0 {
		return Processor{}
	}
	had := float64(p.had) / float64(p.elapsed)
	wanted := float64(p.wanted) / float64(p.elapsed)
	return Processor{Had: had, Wanted: max(had, min(wanted, most)), Busy: p.elapsed}
}

// Starved reports whether the run was busy for 10 seconds or more and had less than half of the processors that it could have used.
func (p Processor) Starved() bool { return p.Busy >= 10*time.Second && p.Had < p.Wanted/2 }
