// Package jobs hands commands to an engine that places them on a machine: the host's own queue, Kubernetes or Slurm.
//
//	at, err := engine.Submit(ctx, &jobs.Job{ID: id, Argv: argv, Memory: 2 << 30})
//	answers, err := engine.Status(ctx, refs)
//	err = engine.Output(ctx, ref, os.Stdout, os.Stderr)
//
// The engine decides where and when; this package decides nothing about it. Its words for why a job waits are passed on as they are.
package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Job is a command with what it needs. Sizes are bytes.
type Job struct {
	// ID names the job at its engine, see [CheckID]. A second job with the same ID is refused.
	ID   string
	Tool string
	// Argv is the command, Flags are those of the `plimsoll run` that runs it there: see [Job.RunArguments].
	Argv, Flags []string
	// Env are the variables that go with it, NAME=VALUE; nothing else of the submitter's environment does.
	Env []string
	// Dir is the working directory. Folder is a directory of this job alone on the submitter's host, which the machine that it is placed on may share.
	Dir, Folder string
	// Memory is the request that the job is placed by, MemoryLimit the most it may take (0: the engine's own), CPUs its processors (0: the engine's own).
	Memory, MemoryLimit limit.Bytes
	CPUs                float64
	// Time bounds the job, with the grace at its end; 0 sets no bound.
	Time time.Duration
	// Slots counts the named slots that it takes, "claude": 1.
	Slots map[string]int
	// Queue is the engine's queue for it, "" the engine's own: a partition of Slurm, a local queue of Kueue.
	Queue string
	// Retries bounds how often the engine may start it again; 0: never, because an agent cannot be repeated.
	Retries int
}

// RunArguments returns the arguments of plimsoll on the machine that the job is placed on, with more flags than its own.
func (j *Job) RunArguments(more ...string) []string {
	return slices.Concat([]string{"run"}, j.Flags, more, []string{"--"}, j.Argv)
}

// Bounds of what is handed over. The kernel takes no argument of 128 KiB or more.
const (
	MaxID   = 52
	MaxArgv = 1 << 20
	maxWord = 128<<10 - 1
)

// CheckID returns an error for a name that not every engine takes: it is a label of DNS of at most [MaxID] bytes.
func CheckID(id string) error {
	good := id != "" && len(id) <= MaxID && id[0] >= 'a' && id[len(id)-1] != '-'
	for _, c := range id {
		good = good && (c == '-' || isLabelLetter(c))
	}
	if !good {
		return fmt.Errorf("the name %q: a job's name has at most %d small letters, digits and hyphens, and begins with a letter", limit.Short(id, 64), MaxID)
	}
	return nil
}

// isLabelLetter reports whether a label of DNS may consist of such characters: small letters and digits.
func isLabelLetter(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }

// NewID returns a new name for a job: the letters, digits and hyphens of the tool's name, at most 40 of them, and a random ending.
func NewID(tool string) string {
	words := strings.FieldsFunc(strings.ToLower(tool), func(c rune) bool { return !isLabelLetter(c) })
	name := strings.Trim(strings.Join(words, "-"), "-0123456789")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	name = cmp.Or(name, "job")
	return name + "-" + strings.ToLower(rand.Text()[:6])
}

// Check returns an error for a job that no engine could run as it is.
func (j *Job) Check() error {
	if err := CheckID(j.ID); err != nil {
		return err
	}
	total := int64(0)
	for _, word := range slices.Concat(j.Argv, j.Env) {
		total += int64(len(word)) + 1
		switch {
		case strings.IndexByte(word, 0) >= 0:
			return fmt.Errorf("an argument holds a zero byte, which no program can be given")
		case len(word) > maxWord:
			return fmt.Errorf("an argument has %s, and a program can be given no more than %s in one: put it into a file",
				limit.Bytes(len(word)).Human(), limit.Bytes(maxWord+1).Human())
		}
	}
	switch {
	case len(j.Argv) == 0:
		return fmt.Errorf("no command given; write it after --, as in: plimsoll submit -- claude -p \"fix the tests\"")
	case total > MaxArgv:
		return fmt.Errorf("the command and its variables have %s, and a job takes %s of them: put what is large into a file", limit.Bytes(total).Human(), limit.Bytes(MaxArgv).Human())
	}
	return nil
}

// Phase is a stage of a job.
type Phase string

// Phases of a job, in their order. Lost is the phase of one that its engine no longer knows, without a result.
const (
	Queued   Phase = "queued"
	Starting Phase = "starting"
	Running  Phase = "running"
	Ended    Phase = "ended"
	Lost     Phase = "lost"
)

// Over reports whether nothing will come after the phase.
func (p Phase) Over() bool { return p == Ended || p == Lost }

