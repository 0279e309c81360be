package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/cgroupfs"
)

// I/O priorities: ioprio_set(2). Class "best effort" has eight levels, of which 7 is the last.
const (
	ioprioWhoProcess    = 1
	ioprioBestEffortLow = 2<<13 | 7
)

// limitCPU writes the CPU weight and quota, and records in g.held which of them the kernel accepted. It returns no error: a kernel or a parent
// without the controller costs the run these two limits and no other.
func (g *group2) limitCPU(l Limits) {
	if l.CPUWeight > 0 && g.writeNumber("cpu.weight", int64(l.CPUWeight)) == nil {
		g.held.CPU = ByKernel
	}
	if l.CPUs > 0 && g.writeText("cpu.max", strconv.FormatInt(l.quotaMicros(), 10)+" "+strconv.Itoa(quotaPeriod)) == nil {
		g.held.CPUs = ByKernel
	}
}

// enableCPUController lets the children of a cgroup v2 group have weights and quotas, where that can be.
func enableCPUController(dir string) { _ = writeControl(dir, "cgroup.subtree_control", "+cpu") }

// wantsCPU reports whether the limits need a CPU controller.
func (l Limits) wantsCPU() bool { return l.CPUWeight > 0 && l.CPUWeight != NormalWeight || l.CPUs > 0 }

// cpuGroup1 returns the path for a run's group in the v1 CPU hierarchy; "" where the limits need none or it can't be made.
func cpuGroup1(own cgroupfs.Place, name string, l Limits) string {
	parent := own.V1["cpu"]
	if parent == "" || !l.wantsCPU() || unix.Access(parent, unix.W_OK) != nil || !exists(filepath.Join(parent, "cpu.shares")) {
		return ""
	}
	return filepath.Join(parent, name)
}

// limitCPU works like [group2.limitCPU] for cgroup v1, whose usual share is 1024.
func (g *group1) limitCPU(l Limits) {
	if g.cpu == "" {
		return
	}
	if l.CPUWeight > 0 && writeControl(g.cpu, "cpu.shares", strconv.Itoa(max(2, l.CPUWeight*1024/NormalWeight))) == nil {
		g.held.CPU = ByKernel
	}
	if l.CPUs > 0 && writeControl(g.cpu, "cpu.cfs_period_us", strconv.Itoa(quotaPeriod)) == nil &&
		writeControl(g.cpu, "cpu.cfs_quota_us", strconv.FormatInt(l.quotaMicros(), 10)) == nil {
		g.held.CPUs = ByKernel
	}
}

// forkNice calls fork on a thread that has the nice value nice, which the child inherits, so that not one instruction of the command runs
// otherwise. The thread is thrown away, because without privileges no thread becomes less nice again. held is false for nice 0, and where
// the kernel refuses (a weight above the usual needs CAP_SYS_NICE) and the command starts as usual.
func forkNice(nice int, fork func() (int, error)) (pid int, held bool, err error) {
	if nice == 0 {
		pid, err = fork()
		return pid, false, err
	}
	done := make(chan struct{})
	var onOwnThread func()
	onOwnThread = func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its goroutine
		if unix.Gettid() == unix.Getpid() {
			next := make(chan struct{})
			go func() { defer close(next); onOwnThread() }()
			<-next
			runtime.UnlockOSThread()
			return
		}
		held = setNice(unix.Gettid(), nice)
		pid, err = fork()
	}
	go func() { defer close(done); onOwnThread() }()
	<-done
	return pid, held, err
}

// setNice sets the nice value of one thread, and with a positive one the last I/O priority, and reports whether the nice value was set.
func setNice(tid, nice int) bool {
	if unix.Setpriority(unix.PRIO_PROCESS, tid, nice) != nil {
		return false
	}
	if nice > 0 {
		_, _, _ = unix.Syscall(unix.SYS_IOPRIO_SET, ioprioWhoProcess, uintptr(tid), ioprioBestEffortLow)
	}
	return true
}

// ownNice returns the nice value that this process was started with, which the command inherits.
func ownNice() int {
	kernel, err := unix.Getpriority(unix.PRIO_PROCESS, os.Getpid())
	if err != nil {
		return 0
	}
	return 20 - kernel // see lowerPriority
}

// lowerPriority raises the nice value of a descendant to nice, for all threads that it has so far; later ones inherit it. A thread that is
// as nice already stays as it is.
func lowerPriority(pid, nice int) {
	eachThread(pid, func(tid, now int) {
		if now < nice {
			setNice(tid, nice)
		}
	})
}

// setPriority gives all threads of a process this nice value, as far as that is allowed.
func setPriority(pid, nice int) {
	eachThread(pid, func(tid, now int) {
		if now != nice {
			setNice(tid, nice)
		}
	})
}

// eachThread calls do with the threads of a process and their nice values.
func eachThread(pid int, do func(tid, nice int)) {
	dir, err := os.Open("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(4096)
	for _, name := range names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		// The system call gives 20 - nice (getpriority(2), C library/kernel differences).
		if now, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil {
			do(tid, 20-now)
		}
	}
}

// The kernel takes the nice value of a session from one process in a tenth of a second, of all that have no CAP_SYS_ADMIN, and refuses the
// others with EAGAIN (kernel/sched/autogroup.c, 6.12). Of runs that start together each gets its turn within these tries, some two minutes.
const (
	sessionPause = 130 * time.Millisecond
	sessionTries = 1000
)

// niceSession sets the nice value of the command's session to ours plus steps, at once or a little later, until ended is closed. With autogroups
// (sched(7)) a session has a nice value, and compared with other sessions only that one counts; it does not follow the nice value of a process
// in it.
func niceSession(pid, steps int, ended <-chan struct{}) {
	own := 0
	if text, err := os.ReadFile("/proc/self/autogroup"); err == nil { // "/autogroup-25 nice 0"
		if fields := strings.Fields(string(text)); len(fields) > 0 {
			own, _ = strconv.Atoi(fields[len(fields)-1])
		}
	}
	refused := func() bool {
		err := os.WriteFile("/proc/"+strconv.Itoa(pid)+"/autogroup", []byte(strconv.Itoa(addNice(own, steps))), 0)
		return errors.Is(err, unix.EAGAIN)
	}
	if !refused() {
		return
	}
	go func() {
		turn := time.NewTicker(sessionPause)
		defer turn.Stop()
		for range sessionTries {
			select {
			case <-ended:
				return
			case <-turn.C:
			}
			if !refused() {
				return
			}
		}
	}()
}
