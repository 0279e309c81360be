package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	store "github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// runs lists what `plimsoll runs` does.
func (s *site) runs(args ...string) []watch.Entry {
	s.t.Helper()
	o := s.plimsoll(append([]string{"runs", "--json"}, args...)...)
	var list []watch.Entry
	if err := json.Unmarshal([]byte(o.stdout), &list); err != nil || o.code != 0 {
		s.t.Fatalf("%+v: %v", o, err)
	}
	return list
}

// until waits for a list that a test wants.
func (s *site) until(what string, is func([]watch.Entry) bool) (list []watch.Entry) {
	s.t.Helper()
	wait.Until(s.t, what, func() bool { list = s.runs(); return is(list) }, func() string { return fmt.Sprintf("%+v", list) })
	return list
}

func TestTwoHundredRunsAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	n := 200
	if testing.Short() {
		n = 40
	}
	s := newSite(t)
	s.configure("[tools.small]\nreservation = \"2M\"\nmax_concurrent = 0\n")
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if o := s.plimsoll("run", "--quiet", "--enforcement", "off", "--tool", "small", "--", "true"); o.code != 0 || o.stderr != "" {
				t.Errorf("%+v", o)
			}
		})
	}
	all.Wait()
	list := s.runs()
	if len(list) != n {
		t.Fatalf("%d runs are listed, not %d", len(list), n)
	}
	for _, e := range list {
		if e.Outcome != "ok" || e.Ended == nil || e.Dropped != 0 || e.Tool != "small" {
			t.Errorf("%+v", e)
		}
	}
	var lines int
	o := s.plimsoll("runs", "--export", "json")
	for line := range strings.Lines(o.stdout) {
		var d watch.Details
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%.300s: %v", line, err)
		}
		lines++
	}
	if lines != n || o.stderr != "" {
		t.Errorf("%d whole runs: %s", lines, o.stderr)
	}
}

func TestARunIsSeenWhileItLivesAndWhenItsSupervisorIsKilled(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cmd := s.command("run", "--quiet", "--enforcement", "off", "--tool", "codex", "--", "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	list := s.until("it runs", func(l []watch.Entry) bool {
		return len(l) == 1 && l[0].Outcome == "running" && l[0].ReservationBytes > 0
	})
	if list[0].Ended != nil || list[0].PID != cmd.Process.Pid {
		t.Errorf("%+v", list[0])
	}
	var o outcome
	wait.Until(t, "the page says why it was admitted", func() bool {
		o = s.plimsoll("runs", list[0].ID[:6])
		return strings.Contains(o.stdout, "admitted")
	})
	contains(t, "the page", o.stdout, "codex in ", ": running", "sleep 60")
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	list = s.until("it died", func(l []watch.Entry) bool { return len(l) == 1 && l[0].Outcome == "died" })
	if list[0].Ended == nil || list[0].Reason != "its plimsoll was killed" {
		t.Errorf("%+v", list[0])
	}
	if again := s.runs("--outcome", "died"); len(again) != 1 || !again[0].Ended.Equal(*list[0].Ended) {
		t.Errorf("%+v, then %+v", list, again)
	}
	s.nextCommand("after the kill")
}

// What is kept of a run is what its report says, key by key.
func TestWhatIsKeptIsTheReport(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	report, o := s.report("--tool", "codex", "--", "sh", "-c", "exit 3")
	if o.code != 3 {
		t.Fatalf("%+v", o)
	}
	var d struct {
		Report journal.Report `json:"report"`
		watch.Entry
		Records []journal.Record `json:"records"`
	}
	if err := json.Unmarshal([]byte(s.plimsoll("runs", "last", "--json").stdout), &d); err != nil {
		t.Fatal(err)
	}
	kept, _ := json.Marshal(d.Report)
	want, _ := json.Marshal(report)
	if string(kept) != string(want) {
		t.Errorf("kept is\n%s\nreported was\n%s", kept, want)
	}
	if d.Outcome != "failed" || d.ExitCode != 3 || d.Reason != "exit status 3" || len(d.Records) < 3 {
		t.Errorf("%+v, %d records", d.Entry, len(d.Records))
	}
}

func TestRefusedAndUnknownCommandsAreKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[tools.codex]\ninitial_estimate = \"400T\"\n")
	if o := s.plimsoll("run", "--tool", "codex", "--", "true"); o.code != 125 {
		t.Fatalf("%+v", o)
	}
	if o := s.plimsoll("run", "--", "no-such-command-anywhere"); o.code != 127 {
		t.Fatalf("%+v", o)
	}
	if o := s.plimsoll("run", "--dry-run", "--", "true"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	list := s.runs()
	if len(list) != 2 || list[1].Outcome != "refused" || !strings.Contains(list[1].Reason, "not admitted") || list[0].Outcome != "failed" || list[0].ExitCode != 127 {
		t.Errorf("%+v", list)
	}
	contains(t, "the page", s.plimsoll("runs", list[1].ID).stdout, "refused", "there will never be more than")
	contains(t, "the page of a command that is not there", s.plimsoll("runs", list[0].ID).stdout, "  warned ", "no-such-command-anywhere: not found in PATH")

	// One of a newer version.
	name := filepath.Join(s.state, "runs", list[0].Day, list[0].ID+".jsonl")
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.Replace(string(text), `"schema":1`, `"schema":99`, 1)+`{"future":{}}`+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "the page of a newer one", s.plimsoll("runs", list[0].ID).stdout, "  newer ", "exit status 127")
}

// The window of an agent of our own shows, and what it cost, where somebody has written a price and nowhere else.
func TestAQuestionHasAWindowAndACost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.env = append(s.env, "PLIMSOLL_MCP_ARGOCD_SIMULATOR=30,3,3,1")
	ask := []string{"ask", "--quiet", "--model", "standin", "list all applications"}
	if o := s.plimsoll(ask...); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	list := s.runs()
	if len(list) != 1 || list[0].AgentRequests != 2 || list[0].AgentPeakTokens == 0 || list[0].AgentLimitTokens == 0 || len(list[0].Usage) != 1 || list[0].Usage[0].Input == 0 {
		t.Fatalf("%+v", list)
	}
	page := s.plimsoll("runs", "last").stdout
	contains(t, "the page", page, "  window ", "2 requests of "+list[0].Usage[0].Model)
	top := s.plimsoll("top", "--once", "--json").stdout
	if strings.Contains(page, "  cost ") || strings.Contains(top, `"cost"`) {
		t.Errorf("a cost without a price: %s%s", page, top)
	}
	if o := s.plimsoll("runs"); !strings.Contains(o.stdout, " % of ") {
		t.Errorf("the list has no window: %+v", o)
	}
	s.configure(fmt.Sprintf("[models.%q]\ninput_price = 2.5\noutput_price = 10\n", list[0].Usage[0].Model))
	var d struct{ Cost float64 }
	if err := json.Unmarshal([]byte(s.plimsoll("runs", "last", "--json").stdout), &d); err != nil {
		t.Fatal(err)
	}
	u := list[0].Usage[0]
	if want := (float64(u.Input)*2.5 + float64(u.Output)*10) / 1e6; math.Abs(d.Cost-want) > 1e-12 || want == 0 {
		t.Errorf("it cost %v, not %v", d.Cost, want)
	}
	contains(t, "the page", s.plimsoll("runs", "last").stdout, "  cost ")
	contains(t, "top", s.plimsoll("top", "--once", "--json").stdout, `"cost"`)
}

