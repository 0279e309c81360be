// Package slurm hands jobs to Slurm by its own commands: sbatch, squeue, scancel, and sacct where there is accounting.
//
//	engine := slurm.New(slurm.Options{Told: warn})
//	at, err := engine.Submit(ctx, &job)
//
// The batch script is two lines. It starts a file in the folder of the job, which belongs to its user alone, with the command and the variables in
// it: neither goes through Slurm's controller, into its spool or its accounting. What the job writes, and its report, come to the same folder,
// so that has to be on a file system which the nodes share, as home directories of a cluster are.
//
// squeue is asked for columns of a fixed width, which every version has. Its --json is not used: that of 22.05 does not keep to the jobs that
// are named, and writes 4 KB about each job of the cluster.
package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/shellwords"
	"github.com/plimsoll/plimsoll/limit"
)

// Engine is a Slurm, the one that its commands find here. It implements [jobs.Engine].
type Engine struct {
	told func(text string)
}

// New returns an engine, which asks nothing yet. told is called with what the submitter should know.
func New(told func(text string)) *Engine { return &Engine{told} }

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

// jobMemory returns the memory that a job asks Slurm for whose run has this limit.
func jobMemory(runLimit limit.Bytes) limit.Bytes { return runLimit + max(margin, runLimit/30) }

// runCommand runs one of Slurm's commands with this standard input and returns its output. The error has what the command said.
func runCommand(ctx context.Context, input, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = environ(os.Environ())
	cmd.Stdin = strings.NewReader(input)
	cmd.WaitDelay = time.Second
	out, errs := &limit.Head{Max: maxAnswer}, &limit.Head{Max: maxSaid}
	cmd.Stdout, cmd.Stderr = out, errs
	err := cmd.Run()
	said := strings.Join(strings.Fields(strings.ReplaceAll(errs.String(), name+": error: ", "")), " ")
	switch {
	case err == nil && out.Cut():
		err = fmt.Errorf("it answered more than %s", limit.Bytes(maxAnswer).Human())
	case err == nil:
		return out.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", fmt.Errorf("%s is not in PATH: Slurm's commands have to be installed where plimsoll submits", name)
	case ctx.Err() != nil && said != "":
		err = fmt.Errorf("%w; it said: %s", context.Cause(ctx), said)
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case said != "":
		err = errors.New(said)
	}
	return "", fmt.Errorf("%s: %w", name, err)
}

// ofSlurm are Slurm's variables. Those that are chosen say where jobs go; the others would change what is asked for, or travel.
var (
	ofSlurm = lazy.Regexp(`^(SLURM|SBATCH|SQUEUE|SCANCEL|SACCT)_`)
	chosen  = lazy.Regexp(`^(SLURM_(CONF|CLUSTERS|JWT)|SBATCH_(PARTITION|ACCOUNT|QOS|RESERVATION|CONSTRAINT|CLUSTERS))=`)
)

// environ returns the variables with which Slurm's commands run: all but those of Slurm that would change what is asked for.
func environ(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(e string) bool { return ofSlurm().MatchString(e) && !chosen().MatchString(e) })
}

