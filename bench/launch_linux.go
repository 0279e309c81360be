package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// launchBench reports the median times of a start in every layer that is here, of the bare baseline, and of the whole command. args[0] is
// the number of turns (100).
func launchBench(o *Out, args []string) {
	turns := argNumber(args, 100)
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	layers := o.availableLayers()
	ways := []way{{"bare", func() error { return runBare(null) }}}
	started := 0
	for _, layer := range layers {
		ways = append(ways, way{string(layer), func() error {
			started++
			return o.runInLayer(layer, fmt.Sprintf("bench-%d-%d", os.Getpid(), started), null)
		}})
	}
	times := o.inTurn(turns, ways...)
	base := median(times["bare"])
	o.Add(Row{Case: "bare fork and exec", Metric: "median", Value: ms(base), Unit: "ms"})
	for _, layer := range layers {
		m := median(times[string(layer)])
		o.Add(Row{Case: string(layer), Metric: "median", Value: ms(m), Unit: "ms", Baseline: "bare", BaselineValue: ms(base)})
		o.Add(Row{Case: string(layer), Metric: "added", Value: ms(m - base), Unit: "ms", Baseline: "goal", BaselineValue: 3})
	}
	o.timeWholeCommand(layers, min(turns, 50))
}

// availableLayers tries the layers of the sandbox, returns those that work here, and notes why the others do not.
func (o *Out) availableLayers() (here []sandbox.Layer) {
	for _, c := range sandbox.Probe(o.ctx, false) {
		if c.Available {
			here = append(here, c.Name)
		} else {
			o.Note("layer %s is not here: %s", c.Name, c.Why)
		}
	}
	return here
}

// runBare starts /bin/true without Plimsoll and waits for its end.
func runBare(null *os.File) error {
	pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null.Fd(), null.Fd(), null.Fd()},
	})
	if err != nil {
		return err
	}
	var status syscall.WaitStatus
	_, err = syscall.Wait4(pid, &status, 0, nil)
	return err
}

// runInLayer starts /bin/true in one layer of the sandbox and waits for its end.
func (o *Out) runInLayer(layer sandbox.Layer, id string, null *os.File) error {
	run, err := sandbox.Start(o.ctx, sandbox.Spec{
		ID: id, Path: "/bin/true", Args: []string{"true"}, Files: []*os.File{null, null, null},
		Limits: sandbox.Limits{Memory: 4 * limit.GiB, Pids: 256}, Layers: []sandbox.Layer{layer},
		Detach: true, Subreaper: true,
	})
	if err != nil {
		return err
	}
	_, err = run.Wait()
	return err
}

// timeWholeCommand times `plimsoll run -- true` as a process of its own, and beside systemd-run where that works. It sets
// PLIMSOLL_STATE_DIR for this process.
func (o *Out) timeWholeCommand(layers []sandbox.Layer, turns int) {
	binary := o.binary()
	check(os.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(o.TempDir(), "state")))
	const whole = "plimsoll run -- true"
	times := o.inTurn(turns, o.command("true", "/bin/true"), o.command(whole, binary, "run", "--quiet", "--", "/bin/true"))
	took := ms(median(times[whole]))
	o.Add(Row{Case: whole, Metric: "median", Value: took, Unit: "ms", Baseline: "goal", BaselineValue: 20})
	o.Add(Row{Case: whole, Metric: "median", Value: took, Unit: "ms", Baseline: "true", BaselineValue: ms(median(times["true"]))})
	if !slices.Contains(layers, sandbox.Systemd) {
		o.Note("systemd-run was not measured: no service manager answers")
		return
	}
	o.besideSystemdRun(binary, turns)
}

// besideSystemdRun compares with what most people would type instead; both make a scope of the same service manager. If systemd-run does
// not work here, a note says so. It sets PLIMSOLL_SANDBOX_LAYERS for this process.
func (o *Out) besideSystemdRun(binary string, turns int) {
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		o.Note("systemd-run was not measured: it is not installed")
		return
	}
	scope := []string{"--scope", "--quiet", "--collect", "-p", "MemoryMax=4G", "-p", "TasksMax=256", "/bin/true"}
	if os.Geteuid() != 0 {
		scope = slices.Insert(scope, 0, "--user")
	}
	theirs := o.command("systemd-run --scope", path, scope...)
	if err := theirs.run(); err != nil {
		o.Note("systemd-run was not measured: %v", err)
		return
	}
	check(os.Setenv("PLIMSOLL_SANDBOX_LAYERS", string(sandbox.Systemd)))
	ours := o.command("plimsoll run -- true in a scope", binary, "run", "--quiet", "--memory-max", "4G", "--", "/bin/true")
	times := o.inTurn(turns, ours, theirs)
	o.Add(Row{Case: ours.name, Metric: "median", Value: ms(median(times[ours.name])), Unit: "ms", Baseline: theirs.name, BaselineValue: ms(median(times[theirs.name]))})
}

const (
	// statusRuns is the number of runs in the list: as many as are kept.
	statusRuns = 10_000
	statusGoal = 10 // ms
)

