package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// jobCage holds a run in a job object. The command is created suspended, put into the job
// and resumed, so that it has no moment outside; its descendants are in the job by
// themselves. Windows 8 and later nest jobs, so a run may be inside another one.
//
// The limit is on committed memory, page file included. At the limit an allocation fails;
// nothing is killed. A process that asks to break away from the job is refused.
type jobCage struct {
	job  windows.Handle
	info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION // as it is set
	held Strength
	spec *Spec
	list pidList // read into by members
}

// maxJobMemory is 64 TiB, the most that a limit asks for and that a figure is believed.
const maxJobMemory limit.Bytes = 1 << 46

// newJob makes a job object with the limits, and records the run. Unless leftovers are to stay, the job ends all its processes when this process
// ends.
func newJob(spec *Spec, l Limits) (cage, error) {
	if err := spec.remember(Remains{Layer: Job}); err != nil {
		return nil, err
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, fmt.Errorf("create a job object: %w", err)
	}
	j := &jobCage{job: job, spec: spec, held: heldByNobody}
	info := &j.info
	basic := &info.BasicLimitInformation
	if l.Memory > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(min(l.Memory, maxJobMemory))
		j.held.Memory = ByKernel
	}
	if l.Pids > 0 {
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		basic.ActiveProcessLimit = uint32(min(l.Pids, 1<<30))
		j.held.Pids = ByKernel
	}
	if spec.OnExit != LeaveLeftovers {
		// Ours is the only handle: when we die, however, the kernel ends the run.
		basic.LimitFlags |= windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	if err := j.setLimits(); err != nil {
		return nil, errors.Join(fmt.Errorf("set the limits of the job object: %w", err), j.close())
	}
	j.limitCPU(l, runtime.NumCPU())
	return j, nil
}

// setLimits gives the job the limits that are in j.info.
func (j *jobCage) setLimits() error {
	_, err := windows.SetInformationJobObject(j.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&j.info)), uint32(unsafe.Sizeof(j.info)))
	return err
}

// raise sets a new limit of committed memory. Swap has none of its own.
func (j *jobCage) raise(memory, _ limit.Bytes) error {
	j.info.JobMemoryLimit = uintptr(min(memory, maxJobMemory))
	return j.setLimits()
}

// strength returns which limits the job holds.
func (j *jobCage) strength() Strength { return j.held }

// launch starts the command suspended, puts it into the job, and resumes it, so that none of it runs outside.
func (j *jobCage) launch(c *command) (int, error) {
	c.sys.CreationFlags |= windows.CREATE_SUSPENDED
	pid, err := c.fork()
	if err != nil {
		return 0, err
	}
	process := findHandle(pid)
	if err = windows.AssignProcessToJobObject(j.job, process); err != nil {
		err = fmt.Errorf("put the command into the job object: %w", err)
	} else {
		err = resumeThreads(pid)
	}
	if err != nil {
		_ = windows.TerminateProcess(process, killedStatus)
		forgetCommand(pid)
		return 0, err
	}
	if err := j.spec.remember(Remains{Layer: Job, PID: pid, Start: proctree.StartTime(pid)}); err != nil {
		j.spec.appendEvent(journal.Warned{About: "clean-up", Text: "this run is not on record: " + err.Error()})
	}
	return pid, nil
}

// resumeThreads resumes the threads of a suspended process. It has one thread, and perhaps another that a virus scanner has added, which is not
// suspended and is not affected.
func resumeThreads(pid int) error {
	threads, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("find the threads of pid %d: %w", pid, err)
	}
	defer windows.CloseHandle(threads)
	var entry windows.ThreadEntry32
	entry.Size = uint32(unsafe.Sizeof(entry))
	resumed := 0
	for err = windows.Thread32First(threads, &entry); err == nil; err = windows.Thread32Next(threads, &entry) {
		if int(entry.OwnerProcessID) != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			continue
		}
		if _, err := windows.ResumeThread(thread); err == nil {
			resumed++
		}
		_ = windows.CloseHandle(thread)
	}
	if resumed == 0 {
		return fmt.Errorf("resume pid %d: it has no thread that can be resumed: %w", pid, err)
	}
	return nil
}

// memoryUsage is JOBOBJECT_MEMORY_USAGE_INFORMATION, in bytes; its class is 28 (Windows 10).
type memoryUsage struct{ now, peak uint64 }

const memoryUsageClass = 28

// charged returns the memory that the job uses, in bytes; 0 if it is closed or cannot be asked.
func (j *jobCage) charged() int64 {
	var u memoryUsage
	if j.job == 0 { // Windows takes 0 for the job that this process is in itself
		return 0
	}
	err := windows.QueryInformationJobObject(j.job, memoryUsageClass, uintptr(unsafe.Pointer(&u)), uint32(unsafe.Sizeof(u)), nil)
	if err != nil {
		return 0
	}
	return int64(min(u.now, uint64(maxJobMemory)))
}

// sample returns the memory, processes and CPU time of the job; false if it is empty, closed or cannot be asked.
func (j *jobCage) sample() (Sample, bool) {
	charged := limit.Bytes(j.charged())
	if charged == 0 {
		return Sample{}, false
	}
	pids, _ := j.members(nil)
	used, _ := j.cpuUsed()
	return Sample{Working: charged, Charged: charged, Processes: len(pids), CPU: used}, true
}

// pidList is JOBOBJECT_BASIC_PROCESS_ID_LIST.
type pidList struct {
	assigned, listed uint32
	pids             [maxListed]uintptr
}

// maxListed bounds the processes of a job that are listed; the limits count all.
const maxListed = 4096

// members appends the PIDs in the job, at most maxListed. The result is always true: a job knows its members exactly. If it cannot be asked
// there are none.
func (j *jobCage) members(pids []int) ([]int, bool) {
	if j.job == 0 {
		return pids, true
	}
	list := &j.list
	err := windows.QueryInformationJobObject(j.job, windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(list)), uint32(unsafe.Sizeof(*list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return pids, true
	}
	for _, pid := range list.pids[:min(list.listed, maxListed)] {
		pids = append(pids, int(pid))
	}
	return pids, true
}

// peak returns the job's largest memory in bytes and the name of the counter; false if it is closed or cannot be asked.
func (j *jobCage) peak() (int64, string, bool) {
	if j.job == 0 {
		return 0, "", false
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(j.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return 0, "", false
	}
	return int64(min(info.PeakJobMemoryUsed, uintptr(maxJobMemory))), "PeakJobMemoryUsed", true
}

// oomKills returns 0: at the limit allocations fail, and nothing is killed.
func (j *jobCage) oomKills() int { return 0 }

// freeze returns an error: a job object cannot be frozen.
func (j *jobCage) freeze(bool) error {
	return errors.New("a job object can't be frozen")
}

// kill ends all processes of the job.
func (j *jobCage) kill() error {
	if j.job == 0 {
		return nil
	}
	return windows.TerminateJobObject(j.job, killedStatus)
}

// close closes the handle of the job, whose processes Windows then ends. A second call does nothing.
func (j *jobCage) close() error {
	if j.job == 0 {
		return nil
	}
	err := windows.CloseHandle(j.job)
	j.job = 0
	return err
}