// sbatchArguments returns the arguments of sbatch for a job.
func sbatchArguments(j *jobs.Job) []string {
	args := []string{
		"--parsable", "--job-name=" + j.ID, "--export=NONE", "--nodes=1", "--ntasks=1", "--chdir=" + j.Dir, "--open-mode=append",
		"--output=" + escapePattern(filepath.Join(j.Folder, jobs.OutName)), "--error=" + escapePattern(filepath.Join(j.Folder, jobs.ErrName)),
	}
	if j.MemoryLimit > 0 {
		args = append(args, fmt.Sprintf("--mem=%dM", (jobMemory(j.MemoryLimit)+limit.MiB-1)/limit.MiB))
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

// escapePattern writes a path so that sbatch puts nothing in place of its parts.
func escapePattern(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// Plan implements [jobs.Engine].
func (e *Engine) Plan(j *jobs.Job) (string, error) {
	return "sbatch " + strings.Join(append(sbatchArguments(j), "…", "plimsoll", strings.Join(j.RunArguments(), " ")), " "), nil
}

// startScript returns the shell script that starts a job. Slurm starts a job again after a node has died, a preemption or scontrol requeue; the
// script ends with status 125 if that has happened more often than --retry allows.
func startScript(j *jobs.Job, program string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!/bin/sh\nif [ \"${SLURM_RESTART_COUNT:-0}\" -gt %d ]; then\n", j.Retries)
	fmt.Fprintf(&b, "\techo \"plimsoll: Slurm has started this job again ${SLURM_RESTART_COUNT} times, and --retry allows %d\" >&2\n\texit 125\nfi\n", j.Retries)
	for _, e := range append(j.Env, "PLIMSOLL_JOB="+j.ID) {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(&b, "export %s=%s\n", name, shellwords.Quote(value))
	}
	fmt.Fprintf(&b, "exec %s", shellwords.Quote(program))
	for _, word := range j.RunArguments("--report=" + filepath.Join(j.Folder, jobs.ReportName)) {
		b.WriteString(" " + shellwords.Quote(word))
	}
	b.WriteString("\n")
	return b.String()
}

// Submit implements [jobs.Engine]: it writes the script and the files for the output, and runs sbatch. If it is not known whether the job
// was queued, it cancels it by its name.
func (e *Engine) Submit(ctx context.Context, j *jobs.Job) (string, error) {
	program, err := os.Executable() // it is under the same path there
	if err != nil {
		return "", err
	}
	start := filepath.Join(j.Folder, jobs.StartName)
	if strings.ContainsAny(start, "\n\\") {
		return "", fmt.Errorf("the folder %q has a line break or a backslash in its name, which sbatch does not take: set PLIMSOLL_STATE_DIR", j.Folder)
	}
	placed := *j
	if placed.Slots, err = e.filterLicensed(ctx, j.Slots); err != nil {
		return "", err
	}
	if err := atomicfile.Write(start, []byte(startScript(j, program)), 0o600, atomicfile.DurableContent); err != nil {
		return "", err
	}
	out, errs, err := jobs.OpenOutput(j.Folder) // slurmd would let everybody read them
	if err != nil {
		return "", err
	}
	_, _ = out.Close(), errs.Close()
	answer, err := runCommand(ctx, "#!/bin/sh\nexec /bin/sh "+shellwords.Quote(start)+"\n", "sbatch", sbatchArguments(&placed)...)
	at := strings.TrimSpace(answer)
	switch {
	case err == nil && numbered().MatchString(at):
		return at, nil
	case err == nil:
		err = fmt.Errorf("sbatch has answered %q, which is no number of a job", limit.Short(at, 80))
	}
	// It may have been queued all the same, by an sbatch that has no answer yet.
	if ctx.Err() != nil || answer != "" {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
		defer cancel()
		if _, cleanErr := runCommand(clean, "", "scancel", "--name="+j.ID); cleanErr != nil {
			err = fmt.Errorf("%w; it may be queued all the same: squeue --name=%s", err, j.ID)
		}
	}
	for _, n := range nextSteps {
		if strings.Contains(err.Error(), n.said) {
			return "", fmt.Errorf("%w; %s", err, n.next)
		}
	}
	return "", err
}

// nextSteps tell what to do about what sbatch says.
var nextSteps = []struct{ said, next string }{
	{"invalid partition", "sinfo lists the partitions; name one with --queue"},
	{"Invalid account", "name yours with SBATCH_ACCOUNT"},
	{"Requested node config", "no node has as much memory, or as many processors: --memory-max and --cpus set what is asked for"},
	{"Memory specification", "--memory-max sets what is asked for"},
	{"configuration source", "no Slurm is set up on this host: SLURM_CONF names the configuration of one"},
	{"Unable to contact", "is slurmctld running, and does SLURM_CONF name its configuration?"},
	{"accounting/QOS policy", "the account or the QOS bounds what may be queued: sacctmgr show assoc shows it"},
}

// filterLicensed returns the slots for which Slurm has a licence of that name. For each of the others it tells that every node counts for itself.
func (e *Engine) filterLicensed(ctx context.Context, slots map[string]int) (map[string]int, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	answer, err := runCommand(ctx, "", "scontrol", "--oneliner", "show", "licenses")
	if err != nil {
		return nil, err
	}
	known := map[string]int{}
	for name, n := range slots {
		if strings.Contains("\n"+answer, "\nLicenseName="+name+" ") {
			known[name] = n
			continue
		}
		e.told(fmt.Sprintf("Slurm has no licence %s, so each node counts how many run at once (max_concurrent): Licenses=%[1]s:3 in slurm.conf counts them over all", name))
	}
	return known, nil
}

// numbered is an answer of sbatch: the number of a job, with the cluster that has it where there are several.
var numbered = lazy.Regexp(`^(\d{1,10})(?:;([\w.-]{1,64}))?$`)

// splitNumber returns the number of a job and its cluster, "" for the only one.
func splitNumber(at string) (number, cluster string) {
	if m := numbered().FindStringSubmatch(at); m != nil {
		return m[1], m[2]
	}
	return "0", ""
}

// clusterFlag returns the option that names a cluster, as arguments; nil for "".
func clusterFlag(cluster string) []string {
	if cluster == "" {
		return nil
	}
	return []string{"--clusters=" + cluster}
}

// unknownJob stands in the error of a command for a job that Slurm does not know.
const unknownJob = "Invalid job id"

// Cancel implements [jobs.Engine]. The job gets SIGTERM, and after Slurm's KillWait SIGKILL. A job that Slurm does not know any more is no
// error.
func (e *Engine) Cancel(ctx context.Context, ref jobs.Ref) error {
	number, cluster := splitNumber(ref.At)
	// By both: a number that another cluster of the same name has given to somebody else's job is left alone.
	_, err := runCommand(ctx, "", "scancel", append(clusterFlag(cluster), "--name="+ref.ID, number)...)
	if err != nil && strings.Contains(err.Error(), unknownJob) {
		return nil
	}
	return err
}

// Output implements [jobs.Engine]: it reads the files in the job's folder, see [jobs.Tail].
func (e *Engine) Output(ctx context.Context, ref jobs.Ref, out, errs io.Writer) error {
	return jobs.Tail(ctx, e, ref, out, errs)
}
