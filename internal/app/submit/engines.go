package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/jobs/kubernetes"
	"github.com/plimsoll/plimsoll/internal/jobs/slurm"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// Names of engines.
const (
	Local      = jobs.Local
	Slurm      = "slurm"
	Kubernetes = "kubernetes"
)

// Names lists all engines, as --on takes them.
var Names = []string{Local, Slurm, Kubernetes}

// openEngine opens the engine with a name. o may be the zero value if jobs are only asked about and none is submitted.
func openEngine(c *core.Core, name string, o Options) (jobs.Engine, error) {
	if flag := o.ofKubernetes(); flag != "" && name != Kubernetes {
		return nil, fmt.Errorf("%s is for jobs of Kubernetes; leave it out, or write --on kubernetes", flag)
	}
	switch name {
	case Local:
		return openLocal(c, o)
	case Slurm:
		return slurm.New(c.Warn), nil
	case Kubernetes:
		return openKubernetes(c, o)
	}
	return nil, fmt.Errorf("--on %s: nothing places runs there; write one of: %s", name, strings.Join(Names, ", "))
}

// ofKubernetes returns the first flag that was given and is for Kubernetes only; "" if there is none.
func (o *Options) ofKubernetes() string {
	switch {
	case o.Image != "":
		return "--image"
	case o.Work != "":
		return "--work"
	case o.Priority != "":
		return "--priority"
	case len(o.Secrets) > 0:
		return "--secret"
	}
	return ""
}

// openKubernetes returns the engine for a Kubernetes cluster. It connects only when it is used.
func openKubernetes(c *core.Core, o Options) (jobs.Engine, error) {
	tool := o.Tool
	if tool == "" && len(o.Command) > 0 {
		tool = c.Config.Tool(o.Command).Tool
	}
	settings, err := c.Config.For(tool)
	if err != nil {
		return nil, err
	}
	return kubernetes.New(kubernetes.Options{
		Open:  func(context, namespace string) (*kubeapi.Cluster, error) { return OpenCluster(c, context, namespace) },
		Image: cmp.Or(o.Image, settings.Submit.Image), Plimsoll: settings.Submit.PlimsollImage,
		Priority: o.Priority, Secrets: o.Secrets, Work: o.Work, Hosts: settings.Submit.Hosts, Told: c.Warn,
	}), nil
}

// OpenCluster opens the cluster that a kubeconfig and the configuration name. "" for context or namespace is the configuration's.
func OpenCluster(c *core.Core, context, namespace string) (*kubeapi.Cluster, error) {
	settings, err := c.Config.For("")
	if err != nil {
		return nil, err
	}
	return kubeapi.Open(cmp.Or(context, settings.Submit.Context), cmp.Or(namespace, settings.Submit.Namespace))
}

// local is the queue of this host: a `plimsoll run --wait` without a terminal, which outlives its submitter. What it is at is in the store of
// runs. [jobs.Ref].At is its process.
type local struct{ core *core.Core }

// openLocal returns the engine of this host. It is an error if the options ask for retries or name a queue, which it does not have.
func openLocal(c *core.Core, o Options) (jobs.Engine, error) {
	switch {
	case o.Retries > 0:
		return nil, errors.New("--retry is for engines that start a job again; on this host a run is started once")
	case o.Queue != "":
		return nil, errors.New("--queue names a queue of another engine; this host has one queue")
	}
	return &local{c}, nil
}

// Plan implements [jobs.Engine].
func (l *local) Plan(j *jobs.Job) (string, error) {
	return strings.Join(append([]string{"plimsoll"}, j.RunArguments()...), " "), nil
}

