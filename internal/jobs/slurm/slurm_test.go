package slurm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/limit"
)

// Lines of squeue 22.05.8, as it writes them.
const (
	licences = "4                   |c1                                                          |PENDING             |0           |                                                                                |N/A                 |N/A                 |0       |Licenses                                                                                            "
	running  = "1                   |j1                                                          |RUNNING             |0           |n0                                                                              |2026-11-29T15:39:02 |2027-11-29T15:39:02 |2       |None                                                                                                "
	failed   = "3                   |j3                                                          |FAILED              |768         |n1                                                                              |2026-11-29T15:39:02 |2026-11-29T15:39:08 |0       |NonZeroExitCode                                                                                     "
	killed   = "5                   |j5                                                          |TIMEOUT             |15          |n[0-1]                                                                          |2026-11-29T15:39:02 |2026-11-29T15:39:08 |0       |TimeLimit                                                                                           "
)

func at(text string) time.Time {
	t, _ := time.ParseInLocation("2006-01-02 15:04:05", text, time.Local)
	return t.UTC()
}

func TestLinesOfSlurm(t *testing.T) {
	began, ended := at("2026-11-29 15:39:02"), at("2026-11-29 15:39:08")
	for line, want := range map[string]jobs.Status{
		licences: {Phase: jobs.Queued, Reason: "Licenses"},
		running:  {Phase: jobs.Running, Node: "n0", Detail: "Slurm has started it again, 2 times so far", Started: began},
		failed:   {Phase: jobs.Ended, Node: "n1", Reason: "FAILED", ExitCode: 3, Started: began, Ended: ended},
		killed:   {Phase: jobs.Ended, Node: "n[0-1]", Reason: "TIMEOUT", ExitCode: 143, Started: began, Ended: ended},
		// of sacct
		"7|j7|CANCELLED by 1000|0:15|n2|2026-11-29T15:39:02|2026-11-29T15:39:08": {Phase: jobs.Ended, Reason: "CANCELLED", ExitCode: 143, Node: "n2", Started: began, Ended: ended},
		"7|j7|OUT_OF_MEMORY|0:0|n2|Unknown|Unknown":                              {Phase: jobs.Ended, Reason: "OUT_OF_MEMORY", ExitCode: 1, Node: "n2"},
		"7|j7|FAILED|3:0|n2|Unknown|Unknown":                                     {Phase: jobs.Ended, Reason: "FAILED", ExitCode: 3, Node: "n2"},
		"7|j7|PENDING|0:0|None assigned|Unknown|Unknown":                         {Phase: jobs.Queued, Reason: "PENDING", Node: "None assigned"},
	} {
		number, name, got, ok := parseLine(line)
		if !ok || got != want || name != "j"+number && name != "c1" {
			t.Errorf("%s: %s %s\n%+v\nwant %+v", line, number, name, got, want)
		}
	}
	for _, line := range []string{"", "CLUSTER: one", "x", strings.Repeat(" ", 400), strings.Repeat("|", 8), "7|j7|COMPLETED"} {
		if _, _, s, ok := parseLine(line); ok {
			t.Errorf("%q is %+v", line, s)
		}
	}
}

func TestArgumentsOfSbatch(t *testing.T) {
	j := jobs.Job{
		ID: "make-1", Dir: "/home/u/web", Folder: "/home/u/100%/jobs/make-1", MemoryLimit: 300 * limit.MiB, CPUs: 1.5, Time: 2*time.Hour + time.Second,
		Slots: map[string]int{"codex": 2, "claude": 1}, Queue: "long", Retries: 1,
	}
	got := sbatchArguments(&j)
	for _, want := range []string{
		"--export=NONE", "--mem=364M", "--cpus-per-task=2", "--time=122", "--licenses=claude:1,codex:2", "--partition=long", "--requeue",
		"--output=/home/u/100%%/jobs/make-1/out",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing: %v", want, got)
		}
	}
	bare := sbatchArguments(&jobs.Job{ID: "a"})
	if slices.ContainsFunc(bare, func(a string) bool {
		return strings.HasPrefix(a, "--mem") || strings.HasPrefix(a, "--time") || strings.HasPrefix(a, "--lic")
	}) || !slices.Contains(bare, "--no-requeue") {
		t.Errorf("what nobody has asked for: %v", bare)
	}
	// A run keeps a thirty-second part of the job free, and at least 16 MiB.
	for _, run := range []limit.Bytes{limit.MiB, 500 * limit.MiB, 4 * limit.GiB, limit.TiB} {
		if all := jobMemory(run); run > all-max(all/32, 16*limit.MiB) {
			t.Errorf("%s does not fit into a job of %s", run.Human(), all.Human())
		}
	}
}

