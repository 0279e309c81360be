// Package submit hands commands to an engine that places them (see package jobs), and brings up to date what is known of them.
//
//	plan, err := submit.Decide(c, submit.Options{On: "slurm", Command: argv})
//	status, here, err := submit.Submit(ctx, c, plan, options, os.Stdout, os.Stderr)
//	err = submit.Refresh(ctx, c)
//
// A new engine is one case in [openEngine]. What is kept of a job, and shown by `plimsoll runs`, is its engine's word, asked for at most two
// seconds: one that does not answer is said, and its jobs stay as they were.
package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// Options are the flags of `plimsoll submit`.
type Options struct {
	Command []string
	// On is the engine and Queue its queue, Name the job's and Tool that of a run; "" leaves each to the configuration, the engine and the command.
	On, Queue, Name, Tool string
	// Env are the variables that go with it, NAME or NAME=VALUE.
	Env     []string
	Retries int
	// Image, Work, Priority and Secrets are for Kubernetes.
	Image, Work, Priority string
	Secrets               []string
	// Limits are the flags of limits as they were given, for the run there.
	Limits []config.Flag
	// Attended is for a submitter that stays.
	Attended bool
}

// Plan is a job before it is handed over. Sizes are in bytes.
type Plan struct {
	Name        string         `json:"name"`
	Engine      string         `json:"engine"`
	Tool        string         `json:"tool"`
	Project     string         `json:"project"`
	Command     []string       `json:"command"`
	Because     string         `json:"because"`
	MemoryBytes limit.Bytes    `json:"memory_bytes"`
	LimitBytes  limit.Bytes    `json:"limit_bytes"`
	CPUs        float64        `json:"cpus,omitempty"`
	TimeMS      int64          `json:"time_ms,omitempty"`
	Slots       map[string]int `json:"slots,omitempty"`
	Env         []string       `json:"env"` // names
	Queue       string         `json:"queue,omitempty"`
	Retries     int            `json:"retries"`
	// HandedOver has the text for the engine, for a person.
	HandedOver string `json:"handed_over"`

	job    jobs.Job
	record jobs.Record
	engine jobs.Engine
}

// handTime bounds how long an engine has to take a job.
const handTime = 30 * time.Second

// Decide returns the plan of a submission. It submits and creates nothing.
func Decide(c *core.Core, o Options) (*Plan, error) {
	if len(o.Command) == 0 {
		return nil, (&jobs.Job{ID: "none"}).Check()
	}
	general, err := c.Config.For("")
	if err != nil {
		return nil, err
	}
	on := cmp.Or(o.On, general.Submit.On)
	expected, settings, err := run.PredictJob(c, on == Local, o.Tool, o.Command)
	if err != nil {
		return nil, err
	}
	store, err := storeOf(c)
	if err != nil {
		return nil, err
	}
	j := jobs.Job{
		ID: cmp.Or(o.Name, jobs.NewID(expected.Tool)), Tool: expected.Tool, Argv: o.Command, CPUs: settings.CPUs, Queue: o.Queue, Retries: o.Retries,
		Memory: limit.Bytes(expected.ReservationBytes), MemoryLimit: limit.Bytes(expected.LimitBytes),
	}
	j.Folder = store.Folder(j.ID)
	if on == Slurm { // which takes one figure
		j.MemoryLimit = limit.Bytes(expected.OneFigureBytes())
		j.Memory = j.MemoryLimit
	}
	if settings.MaxConcurrent > 0 {
		j.Slots = map[string]int{j.Tool: 1}
	}
	if settings.TimeMax > 0 {
		j.Time = settings.TimeMax + settings.Grace
	}
	j.Flags = runFlags(o, on, j.MemoryLimit)
	names, env, err := variables(o.Env)
	if err != nil {
		return nil, err
	}
	j.Env = env
	if j.Dir, err = os.Getwd(); err == nil {
		err = j.Check()
	}
	if err != nil {
		return nil, err
	}
	engine, err := openEngine(c, on, o)
	if err != nil {
		return nil, err
	}
	shown := j
	shown.Argv = secrets.Environ(os.Environ()).Argv(o.Command)
	text, err := engine.Plan(&shown)
	return &Plan{
		Name: j.ID, Engine: on, Tool: j.Tool, Project: expected.Project, Command: shown.Argv, Because: expected.Because(), MemoryBytes: j.Memory, LimitBytes: j.MemoryLimit,
		CPUs: j.CPUs, TimeMS: j.Time.Milliseconds(), Slots: j.Slots, Env: names, Queue: j.Queue, Retries: j.Retries, HandedOver: text, job: j, engine: engine,
		record: jobs.Record{
			Ref: jobs.Ref{ID: j.ID, Folder: j.Folder}, Engine: on, Tool: j.Tool, Variant: expected.Variant, Project: expected.Project, Command: shown.Argv,
			Memory: j.Memory, MemoryLimit: j.MemoryLimit, Status: jobs.Status{Phase: jobs.Starting, Detail: "it is being handed over"},
		},
	}, err
}

