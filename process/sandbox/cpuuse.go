package sandbox

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
)

// cpuUse adds up the processor time of processes where no group counts it. A process that has ended counts with what was seen
// of it last; what it used after that, and one that came and went between two looks, are missing.
type cpuUse struct {
	last  map[int]time.Duration
	spare map[int]time.Duration // the one before last, to be filled again
	gone  time.Duration
}

// maxCPUReads bounds the processes that are asked one by one at each sample.
const maxCPUReads = 64

// total reads the processor time of at most maxCPUReads of the run's processes, and returns the run's total so far. work is that of those
// that live and of the children that they have waited for: a build of a thousand short processes shows in it, and it falls when one ends
// that nobody here waits for. It is negative where nothing could be read.
func (c *cpuUse) total(pids []int) (used, work time.Duration) {
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
	return c.add(now), work
}

func (c *cpuUse) add(now map[int]time.Duration) time.Duration {
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
