package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

const (
	// soakSample is the time between two looks at a server.
	soakSample = 2 * time.Second
	// soakPatience bounds the time of one thing before it counts as lost.
	soakPatience = 90 * time.Second
	// soakCut and soakRefused number the requests to the model: every soakCut-th breaks off in mid-answer, every soakRefused-th is refused.
	soakCut, soakRefused = 7, 11
)

// soakBench puts the load of many users on `agent serve` and `serve` for a time, and reports what was lost and how much was held in the
// first and in the last third of the time.
func soakBench(o *Out, args []string) {
	duration := 2 * time.Minute
	if len(args) > 0 {
		var err error
		if duration, err = time.ParseDuration(args[0]); err != nil || duration < 10*time.Second {
			o.Fatalf("want a time of 10s or more, as 20m: %q", args[0])
		}
	}
	dir := o.build("cmd/plimsoll", "internal/testing/toolserver/standalone")
	var asked atomic.Int64
	provider := httptest.NewServer(scripted.New(scripted.Options{
		Lenient: true, Window: 100_000, Script: scripted.Shells("The task is done."),
		Fault: func(*scripted.Request) scripted.Fault {
			switch n := asked.Add(1); {
			case n%soakCut == 0:
				return scripted.Fault{Kind: scripted.Cut, Events: 2}
			case n%soakRefused == 0:
				return scripted.Fault{Kind: scripted.ServerErr}
			}
			return scripted.Fault{}
		},
	}))
	defer provider.Close()

	agent := o.startSoaked(dir, "agent", "[mcp]\nargocd_simulator = \"on\"\n", "agent", "serve", "--lab", "--model", "standin")
	tools := fmt.Sprintf("[%q]", filepath.Join(dir, "standalone"))
	daemon := o.startSoaked(dir, "daemon",
		"[mcp.servers.steady]\ncommand = "+tools+"\n[mcp.servers.crashes]\ncommand = "+tools+
			fmt.Sprintf("\n[upstream]\nopenai = %q\nanthropic = %q\ngemini = %q\n", provider.URL+"/v1", provider.URL, provider.URL), "serve")

	load := &soakLoad{agent: agent.url, daemon: daemon.url}
	ctx := o.ctx
	loading, enough := context.WithTimeout(ctx, duration)
	defer enough()
	go func() {
		for loading.Err() == nil {
			agent.sample()
			daemon.sample()
			select {
			case <-loading.Done():
			case <-time.After(soakSample):
			}
		}
	}()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { load.askQuestions(ctx, loading, n) })
		if n < 4 {
			all.Go(func() { load.askModels(ctx, loading, n) })
			all.Go(func() { load.callTools(ctx, loading, "steady", n) })
		}
		if n < 3 {
			all.Go(func() { load.callTools(ctx, loading, "crashes", n) })
		}
	}
	all.Go(func() { load.crashServers(ctx, loading) })
	all.Wait()
	check(ctx.Err())
	load.checkLeft(ctx)
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(soakSample)
	for _, c := range load.kinds {
		o.Add(Row{Case: c.name, Metric: "ended as they should", Value: float64(c.well), Unit: "of them", Baseline: "begun", BaselineValue: float64(c.begun)})
	}
	var problems []error
	for _, s := range []*soaked{agent, daemon} {
		problems = append(problems, s.addRows(o))
	}
	load.mu.Lock()
	defer load.mu.Unlock()
	o.Note("%s of load; RssAnon is the most that was seen in the last third of it, beside the first third.", duration)
	check(errors.Join(append(problems, load.lost...)...))
}

// soaked is a server under load.
type soaked struct {
	name, url, state string
	cmd              *exec.Cmd
	mu               sync.Mutex
	seen             []soakLook
}

// soakHeld names the resources that a server is looked at for, and the unit of each.
var soakHeld = []struct{ name, unit string }{{"RssAnon", "MiB"}, {"open files", ""}, {"goroutines", ""}, {"files of state", ""}, {"bytes of state", "MiB"}}

// The places of the two in soakHeld that must be given back.
const soakFiles, soakGoroutines = 1, 2

// soakLook holds the resources that a server held at one moment, as soakHeld names them.
type soakLook [5]float64

// startSoaked starts plimsoll for the soak test, with a home, a state and settings of its own below dir, and waits until it listens. It ends
// with the benchmark. A failure stops the benchmark.
func (o *Out) startSoaked(dir, name, settings string, args ...string) *soaked {
	home := filepath.Join(dir, name)
	check(os.MkdirAll(home, 0o700))
	config, ready := filepath.Join(home, "config.toml"), filepath.Join(home, "ready")
	check(os.WriteFile(config, []byte(settings), 0o600))
	s := &soaked{name: name, state: filepath.Join(home, "state")}
	s.cmd = exec.CommandContext(o.ctx, filepath.Join(dir, "plimsoll"), append(args, "--listen", "127.0.0.1:0", "--ready-file", ready, "--quiet")...)
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PLIMSOLL_CONFIG=" + config, "PLIMSOLL_STATE_DIR=" + s.state}
	said := must(os.Create(filepath.Join(home, "said")))
	defer said.Close()
	s.cmd.Stdout, s.cmd.Stderr = said, said
	check(s.cmd.Start())
	o.Cleanup(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		_ = s.cmd.Wait()
	})
	wait.Within(o, soakPatience, "plimsoll "+name+" listens", func() bool {
		text, err := os.ReadFile(ready)
		s.url = strings.TrimSpace(string(text))
		return err == nil && strings.HasSuffix(string(text), "\n")
	}, func() string { return string(must(os.ReadFile(said.Name()))) })
	return s
}

// sample measures what the server holds now: memory, open files, goroutines and files on disk.
func (s *soaked) sample() {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid))
	files, size := folderSize(s.state)
	l := soakLook{mib(anonOf(s.cmd.Process.Pid)), float64(len(open)), soakMetric(s.url, "go_goroutines"), float64(files), mib(size)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, l)
}

// addRows adds the rows of a server. It is an error if the server has not given back what it must when nobody asks it any more.
func (s *soaked) addRows(o *Out) error {
	s.mu.Lock()
	seen := slices.Clone(s.seen)
	s.mu.Unlock()
	if len(seen) < 3 {
		return fmt.Errorf("%s was looked at %d times", s.name, len(seen))
	}
	most := func(looks []soakLook, i int) (most float64) {
		for _, l := range looks {
			most = max(most, l[i])
		}
		return most
	}
	first, last := seen[:len(seen)/3], seen[len(seen)-len(seen)/3:]
	for i, held := range soakHeld {
		o.Add(Row{Case: s.name, Metric: held.name, Value: most(last, i), Unit: held.unit, Baseline: "first third", BaselineValue: most(first, i)})
	}
	s.sample() // nobody asks it any more
	s.mu.Lock()
	begin, idle := s.seen[0], s.seen[len(s.seen)-1]
	s.mu.Unlock()
	// A server keeps a few connections and processes of MCP servers for the next question.
	const kept = 40
	var err error
	for _, i := range []int{soakGoroutines, soakFiles} {
		name := soakHeld[i].name
		o.Add(Row{Case: s.name, Metric: name + ", idle again", Value: idle[i], Baseline: "at the start", BaselineValue: begin[i]})
		if idle[i] > begin[i]+kept {
			err = errors.Join(err, fmt.Errorf("%s keeps %.0f %s when nobody asks it; it began with %.0f", s.name, idle[i], name, begin[i]))
		}
	}
	return err
}
