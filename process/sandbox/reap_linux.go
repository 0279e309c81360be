package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/internal/process/sysfile"
)

// adopting counts the runs for which this process is a subreaper, and those for which it reaps.
var adopting struct {
	sync.Mutex
	subreaper, reaping int
	stop               func()
}

// reapOrphans takes the exit statuses of all processes that this one adopts, until release is called. With asSubreaper it first makes this
// process a subreaper, so that it adopts the orphans of a run. Without, it does nothing unless this process adopts orphans anyway, as the init
// of its PID namespace or because somebody else made it a subreaper.
func reapOrphans(asSubreaper bool) (release func()) {
	adopting.Lock()
	defer adopting.Unlock()
	if asSubreaper {
		if adopting.subreaper++; adopting.subreaper == 1 {
			_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		}
	} else if !isAdopter() {
		return func() {}
	}
	if adopting.reaping++; adopting.reaping == 1 {
		adopting.stop = startReaper()
	}
	return func() {
		adopting.Lock()
		defer adopting.Unlock()
		if adopting.reaping--; adopting.reaping == 0 {
			adopting.stop()
		}
		if !asSubreaper {
			return
		}
		if adopting.subreaper--; adopting.subreaper == 0 {
			_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		}
	}
}

// isAdopter reports whether processes without a parent become children of this one.
func isAdopter() bool {
	var subreaper int32
	_ = unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&subreaper)), 0, 0, 0)
	return os.Getpid() == 1 || subreaper != 0
}

const (
	// reapRest is the least time between two looks: a storm of short orphans is reaped in batches.
	reapRest = 10 * time.Millisecond
	// reapAgain is the time after which those are looked at again whose own waiter has not come yet.
	reapAgain = 100 * time.Millisecond
	// reapUnsure is the time that a dead child waits for a waiter of its own where nobody can tell whether it has one.
	reapUnsure = time.Minute
	// maxUnsure bounds those that are remembered; more are decided about later.
	maxUnsure = 4096
)

// startReaper reaps in a goroutine whenever a child has ended, until stop is called.
func startReaper() (stop func()) {
	deaths := make(chan os.Signal, 1)
	signal.Notify(deaths, unix.SIGCHLD)
	quit := make(chan struct{})
	var reaping sync.WaitGroup
	reaping.Go(func() {
		r := reaper{unsure: map[int]time.Time{}}
		for {
			var again <-chan time.Time
			if r.reap(time.Now()) {
				again = time.After(reapAgain)
			}
			select {
			case <-quit:
				return
			case <-again:
			case <-deaths:
				time.Sleep(reapRest)
			}
		}
	})
	return func() {
		signal.Stop(deaths)
		close(quit)
		reaping.Wait()
	}
}

// reaper takes the exit statuses of adopted children and leaves those of our own alone: whoever waits for them would be told that
// there is no such child.
type reaper struct {
	unsure map[int]time.Time // dead children that may have a waiter, since when
}

// reap takes the exit statuses of all dead children that nobody else in this process waits for. later is true if dead children are left, and it
// should be called again after a while.
func (r *reaper) reap(now time.Time) (later bool) {
	for {
		pid := anyDeadChild()
		switch {
		case pid == 0:
			clear(r.unsure)
			return false
		case r.isAdopted(pid, now):
			takeStatus(pid)
			continue
		}
		break
	}
	// The kernel names one at a time, and this one is not to be taken: the others are found by their list.
	dead := deadChildren()
	for _, pid := range dead {
		if r.isAdopted(pid, now) {
			takeStatus(pid)
		}
	}
	for pid := range r.unsure {
		if !slices.Contains(dead, pid) {
			delete(r.unsure, pid)
		}
	}
	return true
}

// isAdopted reports whether a dead child is one that nobody in this process waits for. If that is not certain, it returns false until the child
// has been dead for reapUnsure.
func (r *reaper) isAdopted(pid int, now time.Time) bool {
	if runningCommands.has(pid) {
		return false
	}
	if started, sure := startedByGo(pid); started || sure {
		return !started
	}
	since, known := r.unsure[pid]
	if !known && len(r.unsure) < maxUnsure {
		r.unsure[pid] = now
	}
	return known && now.Sub(since) >= reapUnsure
}

// takeStatus takes the exit status of a dead child, and adds its processor time to adoptedCPU.
func takeStatus(pid int) {
	var usage unix.Rusage
	for {
		got, err := unix.Wait4(pid, nil, unix.WNOHANG, &usage)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if got == pid {
			adoptedCPU.Add(int64(usageStatus(&usage).cpu))
		}
		return
	}
}

// anyDeadChild returns the pid of a child that has ended and was not waited for, without taking its status; 0 if there is none.
func anyDeadChild() int {
	for {
		var info unix.Siginfo
		switch err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return 0
		}
		// si_pid follows three numbers, aligned to a pointer (sigaction(2)).
		const word = unsafe.Sizeof(uintptr(0))
		return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), (3*4+word-1)&^(word-1))))
	}
}

// deadChildren returns the pids of the children that have ended and were not waited for. It finds none if the kernel does not list children
// (CONFIG_PROC_CHILDREN, which distributions set).
func deadChildren() (dead []int) {
	for _, pid := range listChildren(os.Getpid()) {
		if p, err := proctree.Lookup(pid); err == nil && p.Zombie() {
			dead = append(dead, pid)
		}
	}
	return dead
}

// listChildren returns the pids of the children of a process (proc_tid_children(5)); none if the kernel does not list them.
func listChildren(parent int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, list := range lists {
		body, err := sysfile.Read(list, sysfile.Small)
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(body)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// startedByGo reports whether os/exec has started the child pid and waits for it, or will: it holds a pidfd of each of its children from
// their birth until it has waited. sure is false where there are no pidfds (Linux before 5.4, some seccomp filters), or /proc does not show
// them.
func startedByGo(pid int) (started, sure bool) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil || self.WithHandle(func(uintptr) {}) != nil {
		return false, false
	}
	_ = self.Release()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return false, false
	}
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err != nil || !strings.Contains(to, "pidfd") {
			continue
		}
		body, err := sysfile.Read("/proc/self/fdinfo/"+f.Name(), sysfile.Small)
		if err == nil && pidfdNames(body, pid) {
			return true, true
		}
	}
	return false, true
}

// pidfdNames reports whether the fdinfo of a pidfd (proc_pid_fdinfo(5)) names pid. NSpid lists the process's number in each PID namespace
// from that of /proc down to its own.
func pidfdNames(fdinfo []byte, pid int) bool {
	for line := range bytes.Lines(fdinfo) {
		key, numbers, _ := strings.Cut(string(line), ":")
		if (key == "Pid" || key == "NSpid") && slices.Contains(strings.Fields(numbers), strconv.Itoa(pid)) {
			return true
		}
	}
	return false
}
