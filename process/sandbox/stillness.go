package sandbox

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// machineState is the memory that is available on the machine, in bytes, and the number of the process that was started last in this PID
// namespace; known is false where the system does not tell.
type machineState struct {
	available, newest int64
	known             bool
}

// stillness says whether a tree that only waits need be looked at: asking each of 200 processes twice a second is four times the price of
// a group's counters. It ends with a process that the tree has more or less, with memory that anybody on the machine takes, and after
// [stillTreeEvery].
type stillness struct {
	signs  machineSigns
	before machineState // before the last look, and the newest process before the last scan
	now    machineState
	most   int64 // the most that was available since the last look, bytes
	last   Sample
	looked time.Time
	same   int  // looks in a row that found the same
	again  bool // scan once more: a process that was met while it started shows only later what it is
}

const (
	// stillSlack is the loss of memory that the machine may have had since the last look, in bytes, where the run has no limit; else it is
	// a sixteenth of the limit.
	stillSlack = 64 * limit.MiB
	// stillDrift is the change of its memory, in bytes, with which a tree still counts as the same.
	stillDrift = limit.MiB
	// stillTreeEvery is the longest time between two looks at a tree. What others on the machine give back at the same moment can hide that
	// much less than a limit's worth of memory for so long, and no longer.
	stillTreeEvery = 10 * time.Second
	// fastestGrowth is the memory that a program can take in a second: eight that took 60 MB each at once took less than 50 ms.
	fastestGrowth = 10 * limit.GiB
)

// timeToTake returns the time in which the fastest program takes so much memory.
func timeToTake(size limit.Bytes) time.Duration {
	return time.Duration(float64(size) / float64(fastestGrowth) * float64(time.Second))
}

// isStill reads the state of the machine and reports whether the run can have changed so little since the last look that the tree need not be looked
// at yet, unless it has [stillness.hasNewcomers]. memory is the limit in bytes, 0 for none.
func (s *stillness) isStill(now time.Time, memory limit.Bytes) bool {
	s.now = s.signs.readState()
	s.most = max(s.most, s.now.available)
	slack := int64(stillSlack)
	if memory > 0 {
		slack = int64(memory / 16)
	}
	return s.same >= 2 && s.before.known && s.now.known && s.most-s.now.available < slack && now.Sub(s.looked) < stillTreeEvery
}

// hasNewcomers reports whether anybody on the machine has started a process since the last scan, so that another one is due.
func (s *stillness) hasNewcomers() bool { return s.again || s.now.newest != s.before.newest }

// recordScan records that a scan found no change.
func (s *stillness) recordScan() {
	s.again = s.now.newest != s.before.newest
	s.before.newest = s.now.newest
}

// recordLook records what a look has found. The state of the machine that it keeps was read before the look, so that no change is missed.
func (s *stillness) recordLook(now time.Time, found Sample) {
	drift := max(found.Working-s.last.Working, s.last.Working-found.Working)
	if found.Working > 0 && drift <= stillDrift && found.Processes == s.last.Processes {
		s.same++
	} else {
		s.same = 0
	}
	s.last, s.looked = found, now
	s.again = s.now.newest != s.before.newest
	s.before, s.most = s.now, s.now.available
}

// pause returns the time until the next look at a tree that uses a quarter of its memory limit or less. While it is still, that is half of
// the time in which it could take the rest, between [sampleEvery] and [stillEvery]. A limit of processes is reached sooner than that.
func (s *stillness) pause(memory limit.Bytes, pids int) time.Duration {
	switch {
	case s.same < 2 || !s.now.known || pids > 0:
		return sampleEvery
	case memory <= 0:
		return stillEvery
	}
	return min(stillEvery, max(sampleEvery, timeToTake(memory-s.last.Working)/2))
}
