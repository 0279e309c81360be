package sandbox

import (
	"math"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// NormalWeight is the share of the processor that everything else has: cpu.weight of a cgroup
// without a setting (Documentation/admin-guide/cgroup-v2.rst), and nice 0.
const NormalWeight = 100

// BackgroundWeight is the share of a run that gives way without being starved. Beside one busy process, or one busy session or
// application where those have groups of their own, it gets 37 % of a contended processor, and beside eight single ones 7 % (the same share
// for each would be 50 and 11 %). The other one has 1.67 times as much. On an idle processor it has all.
const BackgroundWeight = 60

// childNice is added to the command's nice value for its descendants: a child weighs a third of
// the agent that started it (sched_prio_to_weight in kernel/sched/core.c), so that the agent
// answers while its builds run.
const childNice = 5

// weightToNice returns the nice value that comes nearest to a weight: the scheduler gives a process 1.25 times the share with each step down.
func weightToNice(weight int) int {
	if weight <= 0 {
		return 0
	}
	n := int(math.Round(math.Log(NormalWeight/float64(weight)) / math.Log(1.25)))
	return min(19, max(-20, n))
}

// addNice returns nice + steps, kept within -20 to 19.
func addNice(nice, steps int) int { return min(19, max(-20, nice+steps)) }

// niceValue returns what is added to our own nice value for the command where no group holds its weight.
func (l Limits) niceValue() int { return weightToNice(l.CPUWeight) }

// isBackground reports whether the run is to give way to others.
func (l Limits) isBackground() bool { return l.CPUWeight > 0 && l.CPUWeight < NormalWeight }

// heldByNobody is the strength of limits that nobody holds.
var heldByNobody = Strength{Memory: ByNobody, Swap: ByNobody, Pids: ByNobody, CPU: ByNobody, CPUs: ByNobody}

// quotaPeriod is the period over which a quota of processor time is counted, in microseconds: the
// kernel's own default.
const quotaPeriod = 100_000

// quotaMicros returns the processor time that the run may have in each quotaPeriod, in microseconds, and never less than the kernel accepts
// (min_cfs_quota_period).
func (l Limits) quotaMicros() int64 { return max(1000, int64(l.CPUs*quotaPeriod)) }

// cpuUse adds up the processor time of processes where no group counts it. A process that has ended counts with what was seen
// of it last; what it used after that, and one that came and went between two looks, are missing.
type cpuUse struct {
	last  map[int]time.Duration
	spare map[int]time.Duration // the one before last, to be filled again
	gone  time.Duration
}

// maxCPUReads bounds the processes that are asked one by one at each sample.
const maxCPUReads = 64

// readTimes reads the processor time of at most maxCPUReads of the run's processes. used is that of the run so far, including processes that have
// ended. work is that of the living processes and of the children that they have waited for: a build of a thousand short processes shows in it,
// and it falls when a process ends that no member waits for. work is negative if nothing could be read.
func (c *cpuUse) readTimes(pids []int) (used, work time.Duration) {
	now := c.spare
	if c.spare = nil; now == nil {
		now = make(map[int]time.Duration, min(len(pids), maxCPUReads))
	}
	clear(now)
	work = -1
	for _, pid := range pids[:min(len(pids), maxCPUReads)] {
		if p, err := proctree.Lookup(pid); err == nil && p.CPU >= 0 {
			now[pid] = p.CPU
			work = max(work, 0) + p.CPU + p.Waited
		}
	}
	return c.sumTimes(now), work
}

// sumTimes takes the times of the living processes and returns the sum over them and those that have ended since they were last seen. It keeps now
// for the next call.
func (c *cpuUse) sumTimes(now map[int]time.Duration) time.Duration {
	for pid, used := range c.last {
		if again, here := now[pid]; !here || again < used { // less: the number is another process's now
			c.gone += used
		}
	}
	c.last, c.spare = now, c.last
	sum := c.gone
	for _, used := range now {
		sum += used
	}
	return sum
}

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

// measure reads how long the processes ran and waited for a processor since the last reading, and adds it up unless the run is idle. It does
// nothing within waitEvery of the last reading. cpu is the processor time of the run so far, as far as it is known; pids lists its processes.
func (p *processorWait) measure(now time.Time, cpu time.Duration, pids func() []int) {
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
		use, ok := readSchedUse(pid)
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

// averages returns the average numbers of processors that the run had and wanted, Wanted being at most maxWanted; the zero Processor if nothing was
// measured.
func (p *processorWait) averages(maxWanted float64) Processor {
	if p.elapsed <= 0 {
		return Processor{}
	}
	had := float64(p.had) / float64(p.elapsed)
	wanted := float64(p.wanted) / float64(p.elapsed)
	return Processor{Had: had, Wanted: max(had, min(wanted, maxWanted)), Busy: p.elapsed}
}

// Starved reports whether the run was busy for 10 seconds or more and had less than half of the processors that it could have used.
func (p Processor) Starved() bool { return p.Busy >= 10*time.Second && p.Had < p.Wanted/2 }