// statusBench times the whole command, which a status line starts again and again. args[0] is the number of turns (100). It sets
// environment variables of this process.
func statusBench(o *Out, args []string) {
	turns := argNumber(args, 100)
	binary, state := o.binary(), filepath.Join(o.TempDir(), "state")
	check(os.Setenv("PLIMSOLL_STATE_DIR", state))
	for id, requests := range map[string]int{"small": 10, "full": 20_000} {
		w := writeRun(state, id, requests)
		defer func() { _ = w.End(journal.Report{}) }()
	}
	longList(state)
	took := func(args ...string) float64 {
		return ms(median(o.inTurn(turns, o.command("", args[0], args[1:]...))[""]))
	}
	base := took("/bin/true")
	add := func(name string, args ...string) {
		took := took(append([]string{binary}, args...)...)
		o.Add(Row{Case: name, Metric: "median", Value: took, Unit: "ms", Baseline: "goal", BaselineValue: statusGoal})
		o.Add(Row{Case: name, Metric: "median", Value: took, Unit: "ms", Baseline: "true", BaselineValue: base})
	}
	add("plimsoll version, for the start alone", "version")
	add("plimsoll shellenv, which each new shell waits for", "shellenv", "--shell", "bash")
	for _, inside := range []string{"small", "full"} {
		check(os.Setenv(sandbox.CookieName, inside))
		add("status --line, in a run with a "+inside+" file", "status", "--line")
		began := time.Now()
		must(runs.ReadGlance(state, inside))
		o.Add(Row{Case: "reading the " + inside + " file", Metric: "once", Value: ms(time.Since(began)), Unit: "ms"})
	}
	check(os.Setenv(sandbox.CookieName, ""))
	add("status --line, outside of a run", "status", "--line")
}

// writeRun begins a run with this many requests to a model, or as many of them as its file takes. It sleeps between, as what waits to be
// written is bounded. The caller ends the run.
func writeRun(state, id string, requests int) *runs.Writer {
	w := runs.Begin(runs.Options{Dir: state}, runs.Header{ID: id, Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop", LimitBytes: 4 << 30}})
	j := journal.New(journal.Options{Observers: []journal.Observer{w}})
	j.Append(journal.RunStarted{PID: 1, LimitBytes: 4 << 30})
	for i := range requests {
		j.Append(journal.WindowRequest{
			Upstream: "anthropic", Dialect: "anthropic.messages", Model: "claude-opus-5-5-20261001", Conversation: "0123456789ab", Messages: i, Tokens: 120_000, Low: 110_000, High: 130_000,
			Counted: "usage", LimitTokens: 200_000, LimitSource: "catalogue", ReceivedBytes: 500_000, ForwardedBytes: 480_000, Overhead: time.Millisecond,
		})
		w.Sample(runs.Sample{Working: int64(i%1000) << 20, Charged: int64(i%1000) << 21, Processes: 3})
		if i%200 == 0 { // what waits is bounded
			time.Sleep(210 * time.Millisecond)
		}
	}
	j.Append(journal.WindowCompacted{Model: "claude-opus-5-5-20261001", Reason: "trigger", Before: 160_000, After: 99_000})
	time.Sleep(300 * time.Millisecond)
	return w
}

// longList makes the index as long as it gets.
func longList(state string) {
	var list bytes.Buffer
	for i := range statusRuns {
		fmt.Fprintf(&list, `{"id":"r%d","kind":"run","tool":"claude","project":"p%d","started":"2026-11-24T00:00:00Z","ended":"2026-11-24T00:00:01Z","outcome":"ok","day":"2026-11-24"}`+"\n", i, i)
	}
	f := must(os.OpenFile(filepath.Join(state, runs.Dir, "index.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
	must(list.WriteTo(f))
	check(f.Close())
}

func init() {
	benchmarks = append(benchmarks, []benchmark{
		{"argocd", "the Argo CD tools against argocd-mcp of npm, on one simulated installation (Linux; 1 min; argument: APPS,PROJECTS,APPSETS,CLUSTERS)", argocdBench},
		{"fleet-history", "a start that asks the fleet, there and away, against one without; 1,000 observations a second into three servers", fleetHistory},
		{"launch", "start and stop of /bin/true in each layer, against bare fork and exec", launchBench},
		{"mcp", "the MCP gateway over standard streams against the bare server and a proxy of the official SDK (Linux; 30 s)", mcpBench},
		{"memory-size", "full namespaces of memory: disk, heap, cold open, search; --beam DIR takes words from there, else from the sources of Go", sizeMemory},
		{"monitor", "CPU of watching a tree of 200 processes, against reading smaps_rollup of each", monitorBench},
		{"proxy", "CPU, latency, memory and streams of the model proxy, against httputil.ReverseProxy", proxyBench},
		{"replicas", "what a request waits for when its conversation goes through two replicas and a store, against one proxy alone", replicasBench},
		{"soak", "days of an agent and of the daemon in little: clients that leave, tools and models that fail; what is lost, and whether memory levels off (Linux; DURATION, 2m)", soakBench},
		{"spend", "limits of what runs may spend: the price of a request with them, 200 runs that settle at once, 100 sub-agents at one limit", spendBench},
		{"status", "`plimsoll status --line` on a run with a small file and with a full one, beside 10,000 runs, and `plimsoll shellenv`, against /bin/true", statusBench},
	}...)
}