// No credential gets into what is kept, whichever way it came.
func TestNoCredentialIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const value, flag, shaped = "correct-horse-battery", "flagsecret77", "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	s.env = append(s.env, "SHOP_API_TOKEN="+value)
	o := s.plimsoll("run", "--tool", "codex", "--", "sh", "-c", "echo hello "+value, "sh", "--api-key", flag, "--header="+shaped, "https://u:"+value+"@host/")
	if o.code != 0 || !strings.Contains(o.stdout, value) {
		t.Fatalf("%+v", o)
	}
	if err := filepath.WalkDir(filepath.Join(s.state, "runs"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{value, flag, shaped} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds %s", path, secret)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	page := s.plimsoll("runs", "last").stdout
	contains(t, "the command", page, "echo hello ********", "--api-key ********")
	if list := s.runs(); len(list) != 1 {
		t.Error(list)
	}
}

func TestNothingIsKeptWhereNobodyWantsIt(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.configure("[watch]\nruns = false\n")
	if o := s.plimsoll("run", "--quiet", "--", "true"); o.code != 0 || o.stderr != "" {
		t.Fatalf("%+v", o)
	}
	if list := s.runs(); len(list) != 0 {
		t.Error(list)
	}
	if _, err := os.Stat(filepath.Join(s.state, "runs")); err == nil {
		t.Error("there is a store")
	}
}

func TestWhatRunsAreAskedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 3 {
		s.plimsoll("run", "--quiet", "--tool", fmt.Sprintf("tool%d", i%2), "--", "sh", "-c", fmt.Sprintf("exit %d", i))
	}
	for _, c := range []struct {
		args []string
		n    int
	}{
		{nil, 3}, {[]string{"--tool", "tool0"}, 2}, {[]string{"--outcome", "ok"}, 1}, {[]string{"--since", "1h"}, 3}, {[]string{"--since", "0s"}, 0}, {[]string{"--project", "elsewhere"}, 0},
	} {
		if list := s.runs(c.args...); len(list) != c.n {
			t.Errorf("%v: %d runs, not %d", c.args, len(list), c.n)
		}
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"runs", "nosuch"}, `there is no run "nosuch"`},
		{[]string{"runs", "--since", "soon"}, "write 90m, 12h, 7d"},
		{[]string{"runs", "--follow"}, "plimsoll runs last --follow"},
		{[]string{"runs", "--export", "xml"}, "json"},
		{[]string{"runs", "last", "extra"}, ""},
	} {
		if o := s.plimsoll(c.args...); o.code == 0 || !strings.Contains(o.stderr, c.says) {
			t.Errorf("%v: %+v", c.args, o)
		}
	}
	o := s.plimsoll("runs", "last", "--follow")
	contains(t, "followed", o.stdout, "process.run_started", "process.run_ended", "failed: exit status 2")
	if o := s.plimsoll("runs", "--lines", "1"); strings.Count(o.stdout, "tool") != 1 || !strings.Contains(o.stdout, "2 older ones") {
		t.Errorf("%+v", o)
	}
	if o := s.plimsoll("gc"); o.code != 0 {
		t.Errorf("%+v", o)
	}
}

// What node_exporter reads is whole, and others may read it; the counters go on when the runs are cleaned up.
func TestMetricsOfRunsAsATextfile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, status := range []string{"0", "3"} {
		s.plimsoll("run", "--quiet", "--enforcement", "off", "--tool", "worker", "--", "sh", "-c", "exit "+status)
	}
	const greedy = "[tools.greedy]\ninitial_estimate = \"400T\"\n"
	s.configure(greedy)
	if o := s.plimsoll("run", "--quiet", "--tool", "greedy", "--", "true"); o.code != 125 {
		t.Fatalf("%+v", o)
	}
	want := []string{
		`plimsoll_runs_ended_total{outcome="ok",tool="worker"} 1`, `plimsoll_runs_ended_total{outcome="failed",tool="worker"} 1`,
		`plimsoll_runs_ended_total{outcome="refused",tool="greedy"} 1`, `plimsoll_run_oom_kills_total{of="agent",tool="worker"} 0`,
		`plimsoll_runs{state="running",tool="worker"} 0`, `plimsoll_runs_readable 1`, "plimsoll_host_memory_available_bytes ", "plimsoll_state_disk_free_bytes ",
	}
	o := s.plimsoll("metrics")
	contains(t, "printed", o.stdout, append(want, "plimsoll_runs_kept 3")...)
	file := filepath.Join(t.TempDir(), "plimsoll.prom")
	for _, keep := range []int{1, 1000} {
		if _, err := store.Prune(s.state, store.Keep{Runs: keep}, time.Now(), false); err != nil {
			t.Fatal(err)
		}
		if o := s.plimsoll("metrics", "--textfile", file); o.code != 0 || o.stdout != "" || o.stderr != "" {
			t.Fatalf("%+v", o)
		}
		text := testfile.Read(t, file)
		contains(t, "the file", string(text), append(want, "plimsoll_runs_kept 1\n")...)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info, err)
	}
	if o := s.plimsoll("metrics", "--textfile", filepath.Join(s.state, "nowhere", "x.prom")); o.code == 0 || !strings.Contains(o.stderr, "nowhere") {
		t.Errorf("%+v", o)
	}
}
