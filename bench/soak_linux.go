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
)

func init() {
	register("soak", "days of an agent and of the daemon in little: clients that leave, tools and models that fail; what is lost, and whether memory levels off (Linux; DURATION, 2m)", soakBench)
}

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
func soakBench(ctx context.Context, o *Out, args []string) error {
	duration := 2 * time.Minute
	if len(args) > 0 {
		var err error
		if duration, err = time.ParseDuration(args[0]); err != nil || duration < 10*time.Second {
			return fmt.Errorf("want a time of 10s or more, as 20m: %q", args[0])
		}
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	build := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "./cmd/plimsoll", "./internal/testing/toolserver/standalone")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
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

	agent, err := startSoaked(ctx, dir, "agent", "[mcp]\nargocd_simulator = \"on\"\n", "agent", "serve", "--lab", "--model", "standin")
	if err != nil {
		return err
	}
	defer agent.stop()
	tools := fmt.Sprintf("[%q]", filepath.Join(dir, "standalone"))
	daemon, err := startSoaked(ctx, dir, "daemon",
		"[mcp.servers.steady]\ncommand = "+tools+"\n[mcp.servers.crashes]\ncommand = "+tools+
			fmt.Sprintf("\n[upstream]\nopenai = %q\nanthropic = %q\ngemini = %q\n", provider.URL+"/v1", provider.URL, provider.URL), "serve")
	if err != nil {
		return err
	}
	defer daemon.stop()

	load := &soakLoad{agent: agent.url, daemon: daemon.url}
	loading, enough := context.WithTimeout(ctx, duration)
	defer enough()
	go func() {
		for loading.Err() == nil {
			agent.look()
			daemon.look()
			select {
			case <-loading.Done():
			case <-time.After(soakSample):
			}
		}
	}()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() { load.questions(ctx, loading, n) })
		if n < 4 {
			all.Go(func() { load.models(ctx, loading, n) })
			all.Go(func() { load.tools(ctx, loading, "steady", n) })
		}
		if n < 3 {
			all.Go(func() { load.tools(ctx, loading, "crashes", n) })
		}
	}
	all.Go(func() { load.crashes(ctx, loading) })
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	load.settle(ctx)
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(soakSample)
	for _, c := range load.counts() {
		o.Add(Row{Case: c.name, Metric: "ended as they should", Value: float64(c.well), Unit: "of them", Baseline: "begun", BaselineValue: float64(c.begun)})
	}
	var problems []error
	for _, s := range []*soaked{agent, daemon} {
		problems = append(problems, s.tell(o))
	}
	load.mu.Lock()
	defer load.mu.Unlock()
	for _, l := range load.lost {
		problems = append(problems, errors.New(l))
	}
	o.Note("%s of load; RssAnon is the most that was seen in the last third of it, beside the first third.", duration)
	return errors.Join(problems...)
}

// soaked is a server under load.
type soaked struct {
	name, url, state string
	cmd              *exec.Cmd
	mu               sync.Mutex
	seen             []soakLook
}

// soakLook holds the resources that a server held at one moment.
type soakLook struct{ anon, fds, goroutines, files, bytes float64 }

// startSoaked starts plimsoll with a home, a state and settings of its own, and waits until it listens.
func startSoaked(ctx context.Context, dir, name, settings string, args ...string) (*soaked, error) {
	home := filepath.Join(dir, name)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	config, ready := filepath.Join(home, "config.toml"), filepath.Join(home, "ready")
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	s := &soaked{name: name, state: filepath.Join(home, "state")}
	s.cmd = exec.CommandContext(ctx, filepath.Join(dir, "plimsoll"), append(args, "--listen", "127.0.0.1:0", "--ready-file", ready, "--quiet")...)
	s.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "PLIMSOLL_CONFIG=" + config, "PLIMSOLL_STATE_DIR=" + s.state}
	said, err := os.Create(filepath.Join(home, "said"))
	if err != nil {
		return nil, err
	}
	defer said.Close()
	s.cmd.Stdout, s.cmd.Stderr = said, said
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(soakPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(ready); err == nil && strings.HasSuffix(string(text), "\n") {
			s.url = strings.TrimSpace(string(text))
			return s, nil
		}
	}
	s.stop()
	text, _ := os.ReadFile(said.Name())
	return nil, fmt.Errorf("plimsoll %s is not ready: %s", args[0], text)
}

func (s *soaked) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// look measures what the server holds now.
func (s *soaked) look() {
	l := soakLook{anon: float64(anonOf(s.cmd.Process.Pid))}
	if open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.cmd.Process.Pid)); err == nil {
		l.fds = float64(len(open))
	}
	l.goroutines = soakMetric(s.url, "go_goroutines")
	_ = filepath.WalkDir(s.state, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		l.files++
		if info, err := e.Info(); err == nil {
			l.bytes += float64(info.Size())
		}
		return nil
	})
	s.mu.Lock()
	s.seen = append(s.seen, l)
	s.mu.Unlock()
}

// tell adds the rows of a server. What it must have given back when nobody asks it any more is an error where it has not.
func (s *soaked) tell(o *Out) error {
	s.mu.Lock()
	seen := slices.Clone(s.seen)
	s.mu.Unlock()
	if len(seen) < 3 {
		return fmt.Errorf("%s was looked at %d times", s.name, len(seen))
	}
	most := func(looks []soakLook, of func(soakLook) float64) (most float64) {
		for _, l := range looks {
			most = max(most, of(l))
		}
		return most
	}
	first, last := seen[:len(seen)/3], seen[len(seen)-len(seen)/3:]
	const mib = 1 << 20
	for _, m := range []struct {
		name, unit string
		of         func(soakLook) float64
	}{
		{"RssAnon", "MiB", func(l soakLook) float64 { return l.anon / mib }},
		{"open files", "", func(l soakLook) float64 { return l.fds }},
		{"goroutines", "", func(l soakLook) float64 { return l.goroutines }},
		{"files of state", "", func(l soakLook) float64 { return l.files }},
		{"bytes of state", "MiB", func(l soakLook) float64 { return l.bytes / mib }},
	} {
		o.Add(Row{Case: s.name, Metric: m.name, Value: most(last, m.of), Unit: m.unit, Baseline: "first third", BaselineValue: most(first, m.of)})
	}
	s.look() // nobody asks it any more
	s.mu.Lock()
	idle := s.seen[len(s.seen)-1]
	s.mu.Unlock()
	begin := seen[0]
	o.Add(Row{Case: s.name, Metric: "goroutines, idle again", Value: idle.goroutines, Baseline: "at the start", BaselineValue: begin.goroutines})
	o.Add(Row{Case: s.name, Metric: "open files, idle again", Value: idle.fds, Baseline: "at the start", BaselineValue: begin.fds})
	// A server keeps a few connections and processes of MCP servers for the next question.
	const kept = 40
	if idle.goroutines > begin.goroutines+kept || idle.fds > begin.fds+kept {
		return fmt.Errorf("%s keeps %.0f goroutines and %.0f open files when nobody asks it; it began with %.0f and %.0f", s.name, idle.goroutines, idle.fds, begin.goroutines, begin.fds)
	}
	return nil
}