// Submit implements [jobs.Engine]: it starts `plimsoll run` in the background, with the submitter's environment, as host and user are the
// same. It returns the PID. Within a run, and if no runs are recorded, it is an error.
func (l *local) Submit(_ context.Context, j *jobs.Job) (string, error) {
	if f := l.core.Fence(); f.Inside() {
		return "", fmt.Errorf("this is inside a run (%s), with which what it starts ends: submit with --wait", f.Why)
	}
	if s, err := l.core.Config.For(""); err == nil && !s.Watch.Runs {
		return "", errors.New("nothing is kept of runs here ([watch] runs = false), and what a job of this host is at is looked up there: submit with --wait")
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	out, errs, err := jobs.OpenOutput(j.Folder)
	if err != nil {
		return "", err
	}
	defer out.Close()
	defer errs.Close()
	cmd := exec.Command(self, j.RunArguments("--report="+filepath.Join(j.Folder, jobs.ReportName), "--quiet")...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = j.Dir, out, errs, alone()
	cmd.Env = append(os.Environ(), append(j.Env, runs.JobName+"="+j.ID)...)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	go func() { _ = cmd.Wait() }() // for a submitter that lives on
	return strconv.Itoa(cmd.Process.Pid), nil
}

// Status implements [jobs.Engine]. A job without an answer is not known: it was never begun, or its run was killed.
func (l *local) Status(_ context.Context, refs []jobs.Ref) (map[string]jobs.Status, error) {
	entries, err := l.runs()
	if err != nil {
		return nil, err
	}
	answers := map[string]jobs.Status{}
	for _, ref := range refs {
		e, begun := entries[ref.ID]
		switch {
		case !begun && lives(ref.At):
			answers[ref.ID] = jobs.Status{Phase: jobs.Starting}
		case !begun, e.Outcome == runs.Died: // what it has left says how it ended
		case e.Outcome == runs.Waiting:
			answers[ref.ID] = jobs.Status{Phase: jobs.Queued, Detail: e.Reason}
		case e.Live():
			answers[ref.ID] = jobs.Status{Phase: jobs.Running, Started: e.Started}
		default:
			answers[ref.ID] = jobs.Status{Phase: jobs.Ended, Detail: e.Reason, ExitCode: e.ExitCode, Signal: e.Signal, Started: e.Started, Ended: *e.Ended}
		}
	}
	return answers, nil
}

// runs returns the newest run of each job, by the name of the job.
func (l *local) runs() (map[string]runs.Entry, error) {
	store, err := openRuns(l.core)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	byJob := map[string]runs.Entry{}
	for _, e := range store.Entries() {
		if _, newer := byJob[e.Job]; !newer && e.Kind == runs.KindRun && e.Job != "" {
			byJob[e.Job] = e
		}
	}
	return byJob, nil
}

// openRuns opens the store of runs and reads it. The caller closes it.
func openRuns(c *core.Core) (*runs.Store, error) {
	dir, err := c.Dirs.State()
	if err != nil {
		return nil, err
	}
	store, err := runs.Open(dir)
	if err == nil {
		if err = store.Poll(); err != nil {
			_ = store.Close()
		}
	}
	return store, err
}

// lives reports whether a process with this number exists and may be signalled by this user.
func lives(pid string) bool {
	n, _ := strconv.Atoi(pid)
	p, err := os.FindProcess(n)
	if n <= 0 || err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil // there only one that lives is found
}

// Output implements [jobs.Engine].
func (l *local) Output(ctx context.Context, ref jobs.Ref, out, errs io.Writer) error {
	return jobs.Tail(ctx, l, ref, out, errs)
}

// Cancel implements [jobs.Engine]. It asks the run to end, as kill does, or kills it on Windows, and does nothing if the run is over. A job that
// is just starting cannot be cancelled.
func (l *local) Cancel(_ context.Context, ref jobs.Ref) error {
	entries, err := l.runs()
	if err != nil {
		return err
	}
	e, begun := entries[ref.ID]
	switch {
	case !begun && lives(ref.At):
		return errors.New("it is just starting: try again in a second")
	case !begun || !e.Live():
		return nil
	}
	p, err := os.FindProcess(e.PID) // a run lives while its plimsoll holds its file
	if err != nil {
		return nil
	}
	if runtime.GOOS == "windows" { // a process without a console cannot be asked; the job object of the run ends what is in it
		err = p.Kill()
	} else {
		err = p.Signal(syscall.SIGTERM)
	}
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}
