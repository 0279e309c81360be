package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A real Slurm of three nodes, one of them on its own in a partition: what is submitted to it behaves like a command, and every end is told.
func TestSlurm(t *testing.T) {
	long(t, "it starts a Slurm of three nodes, for a minute")
	c := newSlurmCluster(t, 8, nil)
	file := func(name string) string { return filepath.Join(c.work, name) }
	touch := func(name string) {
		testfile.Write(t, file(name), "")
	}
	// until is a script that says a word and waits for a file.
	until := func(word, name string) string {
		return "echo " + word + "; while [ ! -e '" + file(name) + "' ]; do sleep 0.1; done"
	}
	on := func(name string, test func(c *slurmCluster)) {
		t.Run(name, func(t *testing.T) {
			w, own := *c.world, *c
			w.t, own.world = t, &w
			test(&own)
		})
	}

	on("it behaves like the command", func(c *slurmCluster) {
		c.variables = append(c.variables, "NAMED=it's 5 o'clock", "UNNAMED=secret")
		a := c.attend([]string{"--env", "NAMED"}, "sh", "-c", until(`"one $NAMED-$UNNAMED-$1"; echo oh >&2`, "go on")+"; echo two; exit 7", "sh", "$(id) '\"`\n*")
		a.says("one")
		touch("go on") // the first line came before the last was written
		code := a.ends()
		if want := "one it's 5 o'clock--$(id) '\"`\n*\ntwo\n"; code != 7 || a.out.String() != want || !strings.HasPrefix(a.err.String(), "oh\n") {
			c.t.Errorf("status %d, %q (want %q), %q", code, a.out, want, a.err)
		}
		if a := c.attend(nil, "sh", "-c", "kill -9 $$"); a.ends() != 137 {
			c.t.Errorf("a command that was killed: %s", a.state())
		}
		if a := c.attend(nil, "/nowhere/claude"); a.ends() != 127 {
			c.t.Errorf("a command that is not there: %s", a.state())
		}
	})

	on("Ctrl-C cancels it, and a second one leaves", func(c *slurmCluster) {
		a := c.attend([]string{"--name", "cancelled"}, "sh", "-c", until("begun", "never"))
		a.says("begun")
		_ = a.cmd.Process.Signal(syscall.SIGINT)
		a.says("cancels cancelled")
		if code := a.ends(); code != 143 {
			c.t.Errorf("status %d: %s", code, a.state())
		}
		if word := c.word("cancelled"); word != "CANCELLED" {
			c.t.Errorf("Slurm says %s", word)
		}
		a = c.attend([]string{"--name", "left"}, testtool, "stubborn")
		a.says("ready")
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		a.says("cancels left")
		_ = a.cmd.Process.Signal(syscall.SIGTERM)
		if code := a.ends(); code != 143 || !strings.Contains(a.err.String(), "plimsoll runs left shows") {
			c.t.Errorf("status %d: %s", code, a.state())
		}
		c.reaches("left", "died") // Slurm has killed it after its KillWait, with its plimsoll
		c.because("left", "slurm: CANCELLED")
	})

	on("a name is used once, and what waits can be cancelled", func(c *slurmCluster) {
		held := c.name([]string{"--name", "held", "--queue", "last", "--cpus", "8"}, "sh", "-c", until("x", "held goes"))
		c.reaches(held, "running")
		waits := c.name([]string{"--queue", "last", "--cpus", "8"}, "true")
		c.reaches(waits, "waiting")
		c.because(waits, "slurm: Resources")
		r := c.run(nil, c.submit([]string{"--name", "held"}, "true")...)
		if r.status != 125 || !strings.Contains(r.stderr, "a job held was submitted already") {
			c.t.Errorf("%+v", r)
		}
		if r := c.run(nil, plimsoll, "cancel", waits); r.status != 0 || r.stdout != waits+" is being ended by slurm\n" {
			c.t.Errorf("%+v", r)
		}
		if e := c.reaches(waits, "signalled"); !strings.Contains(e.Reason, "CANCELLED") {
			c.t.Errorf("%+v", e)
		}
		if r := c.run(nil, plimsoll, "cancel", waits); r.stdout != waits+" had ended already\n" {
			c.t.Errorf("%+v", r)
		}
		touch("held goes")
		c.reaches(held, "ok")
	})

	on("licences are Slurm's", func(c *slurmCluster) {
		c.variables = append(c.variables, "PLIMSOLL_TOOLS_CLAUDE_MAX_CONCURRENT=3")
		var names []string
		for range 4 {
			names = append(names, c.name([]string{"--tool", "claude"}, "sh", "-c", until("x", "licences go")))
		}
		for _, name := range names[:3] {
			c.reaches(name, "running")
		}
		c.reaches(names[3], "waiting")
		c.because(names[3], "slurm: Licenses")
		if top := c.run(nil, plimsoll, "top", "--once", "--json"); !strings.Contains(top.stdout, `"reason": "slurm: Licenses"`) {
			c.t.Errorf("top does not have it: %s", clip(top.stdout))
		}
		touch("licences go")
		for _, name := range names {
			c.reaches(name, "ok")
		}
	})

	on("over its memory the agent outlives its child", func(c *slurmCluster) {
		a := c.attend([]string{"--name", "hungry"}, testtool, "outlive", "600")
		if code := a.ends(); code != 0 || !strings.Contains(a.out.String(), "the child: signal: killed") {
			c.t.Errorf("status %d: %s", code, a.state())
		}
		if word := c.word("hungry"); word != "COMPLETED" {
			c.t.Errorf("Slurm says %s", word)
		}
	})

	on("the report comes back where the runs are kept elsewhere", func(c *slurmCluster) {
		name := c.name([]string{"--env", "PLIMSOLL_STATE_DIR=" + file("state of the node")}, "sh", "-c", "echo hello; exit 3")
		if e := c.reaches(name, "failed"); e.Kind != "job" || e.ExitCode != 3 || e.Node == "" || e.Reason != "exit status 3" {
			c.t.Errorf("%+v", e)
		}
		page := c.run(nil, plimsoll, "runs", name)
		if !strings.Contains(page.stdout, "placed by slurm on n") || !strings.Contains(page.stdout, "held by") {
			c.t.Errorf("%s%s", page.stdout, page.stderr)
		}
	})

	on("a requeue is told", func(c *slurmCluster) {
		name := c.name([]string{"--retry", "1"}, "sh", "-c", `[ -n "$SLURM_RESTART_COUNT" ] && echo again && exit 0; `+until("first", "never"))
		c.reaches(name, "running")
		c.slurm("scontrol", "requeue", c.number(name))
		wait.Within(c.t, patience, "it waits", func() bool { return strings.Contains(c.word(name), "PENDING") }, func() string { return c.word(name) })
		if e := c.reaches(name, "waiting"); !strings.Contains(e.Reason, "started it again, 1 times") {
			c.t.Errorf("%+v", e)
		}
		// Slurm holds what was requeued for two minutes.
		c.slurm("scontrol", "update", "job", c.number(name), "StartTime=now")
		c.reaches(name, "ok")
		if page := c.run(nil, plimsoll, "runs", name); !strings.Contains(page.stdout, "Slurm has started this job again (1 times so far)") {
			c.t.Errorf("%s", page.stdout)
		}
		for _, e := range c.list() {
			if e.Job != name || e.Kind != "run" || e.Outcome == "ok" {
				continue
			}
			if page := c.run(nil, plimsoll, "runs", e.ID); !strings.Contains(page.stdout, "Slurm has asked the job to end (SIGTERM)") {
				c.t.Errorf("the first start does not tell why it was ended: %+v\n%s", e, page.stdout)
			}
		}
	})

	on("a preemption is told", func(c *slurmCluster) {
		for _, name := range []string{"preempted", "placed-again"} {
			again := name == "placed-again"
			flags := []string{"--name", name, "--queue", "last", "--cpus", "8"}
			if again {
				flags = append(flags, "--retry", "1")
			}
			c.name(flags, "sh", "-c", `[ -n "$SLURM_RESTART_COUNT" ] && exit 0; `+until("first", "never"))
			c.reaches(name, "running")
			urgent := c.name([]string{"--queue", "urgent", "--cpus", "8"}, "sh", "-c", until("x", name+" has gone"))
			c.reaches(urgent, "running")
			if again {
				c.reaches(name, "waiting")
				c.slurm("scontrol", "update", "job", c.number(name), "StartTime=now")
			} else if e := c.reaches(name, "signalled"); !strings.Contains(e.Reason, "slurm: PREEMPTED") {
				c.t.Errorf("%+v", e)
			}
			told := slices.ContainsFunc(c.list(), func(e listedRun) bool {
				return e.Job == name && e.Kind == "run" && strings.Contains(c.run(nil, plimsoll, "runs", e.ID).stdout, "Slurm has asked the job to end (SIGTERM)")
			})
			if !told {
				c.t.Errorf("no run of %s tells who ended it: %+v", name, c.list())
			}
			touch(name + " has gone")
			c.reaches(urgent, "ok")
			if again {
				c.reaches(name, "ok")
			}
		}
	})

	on("bad input is one sentence, and nothing is left", func(c *slurmCluster) {
		for says, flags := range map[string][]string{
			"invalid partition specified: nope": {"--queue", "nope"},
			"no node has as much memory":        {"--memory-max", "900G"},
			"small letters, digits and hyphens": {"--name", "$(touch pwned)"},
			"there is no such variable here":    {"--env", "NOT_THERE"},
		} {
			before := len(c.list())
			r := c.run(nil, c.submit(flags, "true")...)
			if r.status != 125 || !strings.Contains(r.stderr, says) || strings.Count(r.stderr, "\n") > 1 || len(c.list()) != before {
				c.t.Errorf("%v: %+v", flags, r)
			}
		}
		large := bytes.Repeat([]byte("x"), 100<<10)
		var words []string
		for range 12 {
			words = append(words, string(large))
		}
		if r := c.run(nil, c.submit(nil, words...)...); r.status != 125 || !strings.Contains(r.stderr, "a job takes 1 MiB") {
			c.t.Errorf("%d: %s", r.status, clip(r.stderr))
		}
	})

	on("a node that dies, a job that vanishes, a Slurm that does not answer", func(c *slurmCluster) {
		lost := c.name(nil, "true")
		c.reaches(lost, "ok") // by the run in the store; what Slurm says is kept too
		a := c.attend([]string{"--name", "down", "--queue", "last", "--env", "PLIMSOLL_STATE_DIR=" + file("another")}, "sh", "-c", until("begun", "never"))
		a.says("begun")
		gone := c.name([]string{"--queue", "last", "--cpus", "8", "--name", "gone"}, "true")
		c.reaches(gone, "waiting")
		record := filepath.Join(c.state, "jobs", gone, "job.json")
		text, err := os.ReadFile(record)
		number := c.number(gone)
		text = bytes.Replace(text, []byte(`"at":"`+number+`"`), []byte(`"at":"`+c.number(lost)+`"`), 1) // as another Slurm of this name has it
		if err != nil || os.WriteFile(record, text, 0o600) != nil {
			c.t.Fatal(err)
		}
		if e := c.reaches(gone, "lost"); !strings.Contains(e.Reason, "slurm does not know it any more") {
			c.t.Errorf("%+v", e)
		}
		_ = c.daemons["ctld"].Process.Signal(syscall.SIGSTOP)
		begin := time.Now()
		r := c.run(nil, plimsoll, "runs")
		if !strings.Contains(r.stderr, "slurm does not answer: squeue: no answer within 2s") || !strings.Contains(r.stdout, "running") {
			c.t.Errorf("%+v", r)
		}
		c.t.Logf("plimsoll runs beside a Slurm that does not answer took %v", time.Since(begin).Round(10*time.Millisecond))
		_ = c.daemons["ctld"].Process.Signal(syscall.SIGCONT)
		c.kill("n2")
		c.slurm("scontrol", "update", "nodename=n2", "state=down", "reason=test")
		if code := a.ends(); code != 1 || !strings.Contains(a.err.String(), "NODE_FAIL") {
			c.t.Errorf("status %d: %s", code, a.state())
		}
		if e := c.reaches("down", "failed"); !strings.Contains(e.Reason, "NODE_FAIL") {
			c.t.Errorf("%+v", e)
		}
	})
}

