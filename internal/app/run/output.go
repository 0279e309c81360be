package run

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// outputEvery is the time between two looks at what a job has written.
const outputEvery = 200 * time.Millisecond

// boundOutput keeps the files that a job of this host's queue writes into within their bound, until stop is called, which says what was left
// out.
func (x *process) boundOutput() (stop func()) {
	state, err := x.app.Dirs.State()
	if err != nil || core.InsideRun() != "" {
		return func() {}
	}
	job, err := jobs.StoreIn(state).Get(os.Getenv(runs.JobName))
	if err != nil || job.Engine != jobs.Local {
		return func() {}
	}
	files := []*jobs.Bound{}
	for _, name := range []string{jobs.OutName, jobs.ErrName} {
		files = append(files, &jobs.Bound{Path: filepath.Join(job.Folder, name), Max: jobs.MaxOutput})
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
					_ = f.Look() // what is the matter will be at the end too
				}
			}
		}
	}()
	return func() {
		close(over)
		<-ended
		for _, f := range files {
			if err := f.Look(); err != nil {
				x.report.warn("output", "what the job wrote is not bounded: "+err.Error())
			}
			if f.Cut > 0 {
				x.report.warn("output", fmt.Sprintf("%s from the middle of what the job wrote were left out of %s, which is kept up to %s", f.Cut.Human(), f.Path, f.Max.Human()))
			}
		}
	}
}
