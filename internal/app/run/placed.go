package run

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// outputEvery is the time between two looks at what a job has written.
const outputEvery = 200 * time.Millisecond

// boundOutput limits the size of the output files if this run is a job of this host's queue, until stop is called. stop writes a note about
// output that was dropped.
func (x *process) boundOutput() (stop func()) {
	state, err := x.app.Dirs.State()
	if err != nil || core.InsideRun() != "" {
		return func() {}
	}
	job, err := jobs.NewStore(state).Get(os.Getenv(runs.JobName))
	if err != nil || job.Engine != jobs.Local {
		return func() {}
	}
	var files []*jobs.Bound
	for name, f := range map[string]*os.File{jobs.OutName: os.Stdout, jobs.ErrName: os.Stderr} {
		path := filepath.Join(job.Folder, name)
		ours, err := f.Stat()
		if there, notThere := os.Lstat(path); err == nil && notThere == nil && os.SameFile(ours, there) {
			files = append(files, &jobs.Bound{File: f, Path: path, Max: jobs.MaxOutput})
		}
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		look := time.NewTicker(outputEvery)
		defer look.Stop()
		for {
			select {
			case <-over:
				return
			case <-look.C:
				for _, f := range files {
					_ = f.Trim() // what is the matter will be at the end too
				}
			}
		}
	}()
	return func() {
		close(over)
		<-ended
		for _, f := range files {
			if err := f.Trim(); err != nil {
				x.report.warn("output", "what the job wrote is not bounded: "+err.Error())
			}
			if f.Cut > 0 {
				x.report.warn("output", fmt.Sprintf("%s from the middle of what the job wrote were left out of %s, of which at most %s are kept", f.Cut.Human(), job.Folder, f.Max.Human()))
			}
		}
	}
}

// slurmMemory returns the memory that Slurm has set aside on this node for the job that this process is; 0 outside of a job, and if the job's
// variables have no figure. If a cgroup enforces it, slurmstepd ends the whole job at it; otherwise the run keeps to it by its own limit.
func slurmMemory(getenv func(string) string) limit.Bytes {
	const most = 1 << 30 // MiB: a petabyte
	number := func(name string) int64 {
		n, err := strconv.ParseInt(getenv(name), 10, 64)
		if err != nil || n < 0 || n > most {
			return 0
		}
		return n
	}
	if getenv("SLURM_JOB_ID") == "" {
		return 0
	}
	mib := number("SLURM_MEM_PER_NODE")
	if mib == 0 {
		mib = number("SLURM_MEM_PER_CPU") * min(number("SLURM_CPUS_ON_NODE"), 1<<16)
	}
	return limit.Bytes(min(mib, most)) * limit.MiB
}

// watchSlurm warns if Slurm has started this job again, and, when end is called, if Slurm has asked the job to end. Outside of Slurm it does
// nothing.
func (x *process) watchSlurm() (end func()) {
	if os.Getenv("SLURM_JOB_ID") == "" {
		return func() {}
	}
	if n, err := strconv.Atoi(os.Getenv("SLURM_RESTART_COUNT")); err == nil && n > 0 {
		x.report.warn("slurm", fmt.Sprintf("Slurm has started this job again (%d times so far), after a requeue, a preemption or the loss of a node: what an earlier start has done is there", n))
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	return func() {
		signal.Stop(asked)
		select {
		case <-asked:
			x.report.warn("slurm", "Slurm has asked the job to end (SIGTERM), as it does before a preemption or a requeue, at the end of the job's time, and for scancel")
		default:
		}
	}
}
