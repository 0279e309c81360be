package jobs

import (
	"context"
	"io"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Job is a command with what it needs. Sizes are bytes.
type Job struct {
	// ID names the job at its engine: a DNS label of at most 52 bytes. A second job with the same ID is refused by every engine.
	ID   string
	Argv []string
	// Env are the variables that go with it, NAME=VALUE; nothing else of the submitter's environment does.
	Env []string
	// Dir is the working directory.
	Dir string
	// Memory is what the job is placed by, MemoryLimit what it may take at most (0: the engine's own), CPUs its processors (0: the engine's own).
	Memory, MemoryLimit limit.Bytes
	CPUs                float64
	// Time bounds the job; 0 sets no bound.
	Time time.Duration
	// Slots are what it takes of each named slot, "claude": 1.
	Slots map[string]int
	// Retries is how often the engine may start it again; 0: never, because an agent cannot be repeated.
	Retries int
}

// Phase is what a job is at.
type Phase string

// Phases of a job, in their order. Lost is the phase of one that its engine no longer knows, without a result.
const (
	Queued   Phase = "queued"
	Starting Phase = "starting"
	Running  Phase = "running"
	Ended    Phase = "ended"
	Lost     Phase = "lost"
)

// Status is what an engine says of a job.
type Status struct {
	Phase Phase
	// Reason is the engine's own word for the phase: Unschedulable, Licenses, Priority, OOMKilled.
	Reason string
	// Detail is its sentence about that, "" for none.
	Detail string
	// Node is the machine that it is on, "" before that is decided.
	Node string
	// ExitCode and Signal tell how it ended.
	ExitCode int
	Signal   string
	Started  time.Time
	Ended    time.Time
	// Report is what its plimsoll reported, nil where nothing came back.
	Report *journal.Report
}

// Engine places jobs. Its methods may be called by several goroutines at once.
type Engine interface {
	// Name is the word for it behind --on.
	Name() string
	// Submit hands a job over and returns the engine's name for it. When it fails, nothing of the job is left at the engine.
	Submit(ctx context.Context, j Job) (ref string, err error)
	// Status asks what a job is at.
	Status(ctx context.Context, ref string) (Status, error)
	// Output copies what the job writes, from its first byte until it has ended, as it comes. Where an engine has one stream only, all of it
	// goes to out.
	Output(ctx context.Context, ref string, out, err io.Writer) error
	// Cancel ends a job. It is no error if that had ended.
	Cancel(ctx context.Context, ref string) error
}