// Of the submitter's environment sbatch gets what chooses the cluster and the queue, and nothing that would go with the job or change it.
func TestVariablesForSlurm(t *testing.T) {
	got := environ([]string{"PATH=/bin", "SLURM_CONF=/c", "SLURM_JOB_ID=4", "SBATCH_WAIT=1", "SBATCH_EXPORT=ALL", "SBATCH_ACCOUNT=a", "SQUEUE_FORMAT=x", "SLURMX=1"})
	if want := []string{"PATH=/bin", "SLURM_CONF=/c", "SBATCH_ACCOUNT=a", "SLURMX=1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// commands puts shell scripts into PATH under the names of Slurm's commands: a Slurm that answers as a real one does not on demand.
func commands(t *testing.T, scripts map[string]string) {
	t.Helper()
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func folder(t *testing.T) *jobs.Job {
	return &jobs.Job{ID: "make-1", Argv: []string{"true"}, Dir: "/", Folder: t.TempDir()}
}

func TestASlurmThatDoesNotAnswer(t *testing.T) {
	cancelled := filepath.Join(t.TempDir(), "cancelled")
	commands(t, map[string]string{"sbatch": "echo retrying >&2; exec sleep 60", "squeue": "exec sleep 60", "scancel": "echo $* >" + cancelled})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("too slow"))
	defer cancel()
	e := New(nil)
	if _, err := e.Submit(ctx, folder(t)); err == nil || !strings.Contains(err.Error(), "sbatch: too slow") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(cancelled); string(text) != "--name=make-1\n" {
		t.Errorf("what may be queued was not taken back: %q, %v", text, err)
	}
	if _, err := e.Status(ctx, []jobs.Ref{{ID: "make-1", At: "4"}}); err == nil || !strings.Contains(err.Error(), "too slow") {
		t.Errorf("%v", err)
	}
}

func TestAnswersOfSbatch(t *testing.T) {
	for answer, want := range map[string]string{
		"12": "12", "12;east": "12;east", "Submitted batch job 12": "", "": "", "12;a b": "", "-1": "", "12; rm": "",
	} {
		commands(t, map[string]string{"sbatch": "cat >/dev/null; echo '" + answer + "'", "scancel": "exit 0"})
		at, err := New(nil).Submit(t.Context(), folder(t))
		if at != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v", answer, at, err)
		}
	}
}

func TestAnswersOfSqueue(t *testing.T) {
	refs := []jobs.Ref{{ID: "c1", At: "4"}, {ID: "other", At: "1"}, {ID: "far", At: "3;east"}}
	commands(t, map[string]string{
		"squeue": `case "$*" in *east*) echo 'CLUSTER: east'; echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1;; esac
cat <<'E'
` + licences + "\n" + running + "\nE\n",
		"sacct": "echo 'Slurm accounting storage is disabled' >&2; exit 1",
	})
	got, err := New(nil).Status(t.Context(), refs)
	if err != nil || len(got) != 1 || got["c1"].Reason != "Licenses" { // number 1 has another name: it is somebody else's
		t.Errorf("%+v, %v", got, err)
	}
	commands(t, map[string]string{"squeue": "head -c 5000000 /dev/zero"})
	if _, err := New(nil).Status(t.Context(), refs[:1]); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("an answer without an end: %v", err)
	}
	commands(t, map[string]string{"squeue": "echo 'squeue: error: 500' >&2; exit 1"})
	if _, err := New(nil).Status(t.Context(), refs[:1]); err == nil || err.Error() != "squeue: 500" {
		t.Errorf("%v", err)
	}
}

// What the start file says is what the command gets, whatever is in it.
func TestNothingInACommandIsTheShells(t *testing.T) {
	commands(t, map[string]string{"plimsoll": `for a; do printf '%s\0' "$a"; done; printf '%s' "$ODD"`})
	self := filepath.Join(strings.Split(os.Getenv("PATH"), ":")[0], "plimsoll")
	words := []string{"a b", "it's", "$(id)", "`id`", "\n#SBATCH --mem=1", "cr\r\nlf", `\n"x"`, "*", "-n", "", "é\xff", "~", "!"}
	j := folder(t)
	j.Argv, j.Env = words, []string{"ODD=v'a\nl $x"}
	commands(t, map[string]string{"sbatch": "cat >" + j.Folder + "/script; echo 7"})
	if _, err := New(nil).Submit(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(j.Folder, jobs.StartName), []byte(startScript(j, self)), 0); err != nil { // in the place of this test
		t.Fatal(err)
	}
	out, err := runCommand(t.Context(), "", "/bin/sh", filepath.Join(j.Folder, "script"))
	_, got, found := strings.Cut(out, "\x00--\x00")
	if want := strings.Join(words, "\x00") + "\x00v'a\nl $x"; err != nil || !found || got != want {
		t.Errorf("%q\nwant %q, %v", got, want, err)
	}
	if info, err := os.Stat(filepath.Join(j.Folder, jobs.StartName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	t.Setenv("SLURM_RESTART_COUNT", "1") // more often than --retry allows: environ keeps it from Slurm's own commands, so by env
	if out, err := runCommand(t.Context(), "", "env", "SLURM_RESTART_COUNT=1", "/bin/sh", filepath.Join(j.Folder, "script")); err == nil || out != "" || !strings.Contains(err.Error(), "--retry allows 0") {
		t.Errorf("%q, %v", out, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{licences, running, failed, killed, "", "1", "7|j7|CANCELLED by 1000|0:15|n2|2026-11-29T15:39:02|Unknown"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if _, _, s, ok := parseLine(line); ok && (s.Phase == "" || s.Phase == jobs.Lost || len(s.Reason) > len(line) || s.Phase == jobs.Ended && s.Reason != "COMPLETED" && s.ExitCode == 0) {
			t.Errorf("%+v", s)
		}
	})
}
