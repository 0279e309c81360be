package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
)

func init() {
	register("watch", "what being watched costs a run and its supervisor, and what plimsoll top costs beside 100 runs", watchBench)
}

const (
	watchedRuns = 100
	// clockTick is USER_HZ, in which /proc counts processor time; 100 on every Linux that Go runs on.
	clockTick = 10 * time.Millisecond
)

// watchBench measures `run -- true` with and without a record, then 100 real runs and `plimsoll top` beside them. args[0] is the
// length of each look in seconds (20).
func watchBench(ctx context.Context, o *Out, args []string) error {
	look := 20 * time.Second
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("the length is %q, want a positive number of seconds", args[0])
		}
		look = time.Duration(n) * time.Second
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := builtBinary(ctx, dir)
	if err != nil {
		return err
	}
	if err := kept(ctx, o, dir, binary); err != nil {
		return err
	}
	return watched(ctx, o, dir, binary, look)
}

// kept takes turns between `run -- true` that keeps a record and one that does not.
func kept(ctx context.Context, o *Out, dir, binary string) error {
	const turns = 150
	type figures struct {
		wall, cpu []time.Duration
		touched   []time.Duration // pages of memory that were touched, as durations, for the median
	}
	all := map[string]*figures{"true": {}, "false": {}}
	for turn := range turns {
		for keep, f := range all {
			cmd := exec.CommandContext(ctx, binary, "run", "--quiet", "--enforcement", "off", "--", "/bin/true")
			cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(dir, "kept-"+keep), "PLIMSOLL_WATCH_RUNS="+keep)
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			if turn < 5 {
				continue
			}
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			f.wall = append(f.wall, time.Since(began))
			f.cpu = append(f.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			f.touched = append(f.touched, time.Duration(usage.Minflt))
		}
	}
	with, without := all["true"], all["false"]
	const name = "run -- true with a record"
	o.Add(Row{Case: name, Metric: "wall, median", Value: ms(median(with.wall)), Unit: "ms", Baseline: "without", BaselineValue: ms(median(without.wall))})
	o.Add(Row{Case: name, Metric: "wall, added", Value: ms(median(with.wall) - median(without.wall)), Unit: "ms", Baseline: "goal", BaselineValue: 1})
	o.Add(Row{Case: name, Metric: "processor, median", Value: ms(median(with.cpu)), Unit: "ms", Baseline: "without", BaselineValue: ms(median(without.cpu))})
	o.Add(Row{Case: name, Metric: "memory touched, added", Value: float64(median(with.touched)-median(without.touched)) * float64(os.Getpagesize()) / 1024, Unit: "KiB", Baseline: "goal", BaselineValue: 512})
	return nil
}

// watched starts the runs and looks at them.
func watched(ctx context.Context, o *Out, dir, binary string, look time.Duration) (err error) {
	environ := append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(dir, "state"), "TERM=xterm-256color")
	var runs []*exec.Cmd
	defer func() {
		for _, cmd := range runs {
			_ = cmd.Process.Signal(syscall.SIGTERM)
		}
		for _, cmd := range runs {
			_ = cmd.Wait()
		}
	}()
	idle, busy := []int{}, []int{}
	for i := range watchedRuns {
		script := "sleep 1000"
		if i%2 == 1 { // something happens in every second
			script = "while :; do sleep 1; done"
		}
		cmd := exec.CommandContext(ctx, binary, "run", "--quiet", "--tool", "watched", "--memory-max", "64M", "--", "sh", "-c", script)
		cmd.Env = append(environ, "PLIMSOLL_TOOLS_WATCHED_MAX_CONCURRENT=0")
		if err := cmd.Start(); err != nil {
			return err
		}
		runs = append(runs, cmd)
		if i%2 == 1 {
			busy = append(busy, cmd.Process.Pid)
		} else {
			idle = append(idle, cmd.Process.Pid)
		}
	}
	env := func(c *exec.Cmd) *exec.Cmd { c.Env = environ; return c }
	for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		out, err := env(exec.CommandContext(ctx, binary, "top", "--once", "--json")).Output()
		if err == nil && bytes.Count(out, []byte(`"state": "run`)) == watchedRuns {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("not all of the %d runs are there: %w, %.300s", watchedRuns, err, out)
		}
	}
	percent := func(of []int) func() float64 {
		before, began := processorOf(of), time.Now()
		return func() float64 {
			return 100 * float64(processorOf(of)-before) / float64(time.Since(began)) / float64(len(of))
		}
	}
	time.Sleep(3 * time.Second)
	ofIdle, ofBusy := percent(idle), percent(busy)
	if err := wait(ctx, look); err != nil {
		return err
	}
	o.Add(Row{Case: "supervisor of a run that sleeps", Metric: "processor", Value: ofIdle(), Unit: "% of a core", Baseline: "goal", BaselineValue: 0.1})
	o.Add(Row{Case: "supervisor of a run with a process a second", Metric: "processor", Value: ofBusy(), Unit: "% of a core", Baseline: "goal", BaselineValue: 0.1})

	top := env(exec.CommandContext(ctx, binary, "top"))
	began := time.Now()
	terminal, err := pty.StartWithSize(top, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return err
	}
	defer terminal.Close()
	first := make(chan time.Duration, 1)
	go func() {
		buf, text := make([]byte, 64<<10), ""
		for {
			n, err := terminal.Read(buf)
			if text += string(buf[:n]); strings.Contains(text, "watched") && len(first) == 0 {
				first <- time.Since(began)
			}
			if len(text) > 1<<20 {
				text = ""
			}
			if err != nil {
				_, _ = io.Copy(io.Discard, terminal)
				return
			}
		}
	}()
	select {
	case took := <-first:
		o.Add(Row{Case: "plimsoll top beside 100 runs", Metric: "first frame", Value: ms(took), Unit: "ms", Baseline: "goal", BaselineValue: 100})
	case <-time.After(10 * time.Second):
		return fmt.Errorf("plimsoll top shows nothing")
	}
	time.Sleep(2 * time.Second)
	ofTop := percent([]int{top.Process.Pid})
	if err := wait(ctx, look); err != nil {
		return err
	}
	o.Add(Row{Case: "plimsoll top beside 100 runs", Metric: "processor", Value: ofTop(), Unit: "% of a core", Baseline: "goal", BaselineValue: 2})
	o.Add(Row{Case: "plimsoll top beside 100 runs", Metric: "RssAnon", Value: float64(anonOf(top.Process.Pid)) / 1024, Unit: "KiB"})
	_, _ = terminal.WriteString("q")
	return top.Wait()
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// processorOf is the processor time of some processes so far, without that of their children.
func processorOf(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			continue
		}
		user, _ := strconv.ParseInt(fields[11], 10, 64)
		system, _ := strconv.ParseInt(fields[12], 10, 64)
		sum += time.Duration(user+system) * clockTick
	}
	return sum
}
