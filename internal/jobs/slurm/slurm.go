package slurm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// Options of an engine.
type Options struct {
	// Told is called with what the submitter should know; nil drops it.
	Told func(text string)
	// Program is the path of plimsoll on the nodes; "" is that of this process.
	Program string
}

// Engine is a Slurm, the one that its commands find here. It implements [jobs.Engine].
type Engine struct{ o Options }

// New returns an engine, which asks nothing yet.
func New(o Options) *Engine {
	if o.Told == nil {
		o.Told = func(string) {}
	}
	return &Engine{o}
}

const (
	// maxAnswer bounds what is read of a command's output, in bytes; maxSaid what is told of its errors.
	maxAnswer = 4 << 20
	maxSaid   = 400
	// cleanTime bounds the attempt to take back a job of which it is not known whether Slurm has it.
	cleanTime = 10 * time.Second
	// margin is the memory of plimsoll itself and the shell around it beside the limit of the run; where that is large, a thirtieth of it: a run keeps
	// a thirty-second part of what the job has free.
	margin = 64 * limit.MiB
)

// around returns the memory of a job whose run has this limit.
func around(run limit.Bytes) limit.Bytes { return run + max(margin, run/30) }

// call runs one of Slurm's commands and returns its output.
func call(ctx context.Context, input, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = environ(os.Environ())
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	out, errs := capped{most: maxAnswer}, capped{most: maxSaid}
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	said := strings.Join(strings.Fields(strings.ReplaceAll(errs.kept.String(), name+": error: ", "")), " ")
	switch {
	case err == nil && out.cut:
		return "", fmt.Errorf("%s answered more than %s", name, limit.Bytes(maxAnswer).Human())
	case err == nil:
		return out.kept.String(), nil
	case ctx.Err() != nil && said != "":
		return "", fmt.Errorf("%s: %w; it said: %s", name, context.Cause(ctx), said)
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", name, context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s is not in PATH: Slurm's commands have to be installed where plimsoll submits", name)
	case said != "":
		return "", fmt.Errorf("%s: %s", name, said)
	}
	return "", fmt.Errorf("%s: %w", name, err)
}

// capped keeps the first bytes that are written to it.
type capped struct {
	kept bytes.Buffer
	most int
	cut  bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := c.most - c.kept.Len()
	c.cut = c.cut || len(p) > room
	c.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}

// chosen are Slurm's variables by which a submitter chooses where jobs go; others of Slurm's would change what is asked for, or travel.
var chosen = []string{
	"SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "SBATCH_PARTITION", "SBATCH_ACCOUNT", "SBATCH_QOS", "SBATCH_RESERVATION", "SBATCH_CONSTRAINT", "SBATCH_CLUSTERS",
}

func environ(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return !slices.Contains(chosen, name) && slices.ContainsFunc([]string{"SLURM", "SBATCH", "SQUEUE", "SCANCEL", "SACCT"}, func(p string) bool { return strings.HasPrefix(name, p+"_") })
	})
}

// arguments returns those of sbatch.
func (e *Engine) arguments(j *jobs.Job) []string {
	args := []string{
		"--parsable", "--job-name=" + j.ID, "--export=NONE", "--nodes=1", "--ntasks=1", "--chdir=" + j.Dir, "--open-mode=append",
		"--output=" + pattern(filepath.Join(j.Folder, jobs.OutName)), "--error=" + pattern(filepath.Join(j.Folder, jobs.ErrName)),
	}
	if j.MemoryLimit > 0 {
		args = append(args, fmt.Sprintf("--mem=%dM", (around(j.MemoryLimit)+limit.MiB-1)/limit.MiB))
	}
	if j.CPUs > 0 {
		args = append(args, fmt.Sprintf("--cpus-per-task=%d", max(1, int(math.Ceil(j.CPUs)))))
	}
	if j.Time > 0 { // a minute more, so that it is plimsoll that ends the run
		args = append(args, fmt.Sprintf("--time=%d", int(math.Ceil(j.Time.Minutes()))+1))
	}
	var licences []string
	for name, n := range j.Slots {
		licences = append(licences, fmt.Sprintf("%s:%d", name, n))
	}
	if len(licences) > 0 {
		slices.Sort(licences)
		args = append(args, "--licenses="+strings.Join(licences, ","))
	}
	if j.Queue != "" {
		args = append(args, "--partition="+j.Queue)
	}
	return append(args, map[bool]string{true: "--requeue", false: "--no-requeue"}[j.Retries > 0])
}