// A thousand jobs: each result comes once. By night only.
func TestSlurmThousandJobs(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("PLIMSOLL_E2E_SLURM_JOBS"))
	if err != nil {
		t.Skip("PLIMSOLL_E2E_SLURM_JOBS says how many; the gate runs 1000 by night")
	}
	c := newSlurmCluster(t, 2, nil)
	results := filepath.Join(c.work, "results")
	begin := time.Now()
	for i := range n {
		c.name([]string{"--name", fmt.Sprintf("job-%d", i), "--cpus", "1"}, "sh", "-c", fmt.Sprintf("echo %d >>'%s'; exit %d", i, results, i%7))
	}
	t.Logf("submitted in %v", time.Since(begin).Round(time.Second))
	ended := map[string]listedRun{}
	wait.Within(t, 30*time.Minute, "all have ended", func() bool {
		clear(ended)
		for _, e := range c.list() {
			if e.Outcome == "ok" || e.Outcome == "failed" {
				if before, twice := ended[e.Job]; twice {
					t.Fatalf("two results of one: %+v and %+v", before, e)
				}
				ended[e.Job] = e
			}
		}
		return len(ended) == n
	}, func() string { return fmt.Sprintf("%d of %d", len(ended), n) })
	t.Logf("ended after %v", time.Since(begin).Round(time.Second))
	text, err := os.ReadFile(results)
	if err != nil || strings.Count(string(text), "\n") != n {
		t.Fatalf("%d results, %v", strings.Count(string(text), "\n"), err)
	}
	seen := map[string]bool{}
	for line := range strings.FieldsSeq(string(text)) {
		seen[line] = true
		i, _ := strconv.Atoi(line)
		if e := ended["job-"+line]; e.ExitCode != i%7 {
			t.Errorf("job %d has status %d: %+v", i, e.ExitCode, e)
		}
	}
	if len(seen) != n {
		t.Errorf("%d different results", len(seen))
	}
}
