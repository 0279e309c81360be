package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// An alarm wakes the watcher when the run comes near its limit, so that it can sleep
// while the run is far away: waking up 20 times a second costs more than the looks.

// settled is the age of a run at which an alarm is set for it: most commands are over by
// then, and setting one costs v1 a grace period of the kernel's RCU for each threshold.
const settled = 100 * time.Millisecond

// thresholds of cgroup v1, in percent of the limit. From the half on they are close, so
// that the children of a burst are marked in steps of allocation and not of time.
var thresholds = []int64{25, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95}

// setAlarm sends to wake when the group's usage passes one of the thresholds, in percent of memory (cgroup v1 memory documentation, section 9).
// It sets ready while that works, and returns when stop is closed or the kernel has no such alarm; see alarmed.
func (g *group1) setAlarm(memory int64, wake chan<- struct{}, ready *atomic.Bool, stop <-chan struct{}) {
	select {
	case <-stop:
		return
	case <-time.After(settled):
	}
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return
	}
	event := os.NewFile(uintptr(fd), "memory thresholds")
	usage, err := os.Open(filepath.Join(g.memory, "memory.usage_in_bytes"))
	if err != nil {
		_ = event.Close()
		return
	}
	defer usage.Close()
	go forwardEvents(event, make([]byte, 8), wake)
	for _, percent := range thresholds {
		select {
		case <-stop:
			_ = event.Close()
			return
		default:
		}
		line := fmt.Sprintf("%d %d %d", fd, usage.Fd(), memory/100*percent)
		if err := writeControl(g.memory, "cgroup.event_control", line); err != nil {
			_ = event.Close()
			return
		}
	}
	ready.Store(true)
	<-stop
	ready.Store(false)
	_ = event.Close()
}

// adjustThrottle does nothing: cgroup v1 thresholds notify and do not slow down.
func (g *group1) adjustThrottle(int64) {}

// disableThrottle does nothing: there is no throttle.
func (g *group1) disableThrottle() {}

// disableThrottle removes memory.high for good: nobody would raise it again after this.
func (g *group2) disableThrottle() {
	if g.throttle.armed && g.writeText("memory.high", "max") == nil {
		g.throttle.armed = false
	}
}

// throttleAt is the value of memory.high, in percent of memory.max. There the kernel slows the run down until its children are
// marked. Below 90 % memory.high is known to hang jobs; here it is lifted as soon as it has been noticed.
const (
	throttleAt = 90
	rearmFrom  = 80
)

// throttle is the state of memory.high, at which the kernel slows allocations down shortly before the limit. That gives the watcher the
// time to mark the children; then it is lifted.
type throttle struct {
	memory int64 // memory.max
	armed  bool
}

// setAlarm sends to wake when memory.events changes, as it does when the run meets memory.high. It sets ready while that works, and returns
// when stop is closed or the file cannot be watched; see alarmed.
func (g *group2) setAlarm(memory int64, wake chan<- struct{}, ready *atomic.Bool, stop <-chan struct{}) {
	select {
	case <-stop:
		return
	case <-time.After(settled):
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return
	}
	events := os.NewFile(uintptr(fd), "memory.events")
	defer events.Close()
	if _, err := unix.InotifyAddWatch(fd, filepath.Join(g.dir, "memory.events"), unix.IN_MODIFY); err != nil {
		return
	}
	go forwardEvents(events, make([]byte, 4096), wake)
	ready.Store(true)
	select {
	case wake <- struct{}{}: // one look arms the throttle
	default:
	}
	<-stop
	ready.Store(false)
}

// adjustThrottle lifts memory.high when the run has reached it, and sets it again when the run is well
// below. The caller has marked the children and holds cageMu.
func (g *group2) adjustThrottle(charged int64) {
	b := &g.throttle
	high := b.memory / 100 * throttleAt
	switch {
	case high <= 0:
	case b.armed && charged >= high-high/64:
		if g.writeText("memory.high", "max") == nil {
			b.armed = false
		}
	case !b.armed && charged < b.memory/100*rearmFrom:
		if g.writeText("memory.high", strconv.FormatInt(high, 10)) == nil {
			b.armed = true
		}
	}
}

// forwardEvents sends to wake for every event read from f, until f is closed. It drops an event while one is pending.
func forwardEvents(f *os.File, buf []byte, wake chan<- struct{}) {
	for {
		n, err := f.Read(buf)
		if err != nil || n == 0 {
			return
		}
		select {
		case wake <- struct{}{}:
		default: // one is pending already
		}
	}
}
