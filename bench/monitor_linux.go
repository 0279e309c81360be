package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func init() {
	register("monitor", "CPU of watching a tree of 200 processes, against reading smaps_rollup of each", monitor)
}

const (
	treeSize = 200
	settling = 2 * time.Second
	// treeScript is a shell with 199 idle children.
	treeScript = `i=1; while [ $i -lt 200 ]; do sleep 100000 & i=$((i+1)); done; wait`
)

// monitor measures what a supervisor spends per second while a tree of 200 idle processes
// runs: the user and system time of this whole process (getrusage) over the period, its
// runtime and garbage collector included, as percent of one core. args[0] is the period of
// each case in seconds (10).
func monitor(ctx context.Context, o *Out, args []string) error {
	period := 10 * time.Second
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("the period is %q, want a positive number of seconds", args[0])
		}
		period = time.Duration(n) * time.Second
	}
	base, err := smapsEach(ctx, period)
	if err != nil {
		return err
	}
	const baseline = "smaps_rollup of each, every 500 ms"
	o.Add(Row{Case: baseline, Metric: "cpu", Value: base, Unit: "% of a core"})
	add := func(name string, percent, goal float64) {
		o.Add(Row{Case: name, Metric: "cpu", Value: percent, Unit: "% of a core", Baseline: baseline, BaselineValue: base})
		if goal > 0 {
			o.Add(Row{Case: name, Metric: "cpu", Value: percent, Unit: "% of a core", Baseline: "goal", BaselineValue: goal})
		}
	}
	for name, pause := range map[string]time.Duration{
		"waking up every 50 ms, nothing else": 50 * time.Millisecond, "nothing": time.Hour,
	} {
		idle, err := ticksOf(ctx, period, pause, func() error { return nil })
		if err != nil {
			return err
		}
		add(name, idle, 0)
	}
	for _, every := range []int{1, 10} {
		group, err := readGroup(ctx, o, period, every)
		if err != nil {
			return err
		}
		if group >= 0 {
			add(fmt.Sprintf("cgroup usage every 50 ms, members every %d ms", 50*every), group, 0.1)
		}
	}
	var here []string
	for _, c := range sandbox.Probe(ctx, false) {
		if !c.Available {
			o.Note("layer %s is not here: %s", c.Name, c.Why)
			continue
		}
		const goal = 0.1
		for _, memory := range []limit.Bytes{0, 64 * limit.GiB} {
			percent, err := watchLayer(ctx, c.Name, memory, period)
			if err != nil {
				return fmt.Errorf("layer %s: %w", c.Name, err)
			}
			name := "layer " + string(c.Name)
			if memory > 0 {
				name += " with a limit"
			}
			add(name, percent, goal)
		}
		here = append(here, string(c.Name))
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
	for _, layer := range here {
		if err := idleSupervisor(ctx, o, binary, layer, period); err != nil {
			return err
		}
	}
	return nil
}

// idleSupervisor measures `plimsoll run` itself over the tree, with all that it watches, once it has given back what starting took.
func idleSupervisor(ctx context.Context, o *Out, binary, layer string, period time.Duration) error {
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cmd := exec.CommandContext(ctx, binary, "run", "--quiet", "--layer", layer, "--", "/bin/sh", "-c", treeScript)
	cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(dir, "state"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was ended by us
	}()
	const settled = 7 * time.Second // two more than it waits before it gives memory back
	if err := wait(ctx, settled); err != nil {
		return err
	}
	name := "plimsoll run, idle, layer " + layer
	o.Add(Row{Case: name, Metric: "RssAnon", Value: float64(anonOf(cmd.Process.Pid)) / 1000, Unit: "kB", Baseline: "goal", BaselineValue: 4000})
	period *= 4 // the kernel counts in hundredths of a second
	before := processorOf([]int{cmd.Process.Pid})
	if err := wait(ctx, period); err != nil {
		return err
	}
	spent := processorOf([]int{cmd.Process.Pid}) - before
	o.Add(Row{Case: name, Metric: "cpu", Value: 100 * float64(spent) / float64(period), Unit: "% of a core", Baseline: "goal", BaselineValue: 0.1})
	return nil
}