// runFlags returns the flags for `plimsoll run` in the job: the limits as they were given and, for an engine on other hosts, the memory limit
// that was decided here, where the history is.
func runFlags(o Options, on string, memory limit.Bytes) []string {
	var flags []string
	for _, f := range o.Limits {
		if f.Key != "wait" && (f.Key != "memory_max" || on == Local) {
			flags = append(flags, f.Name+"="+f.Value)
		}
	}
	if o.Tool != "" {
		flags = append(flags, "--tool="+o.Tool)
	}
	if memory > 0 && on != Local {
		flags = append(flags, fmt.Sprintf("--memory-max=%d", memory))
	}
	// Another run there, or somebody's program, may be about to end: a job that was placed is not lost for that.
	return append(flags, "--wait")
}

// variables returns the names of the variables that --env names, and each as NAME=VALUE. A bare NAME takes its value from this process; it is
// an error if there is none.
func variables(named []string) (names, env []string, err error) {
	names = []string{}
	for _, text := range named {
		name, value, given := strings.Cut(text, "=")
		if !given {
			value, given = os.LookupEnv(name)
		}
		switch {
		case !variableName().MatchString(name):
			return nil, nil, fmt.Errorf("--env %s: a variable's name has letters, digits and _ only, and does not begin with a digit", limit.Short(name, 64))
		case !given:
			return nil, nil, fmt.Errorf("--env %s: there is no such variable here; write --env %[1]s=VALUE to give it one", name)
		}
		names, env = append(names, name), append(env, name+"="+value)
	}
	return names, env, nil
}

var variableName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Submit submits a job and, with o.Attended, copies its output until it has ended and returns its status. here is true if nothing was
// submitted and the caller is to run the command itself: an attended job of this host is `plimsoll run --wait`, for which the variables of
// --env are set in this process.
func Submit(ctx context.Context, c *core.Core, p *Plan, o Options, out, errs io.Writer) (status int, here bool, err error) {
	if o.Attended && p.Engine == Local {
		for _, e := range o.Env {
			if name, value, given := strings.Cut(e, "="); given {
				_ = os.Setenv(name, value)
			}
		}
		return 0, true, nil
	}
	if err := handOver(ctx, c, p); err != nil || !o.Attended {
		return 0, false, err
	}
	return attend(ctx, c, p, out, errs, func(text string) { fmt.Fprintln(errs, "plimsoll: "+printable.Name(text)) }), false, nil
}

// handOver stores a job and submits it to its engine. If that fails, the stored job is removed.
func handOver(ctx context.Context, c *core.Core, p *Plan) error {
	state, err := c.Dirs.EnsureState()
	if err != nil {
		return err
	}
	store := jobs.NewStore(state)
	p.record.Submitted = time.Now().UTC()
	if err := store.Create(p.record); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, handTime, fmt.Errorf("%s has not taken it within %s", p.Engine, handTime))
	defer cancel()
	at, err := p.engine.Submit(ctx, &p.job)
	if err != nil {
		return errors.Join(err, store.Remove(p.Name))
	}
	p.record.At = at
	return store.Update(p.Name, func(r *jobs.Record) {
		r.At, r.Status = at, jobs.Status{Phase: jobs.Queued, Detail: "its engine has it and was not asked since"}
	})
}

// Cancel asks the engine to end a job, and returns the record of the job as it was before. A job that has ended stays as it is.
func Cancel(ctx context.Context, c *core.Core, name string) (jobs.Record, error) {
	r, err := refreshed(ctx, c, jobOf(c, name))
	if err != nil || r.Status.Phase.Over() {
		return r, err
	}
	engine, err := openEngine(c, r.Engine, Options{})
	if err != nil {
		return r, err
	}
	return r, cancelJob(ctx, c, engine, r)
}

// cancelJob cancels a job at its engine, and notes that in its record, because some engines forget a cancelled job.
func cancelJob(ctx context.Context, c *core.Core, engine jobs.Engine, r jobs.Record) error {
	ctx, cancel := context.WithTimeoutCause(ctx, handTime, fmt.Errorf("%s has not answered within %s", r.Engine, handTime))
	defer cancel()
	if err := engine.Cancel(ctx, r.Ref); err != nil {
		return err
	}
	store, err := storeOf(c)
	if err != nil {
		return err
	}
	return store.Update(r.ID, func(r *jobs.Record) { r.Cancelled = true })
}

// jobOf returns the name of the job that a run belongs to, if name is the ID of such a run or the beginning of it; else name.
func jobOf(c *core.Core, name string) string {
	store, err := openRuns(c)
	if err != nil {
		return name
	}
	defer store.Close()
	if e, err := store.Find(name); err == nil && e.Job != "" && strings.HasPrefix(e.ID, name) {
		return e.Job
	}
	return name
}

// Living returns the jobs that have not ended, each with a description behind a tab, for shell completion. Without a readable store there
// are none.
func Living(c *core.Core) (names []string) {
	store, err := storeOf(c)
	if err != nil {
		return nil
	}
	list, _ := store.List()
	for _, r := range list {
		if !r.Status.Phase.Over() {
			names = append(names, r.ID+"\t"+r.Tool+" in "+r.Project+", "+string(r.Status.Phase))
		}
	}
	return names
}
