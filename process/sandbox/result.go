package sandbox

import (
	"errors"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// finish thaws the run, ends or leaves the leftovers as spec.OnExit says, fills in the result, and removes the cage unless leftovers stay in it.
func (r *Run) finish() {
	r.cageMu.Lock()
	defer r.cageMu.Unlock()
	r.thawForEnd()
	res := &r.result
	res.Layer, res.Strength = r.layer, r.Strength()
	res.Started, res.Duration = r.began, time.Since(r.began)
	res.ExitCode, res.Signal = r.ended.code, r.ended.signal
	r.failed = r.ended.err

	left, err := r.watch.endLeftovers()
	r.failed = errors.Join(r.failed, err)
	r.watch.sampleLocked()
	res.OOMKills = r.watch.countKills()
	res.LimitKills = int(r.limitKills.Load())
	res.PidsKills = int(r.pidsKills.Load())
	res.Reached, res.TimeUsed = r.reachedLimit(), time.Duration(r.timeUsed.Load())
	if c, ok := r.cage.(interface{ forksRefused() int }); ok {
		res.ForksRefused = c.forksRefused()
	}
	if res.OOMDKills = oomdKills(r.cage); res.OOMDKills > 0 {
		r.spec.appendEvent(journal.OOMDKills{Total: res.OOMDKills})
	}
	res.CommandOOM = res.ExitCode == 137 &&
		(res.OOMKills+res.OOMDKills > 0 && !r.killAsked.Load() || r.killedByUs.Load()) || r.watch.agentKilled()
	res.Peak, res.Processor = r.memoryPeak(), r.watch.processor()
	res.CPU, res.CPUExact = r.cpuTotal()
	if res.Reached == "" && !res.CommandOOM && !r.killAsked.Load() {
		res.RanInto, res.RanIntoBytes = r.findRanInto(res.Peak)
		res.CommandOOM = res.RanInto != ""
	}
	moved := r.watch.movedAtEnd(res)
	res.Peak.Exact = res.Peak.Exact && len(res.Moved) == 0
	res.Leftovers = append(left, moved...)
	for _, l := range res.Leftovers {
		r.spec.appendEvent(journal.Leftover{PID: l.PID, Name: l.Name, Fate: l.Fate})
	}
	if r.spec.OnExit == LeaveLeftovers && len(left) > 0 {
		// Whoever finds our claim dead must not end what was left on purpose.
		remains := r.spec.remembered
		remains.Leave = true
		r.failed = errors.Join(r.failed, r.spec.remember(remains))
		markLeft(r.cage)
		if c, ok := r.cage.(alarmed); ok {
			c.disableThrottle()
		}
		return // the group stays for them; gc removes it when they have gone
	}
	r.failed = errors.Join(r.failed, r.cage.close())
}

// nearShare is the part of a limit that a run must have used for its failure to be put down to the limit. Garbage collectors give up just
// below theirs.
const nearShare = 0.9

// findRanInto returns the limit at which an allocation failed and so ended the command, and its size; "" and 0 for none. It is a guess, from the exit
// status and from how near the command came to the limit: the output went to the command's own streams and was not seen.
func (r *Run) findRanInto(peak Peak) (RanInto, limit.Bytes) {
	near := func(used, bound limit.Bytes) bool { return bound > 0 && float64(used) >= nearShare*float64(bound) }
	crashed := false // of itself: V8, the JVM, C++ and Rust abort
	switch syscall.Signal(r.ended.code - 128) {
	case syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGILL, syscall.SIGSEGV, syscall.SIGBUS:
		crashed = true
	}
	if heap := r.spec.Heap; crashed && near(max(peak.Working, r.ended.maxRSS), heap) {
		return RanIntoHeap, heap
	}
	c, ok := r.cage.(interface{ dataLimit() limit.Bytes })
	if failed := r.ended.code > 0 && r.ended.code < 126; ok && (failed || crashed) && near(r.watch.highestData(), c.dataLimit()) {
		return RanIntoProcess, c.dataLimit()
	}
	return "", 0
}

// cpuTotal returns the processor time of all processes of the run. exact is true if a group or a job counts it: cgroup v2, the CPU controller of v1,
// Windows. Otherwise it is the larger of two sums: the command with the children that it waited for and the orphans that ended as our children; and
// the last time seen of each process.
func (r *Run) cpuTotal() (used time.Duration, exact bool) {
	if c, ok := r.cage.(interface{ cpuUsed() (time.Duration, bool) }); ok {
		if used, ok := c.cpuUsed(); ok {
			return used, true
		}
	}
	return max(r.ended.cpu+time.Duration(adoptedCPU.Load()-r.adoptedThen), r.watch.lastSample().CPU), false
}

// memoryPeak returns the kernel's high-water mark with the sampled figures, or the sampled figures alone if the kernel keeps none. If neither has
// seen anything, it is zero.
func (r *Run) memoryPeak() Peak {
	seen := r.watch.highestSample()
	p := Peak{Working: seen.Working, File: seen.File}
	if bytes, method, ok := r.cage.peak(); ok && bytes > 0 {
		p.Bytes, p.Method, p.Exact = limit.Bytes(bytes), method, true
		// What was charged at the peak and can't have been page cache was working set.
		p.Working = min(p.Bytes, max(p.Working, p.Bytes-p.File))
		return p
	}
	p.Bytes, p.Method = max(seen.Charged, seen.Working), "sampled"
	// ru_maxrss of a child starts at our own size, because it has our memory until it executes its command: it says something only where it
	// is larger.
	if r.ended.maxRSS > p.Bytes && (p.Bytes == 0 || r.ended.maxRSS > inheritedPeak()) {
		p.Bytes, p.Method = r.ended.maxRSS, maxRSSMethod
	}
	if p.Bytes == 0 { // neither the kernel nor a sample has seen any of it
		p.Method = ""
	}
	if p.Working == 0 {
		p.Working = p.Bytes
	}
	return p
}

// Outcome returns one word for the end of the run. It is [journal.OutcomeOOM] only when the command itself died of memory; killed children
// are counted in OOMKills and LimitKills, and make it [journal.OutcomeLimit] only when Plimsoll ended them and the command failed.
func (r Result) Outcome() journal.Outcome {
	switch {
	case r.CommandOOM:
		return journal.OutcomeOOM
	case r.Reached != "":
		return journal.OutcomeLimit
	case r.Signal != 0:
		return journal.OutcomeSignalled
	case r.ExitCode != 0 && r.LimitKills > 0:
		return journal.OutcomeLimit
	case r.ExitCode != 0:
		return journal.OutcomeFailed
	}
	return journal.OutcomeOK
}
