package sandbox

import (
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// cpuRate is JOBOBJECT_CPU_RATE_CONTROL_INFORMATION (Windows 8): flags, then a weight of 1 to 9
// or a rate in hundredths of a percent of all processors.
type cpuRate struct{ flags, value uint32 }

const (
	cpuRateClass   = 15
	cpuRateEnable  = 1
	cpuRateWeight  = 2
	cpuRateHardCap = 4
)

// limitCPU sets the quota of a job, or its weight when there is no quota: a job has one of the two. 5 is the usual weight of 1 to 9.
func (j *jobCage) limitCPU(l Limits, processors int) {
	rate := cpuRate{flags: cpuRateEnable}
	switch {
	case l.CPUs > 0:
		rate.flags |= cpuRateHardCap
		rate.value = uint32(min(10000, max(1, l.CPUs/float64(processors)*10000)))
	case l.CPUWeight > 0 && l.CPUWeight != NormalWeight:
		rate.flags |= cpuRateWeight
		rate.value = uint32(min(9, max(1, (5*l.CPUWeight+NormalWeight/2)/NormalWeight)))
	default:
		return
	}
	_, err := windows.SetInformationJobObject(j.job, cpuRateClass, uintptr(unsafe.Pointer(&rate)), uint32(unsafe.Sizeof(rate)))
	if err != nil {
		return
	}
	if l.CPUs > 0 {
		j.held.CPUs = ByKernel
	} else {
		j.held.CPU = ByKernel
	}
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION; times are in units of 100 ns.
type jobAccounting struct {
	user, kernel, periodUser, periodKernel int64
	faults, total, active, terminated      uint32
}

// cpuUsed returns the processor time of all processes that are or were in the job; false when it can't be read.
func (j *jobCage) cpuUsed() (time.Duration, bool) {
	if j.job == 0 { // Windows takes 0 for the job that this process is in itself
		return 0, false
	}
	var a jobAccounting
	err := windows.QueryInformationJobObject(j.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	used := time.Duration(a.user+a.kernel) * 100
	return used, err == nil && used > 0
}

// forkNice calls fork and returns false for held: a job holds the weight, and no process needs a priority of its own.
func forkNice(_ int, fork func() (int, error)) (pid int, held bool, err error) {
	pid, err = fork()
	return pid, false, err
}

// ownNice returns 0: priorities are not numbered like this here.
func ownNice() int { return 0 }

// lowerPriority does nothing: the job holds the weight.
func lowerPriority(int, int) {}

// niceSession does nothing: sessions have no nice value here.
func niceSession(int, int, <-chan struct{}) {}

// setPriority does nothing: without the arguments of other processes no agent is found below the command here.
func setPriority(int, int) {}