// ticksOf runs f every pause for the period and returns what this process spent meanwhile.
func ticksOf(ctx context.Context, period, pause time.Duration, f func() error) (percent float64, err error) {
	before, began := cpuTime(), time.Now()
	end := time.NewTimer(period)
	defer end.Stop()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-end.C:
			return 100 * float64(cpuTime()-before) / float64(time.Since(began)), nil
		case <-ticker.C:
			if err := f(); err != nil {
				return 0, err
			}
		}
	}
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails only for a bad argument
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// watchLayer lets the sandbox itself watch the tree.
func watchLayer(ctx context.Context, layer sandbox.Layer, memory limit.Bytes, period time.Duration) (float64, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	whole := make(chan struct{})
	complete := false
	run, err := sandbox.Start(ctx, sandbox.Spec{
		ID: fmt.Sprintf("bench-%d-%s-%d", os.Getpid(), layer, memory>>30), Path: "/bin/sh", Args: []string{"sh", "-c", treeScript},
		Files: []*os.File{null, null, null}, Layers: []sandbox.Layer{layer}, Limits: sandbox.Limits{Memory: memory},
		Detach: true, Subreaper: true,
		Observe: func(s sandbox.Sample) {
			if s.Processes >= treeSize && !complete {
				complete = true
				close(whole)
			}
		},
	})
	if err != nil {
		return 0, err
	}
	percent, err := 0.0, error(nil)
	select {
	case <-whole:
		// The newcomers' files are opened and their scores raised once; that is not watching.
		if _, err = ticksOf(ctx, settling, time.Hour, func() error { return nil }); err == nil {
			percent, err = ticksOf(ctx, period, time.Hour, func() error { return nil })
		}
	case <-run.Exited():
		err = errors.New("the tree ended before it was whole")
	case <-time.After(30 * time.Second):
		err = fmt.Errorf("the tree had %d of %d processes after 30 s", run.Sample().Processes, treeSize)
	case <-ctx.Done():
		err = ctx.Err()
	}
	err = errors.Join(err, run.Kill())
	_, _ = run.Wait() // it was killed
	return percent, err
}

// tree starts the 200 processes without a supervisor and returns their PIDs.
func tree(ctx context.Context) (pids []int, stop func(), err error) {
	c := exec.Command("/bin/sh", "-c", treeScript)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return nil, nil, err
	}
	stop = func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the group is led by our child, which is not yet reaped
		_ = c.Wait()
	}
	children := fmt.Sprintf("/proc/%d/task/%d/children", c.Process.Pid, c.Process.Pid)
	for len(pids) < treeSize {
		b, err := os.ReadFile(children)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			stop()
			return nil, nil, err
		}
		pids = append(pids[:0], c.Process.Pid)
		for field := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, stop, nil
}

// smapsEach returns how monitors usually sum proportional memory.
func smapsEach(ctx context.Context, period time.Duration) (float64, error) {
	pids, stop, err := tree(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	return ticksOf(ctx, period, 500*time.Millisecond, func() error {
		total := 0
		for _, pid := range pids {
			b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(b)) {
				if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
					kilobytes, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
					total += kilobytes
				}
			}
		}
		if total == 0 {
			return errors.New("the tree holds no memory")
		}
		return nil
	})
}

// readGroup returns the floor of every cgroup layer: the usage and the member list of a group
// with the whole tree, read through descriptors kept open every 50 ms, the members at every
// membersEvery-th turn. It is below 0 where there is no
// such group.
func readGroup(ctx context.Context, o *Out, period time.Duration, membersEvery int) (float64, error) {
	pids, stop, err := tree(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	dir := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("plimsoll-bench-%d", os.Getpid()))
	name := "memory.usage_in_bytes"
	if err := os.Mkdir(dir, 0o700); err == nil {
		// Removed after the tree has ended: deferred functions run last first.
		defer func() {
			stop()
			for range 1000 {
				if os.Remove(dir) == nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
			o.Note("%s could not be removed", dir)
		}()
		for _, pid := range pids {
			if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
				return 0, err
			}
		}
	} else {
		own, err := os.ReadFile("/proc/self/cgroup")
		if err != nil {
			return 0, err
		}
		_, path, _ := strings.Cut(string(own), "0::")
		path, _, _ = strings.Cut(path, "\n")
		dir, name = filepath.Join("/sys/fs/cgroup", path), "memory.current"
	}
	usage, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		o.Note("reading a cgroup was not measured: no writable version 1 group and no version 2 group with memory: %v", err)
		return -1, nil
	}
	defer usage.Close()
	procs, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return 0, err
	}
	defer procs.Close()
	buf := make([]byte, 64<<10)
	members, turn := 0, 0
	percent, err := ticksOf(ctx, period, 50*time.Millisecond, func() error {
		if _, err := usage.ReadAt(buf, 0); err != nil && err != io.EOF {
			return err
		}
		if turn++; turn%membersEvery != 0 {
			return nil
		}
		n, err := readWhole(procs, buf)
		members = bytes.Count(buf[:n], []byte{10})
		return err
	})
	if err == nil && members < treeSize {
		err = fmt.Errorf("%s lists %d of %d processes", dir, members, treeSize)
	}
	return percent, err
}

// readWhole reads a file of the kernel from its start; it hands them out in pages.
func readWhole(f *os.File, buf []byte) (n int, err error) {
	for n < len(buf) {
		more, err := f.ReadAt(buf[n:], int64(n))
		n += more
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// clockTick is USER_HZ, in which /proc counts processor time; 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// processorOf returns the processor time of some processes so far, without that of their children.
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