// Status describes a job, by its engine.
type Status struct {
	Phase Phase `json:"phase"`
	// Reason is the engine's own word for the phase: Unschedulable, Licenses, Priority, OOMKilled.
	Reason string `json:"reason,omitempty"`
	// Detail is its sentence about that, "" for none.
	Detail string `json:"detail,omitempty"`
	// Node is the machine that it is on, "" before that is decided.
	Node string `json:"node,omitempty"`
	// ExitCode and Signal tell how it ended. A job that a signal has ended has an ExitCode of 128 and more.
	ExitCode int       `json:"exit_code,omitempty"`
	Signal   string    `json:"signal,omitempty"`
	Started  time.Time `json:"started,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	// Report comes from its plimsoll, nil where nothing came back. The store keeps it beside the record.
	Report *journal.Report `json:"-"`
}

// FullReason returns the reason with the sentence about it; "" if neither is known.
func (s *Status) FullReason() string {
	return strings.Join(slices.DeleteFunc([]string{s.Reason, s.Detail}, func(s string) bool { return s == "" }), ": ")
}

// outcomes translates the engines' own words into those of a report.
var outcomes = map[string]journal.Outcome{
	"OUT_OF_MEMORY": journal.OutcomeOOM, "OOMKilled": journal.OutcomeOOM,
	"TIMEOUT": journal.OutcomeLimit, "DEADLINE": journal.OutcomeLimit, "DeadlineExceeded": journal.OutcomeLimit,
	"CANCELLED": journal.OutcomeSignalled, "PREEMPTED": journal.OutcomeSignalled, "Evicted": journal.OutcomeSignalled,
	"PreemptionByScheduler": journal.OutcomeSignalled, "EvictionByEvictionAPI": journal.OutcomeSignalled, "DeletionByTaintManager": journal.OutcomeSignalled,
	"DeletionByPodGC": journal.OutcomeSignalled, "TerminationByKubelet": journal.OutcomeSignalled,
	"Preempted": journal.OutcomeSignalled,
}

// Outcome returns how a job has ended: the outcome in its report if it left one, else by the engine's reason, the signal or the exit status.
func (s *Status) Outcome() journal.Outcome {
	switch outcome, known := outcomes[s.Reason]; {
	case s.Report != nil:
		return s.Report.Outcome
	case known:
		return outcome
	case s.Signal != "":
		return journal.OutcomeSignalled
	case s.ExitCode == 0:
		return journal.OutcomeOK
	}
	return journal.OutcomeFailed
}

// Ref names a job that was handed over.
type Ref struct {
	// ID is [Job.ID], At the engine's own name for it: the number of a job of Slurm, say.
	ID string `json:"id"`
	At string `json:"at"`
	// Folder is [Job.Folder].
	Folder string `json:"-"`
}

// Engine places jobs. Its methods may be called by several goroutines at once. Each is bounded by its context.
type Engine interface {
	// Plan returns what Submit would hand over, for a person.
	Plan(j *Job) (string, error)
	// Submit hands a job over and returns the engine's name for it, [Ref].At. When it fails, nothing of the job is left at the engine.
	Submit(ctx context.Context, j *Job) (at string, err error)
	// Status asks what jobs are at, all at once. The answer is by ID and leaves out what the engine does not know. An error means that it
	// did not answer.
	Status(ctx context.Context, refs []Ref) (map[string]Status, error)
	// Output copies what the job writes, from its first byte until it has ended, as it comes. Where an engine has one stream only, all of it
	// goes to out.
	Output(ctx context.Context, ref Ref, out, err io.Writer) error
	// Cancel ends a job. It is no error if that had ended.
	Cancel(ctx context.Context, ref Ref) error
}

// maxMessage bounds a report in a container's termination message, in bytes: of the last 4,096 bytes some are for what is said before it.
const maxMessage = 3 << 10

// FormatMessage returns a report as one line for a container's termination message, which the engine hands on. If it is too long, parts of it are
// left out, the least important first; nil if even the figures alone are too long.
func FormatMessage(r *journal.Report) []byte {
	short := *r
	for _, shorten := range []func(){
		func() {},
		func() { short.Window.NoProxy, short.Remembers, short.Limits = "", "", nil },
		func() { short.Orphans, short.Leftovers, short.Warnings = nil, nil, nil },
		func() { short.KilledChildren = short.KilledChildren[:min(len(short.KilledChildren), 3)] },
		func() { short.Command = short.Command[:min(len(short.Command), 1)] },
		func() { // the figures alone
			short.Command, short.KilledChildren, short.Window, short.MCP, short.Editor = nil, nil, journal.Window{}, journal.MCP{}, journal.Editor{}
			short.Tool, short.Variant, short.Project, short.Resume = "", "", "", ""
		},
	} {
		shorten()
		if text, err := json.Marshal(short); err == nil && len(text) < maxMessage {
			return append(text, '\n')
		}
	}
	return nil
}

// ParseMessage takes a termination message apart: what was said, and the report, nil where there is none.
func ParseMessage(message string) (said string, r *journal.Report) {
	i := strings.LastIndex("\n"+message, "\n{")
	if i < 0 || json.Unmarshal([]byte(message[i:]), &r) != nil || r == nil || r.Schema != journal.ReportSchema {
		return message, nil
	}
	return message[:i], r
}