// pattern writes a path so that sbatch puts nothing in place of its parts.
func pattern(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// Plan implements [jobs.Engine].
func (e *Engine) Plan(j *jobs.Job) (string, error) {
	return "sbatch " + strings.Join(append(e.arguments(j), "…", "plimsoll", strings.Join(j.Run(), " ")), " "), nil
}

// script returns the file by which a job starts. Slurm starts a job again after a node has died, a preemption or scontrol requeue, and
// --retry bounds that.
func script(j *jobs.Job, program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\nif [ \"${SLURM_RESTART_COUNT:-0}\" -gt %d ]; then\n", j.Retries)
	fmt.Fprintf(&b, "\techo \"plimsoll: Slurm has started this job again ${SLURM_RESTART_COUNT} times, and --retry allows %d\" >&2\n\texit 125\nfi\n", j.Retries)
	for _, e := range append(j.Env, "PLIMSOLL_JOB="+j.ID) {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "export %s=%s\n", name, quote(value))
	}
	fmt.Fprintf(&b, "exec %s", quote(program))
	for _, word := range j.Run("--report=" + filepath.Join(j.Folder, jobs.ReportName)) {
		b.WriteString(" " + quote(word))
	}
	b.WriteString("\n")
	return b.String()
}

// quote writes a word for sh. Within single quotes nothing has a meaning but the quote itself.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Submit implements [jobs.Engine].
func (e *Engine) Submit(ctx context.Context, j *jobs.Job) (string, error) {
	program := e.o.Program
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return "", err
		}
	}
	start := filepath.Join(j.Folder, jobs.StartName)
	if strings.Contains(start, "\n") || strings.Contains(start, `\`) {
		return "", fmt.Errorf("the folder %q has a line break or a backslash in its name, which sbatch does not take: set PLIMSOLL_STATE_DIR", j.Folder)
	}
	placed := *j
	var err error
	if placed.Slots, err = e.licensed(ctx, j.Slots); err != nil {
		return "", err
	}
	if err := atomicfile.Write(start, []byte(script(j, program)), 0o600, atomicfile.DurableContent); err != nil {
		return "", err
	}
	for _, name := range []string{jobs.OutName, jobs.ErrName} { // slurmd would let everybody read them
		f, err := statefile.Open(filepath.Join(j.Folder, name), os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return "", err
		}
		_ = f.Close()
	}
	answer, err := call(ctx, "#!/bin/sh\nexec /bin/sh "+quote(start)+"\n", "sbatch", e.arguments(&placed)...)
	if err == nil {
		if at := strings.TrimSpace(answer); isNumber(at) {
			return at, nil
		}
		err = fmt.Errorf("sbatch has answered %q, which is no number of a job", limit.Short(strings.TrimSpace(answer), 80))
	}
	// It may have been queued all the same, by an sbatch that has no answer yet.
	if ctx.Err() != nil || answer != "" {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
		defer cancel()
		if _, cleanErr := call(clean, "", "scancel", "--name="+j.ID); cleanErr != nil {
			err = fmt.Errorf("%w; it may be queued all the same: squeue --name=%s", err, j.ID)
		}
	}
	return "", withNextStep(err)
}

// isNumber reports whether a text is the number of a job, with the cluster that has it where there are several.
func isNumber(at string) bool {
	number, cluster, named := strings.Cut(at, ";")
	_, err := strconv.ParseUint(number, 10, 32)
	return err == nil && named == (cluster != "") && len(cluster) <= 64 && !strings.ContainsFunc(cluster, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_.-", c)
	})
}

// nextSteps tell what to do about what sbatch says.
var nextSteps = []struct{ said, next string }{
	{"invalid partition", "sinfo lists the partitions; name one with --queue"},
	{"Invalid account", "name yours with SBATCH_ACCOUNT"},
	{"Requested node config", "no node has as much memory, or as many processors: --memory-max and --cpus set what is asked for"},
	{"Memory specification", "--memory-max sets what is asked for"},
	{"Unable to contact", "is slurmctld running, and does SLURM_CONF name its configuration?"},
	{"accounting/QOS policy", "the account or the QOS bounds what may be queued: sacctmgr show assoc shows it"},
}

func withNextStep(err error) error {
	for _, n := range nextSteps {
		if strings.Contains(err.Error(), n.said) {
			return fmt.Errorf("%w; %s", err, n.next)
		}
	}
	return err
}

// licensed returns the slots for which Slurm has a licence of that name. The others are counted by each node for itself, which is said.
func (e *Engine) licensed(ctx context.Context, slots map[string]int) (map[string]int, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	answer, err := call(ctx, "", "scontrol", "--oneliner", "show", "licenses")
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	for name, n := range slots {
		if strings.Contains("\n"+answer, "\nLicenseName="+name+" ") {
			known[name] = n
			continue
		}
		e.o.Told(fmt.Sprintf("Slurm has no licence %s, so each node counts how many run at once (max_concurrent): Licenses=%[1]s:3 in slurm.conf counts them over all", name))
	}
	return known, nil
}

// Cancel implements [jobs.Engine]. The job gets SIGTERM, and after Slurm's KillWait SIGKILL.
func (e *Engine) Cancel(ctx context.Context, ref jobs.Ref) error {
	number, cluster := split(ref.At)
	// By both: a number that another cluster of the same name has given to somebody else's job is left alone.
	args := append(cluster, "--name="+ref.ID, strconv.Itoa(number))
	_, err := call(ctx, "", "scancel", args...)
	if err != nil && strings.Contains(err.Error(), "Invalid job id") {
		return nil
	}
	return err
}

// split returns the number of a job, and the option that names its cluster.
func split(at string) (number int, cluster []string) {
	text, name, named := strings.Cut(at, ";")
	number, _ = strconv.Atoi(text)
	if named {
		cluster = []string{"--clusters=" + name}
	}
	return number, cluster
}

// Output implements [jobs.Engine]. That the job is over is asked seldom at first and more often once its report is there.
func (e *Engine) Output(ctx context.Context, ref jobs.Ref, out, errs io.Writer) error {
	pause, next, failures := firstPause, time.Now(), 0
	report := filepath.Join(ref.Folder, jobs.ReportName)
	return jobs.Tail(ctx, ref.Folder, out, errs, func(ctx context.Context) (bool, error) {
		if _, err := os.Lstat(report); err == nil {
			pause = firstPause
		} else if time.Now().Before(next) {
			return false, nil
		}
		next, pause = time.Now().Add(pause), min(2*pause, lastPause)
		asked, cancel := context.WithTimeout(ctx, cleanTime)
		defer cancel()
		answers, err := e.Status(asked, []jobs.Ref{ref})
		if err != nil {
			if failures++; failures > maxFailures {
				return false, err
			}
			return false, nil
		}
		failures = 0
		at, known := answers[ref.ID]
		return !known || at.Phase.Over(), nil
	})
}

// Between two questions whether a job is over, and how many of them in a row Slurm may leave without an answer: some five minutes.
const (
	firstPause  = 500 * time.Millisecond
	lastPause   = 10 * time.Second
	maxFailures = 30
)
