package sandbox

import "math"

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

// niceOf returns the nice value that comes nearest to a weight: the scheduler gives a process 1.25
// times the share with each step down.
func niceOf(weight int) int {
	if weight <= 0 {
		return 0
	}
	n := int(math.Round(math.Log(NormalWeight/float64(weight)) / math.Log(1.25)))
	return min(19, max(-20, n))
}

// niceAfter returns nice + steps, kept within -20 to 19.
func niceAfter(nice, steps int) int { return min(19, max(-20, nice+steps)) }

// nice returns what is added to our own nice value for the command where no group holds its weight.
func (l Limits) nice() int { return niceOf(l.CPUWeight) }

// background reports whether the run is to give way to others.
func (l Limits) background() bool { return l.CPUWeight > 0 && l.CPUWeight < NormalWeight }

// heldByNobody is the strength of limits that nobody holds.
var heldByNobody = Strength{Memory: ByNobody, Swap: ByNobody, Pids: ByNobody, CPU: ByNobody, CPUs: ByNobody}

// quotaPeriod is the period over which a quota of processor time is counted, in microseconds: the
// kernel's own default.
const quotaPeriod = 100_000

// quota returns the processor time that the run may have in each quotaPeriod, in microseconds, and never less than the kernel accepts
// (min_cfs_quota_period).
func (l Limits) quota() int64 { return max(1000, int64(l.CPUs*quotaPeriod)) }
