package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

const (
	treeSize = 200
	settling = 2 * time.Second
	// treeScript is a shell with 199 idle children.
	treeScript = `i=1; while [ $i -lt 200 ]; do sleep 100000 & i=$((i+1)); done; wait`
)

// monitorBench measures what a supervisor spends per second while a tree of 200 idle processes
// runs: the user and system time of this whole process (getrusage) over the period, its
// runtime and garbage collector included, as percent of one core. args[0] is the period of
// each case in seconds (10).
func monitorBench(o *Out, args []string) {
	m := &monitored{o, time.Duration(argNumber(args, 10)) * time.Second}
	base := m.costOfSmapsReads()
	const baseline = "smaps_rollup of each, every 500 ms"
	o.Add(Row{Case: baseline, Metric: "cpu", Value: base, Unit: "% of a core"})
	add := func(name string, percent, goal float64) {
		o.Add(Row{Case: name, Metric: "cpu", Value: percent, Unit: "% of a core", Baseline: baseline, BaselineValue: base})
		if goal > 0 {
			o.Add(Row{Case: name, Metric: "cpu", Value: percent, Unit: "% of a core", Baseline: "goal", BaselineValue: goal})
		}
	}
	add("waking up every 50 ms, nothing else", m.cpuOfTicks(50*time.Millisecond, func() {}), 0)
	add("nothing", m.idle(m.period), 0)
	const goal = 0.1
	for _, every := range []int{1, 10} {
		if group, ok := m.costOfGroupReads(every); ok {
			add(fmt.Sprintf("cgroup usage every 50 ms, members every %d ms", 50*every), group, goal)
		}
	}
	here := o.availableLayers()
	for _, layer := range here {
		add("layer "+string(layer), m.costOfLayer(layer, 0), goal)
		add("layer "+string(layer)+" with a limit", m.costOfLayer(layer, 64*limit.GiB), goal)
	}
	binary := o.binary()
	for _, layer := range here {
		m.measureIdleSupervisor(binary, string(layer))
	}
}

type monitored struct {
	*Out
	period time.Duration
}

// measureIdleSupervisor adds the rows of memory and processor time of `plimsoll run` itself over the tree, with all that it watches, once
// it has given back what starting took.
func (m *monitored) measureIdleSupervisor(binary, layer string) {
	cmd := exec.CommandContext(m.ctx, binary, "run", "--quiet", "--layer", layer, "--", "/bin/sh", "-c", treeScript)
	cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(m.TempDir(), "state"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	check(cmd.Start())
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was ended by us
	}()
	const settled = 7 * time.Second // two more than it waits before it gives memory back
	m.idle(settled)
	name := "plimsoll run, idle, layer " + layer
	m.Add(Row{Case: name, Metric: "RssAnon", Value: float64(anonOf(cmd.Process.Pid)) / 1000, Unit: "kB", Baseline: "goal", BaselineValue: 4000})
	period := 4 * m.period // the kernel counts in hundredths of a second
	before := cpuOf(cmd.Process.Pid)
	m.idle(period)
	spent := cpuOf(cmd.Process.Pid) - before
	m.Add(Row{Case: name, Metric: "cpu", Value: 100 * float64(spent) / float64(period), Unit: "% of a core", Baseline: "goal", BaselineValue: 0.1})
}

// cpuOfTicks calls f every pause for the period, and returns the processor time of this process meanwhile in percent of a core.
func (m *monitored) cpuOfTicks(pause time.Duration, f func()) (percent float64) {
	before, began := selfCPU(), time.Now()
	end := time.NewTimer(m.period)
	defer end.Stop()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		select {
		case <-m.ctx.Done():
			check(m.ctx.Err())
		case <-end.C:
			return 100 * float64(selfCPU()-before) / float64(time.Since(began))
		case <-ticker.C:
			f()
		}
	}
}

// idle waits, and returns what this process spent meanwhile.
func (m *monitored) idle(period time.Duration) (percent float64) {
	return (&monitored{m.Out, period}).cpuOfTicks(time.Hour, func() {})
}

// selfCPU returns what this process has used of the processors, all its threads together.
func selfCPU() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r) // fails only for a bad argument
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// costOfLayer starts the tree in a layer of the sandbox with a limit of memory, 0 for none, and returns the processor time that watching it
// takes, in percent of a core. It kills the tree.
func (m *monitored) costOfLayer(layer sandbox.Layer, memory limit.Bytes) (percent float64) {
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	whole := make(chan struct{})
	complete := sync.OnceFunc(func() { close(whole) })
	run := must(sandbox.Start(m.ctx, sandbox.Spec{
		ID: fmt.Sprintf("bench-%d-%s-%d", os.Getpid(), layer, memory>>30), Path: "/bin/sh", Args: []string{"sh", "-c", treeScript},
		Files: []*os.File{null, null, null}, Layers: []sandbox.Layer{layer}, Limits: sandbox.Limits{Memory: memory},
		Detach: true, Subreaper: true,
		Observe: func(s sandbox.Sample) {
			if s.Processes >= treeSize {
				complete()
			}
		},
	}))
	defer func() {
		if err := run.Kill(); err != nil {
			fmt.Fprintf(os.Stderr, "layer %s: its tree cannot be killed: %v\n", layer, err)
		}
		_, _ = run.Wait() // it was killed
	}()
	select {
	case <-whole:
	case <-run.Exited():
		m.Fatalf("layer %s: the tree ended before it was whole", layer)
	case <-time.After(30 * time.Second):
		m.Fatalf("layer %s: the tree had %d of %d processes after 30 s", layer, run.Sample().Processes, treeSize)
	case <-m.ctx.Done():
		check(m.ctx.Err())
	}
	m.idle(settling) // the newcomers' files are opened and their scores raised once; that is not watching
	return m.idle(m.period)
}

// startTree starts the 200 processes without a supervisor and returns their PIDs once all are there. stop kills them.
func (m *monitored) startTree() (pids []int, stop func()) {
	c := exec.Command("/bin/sh", "-c", treeScript)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	check(c.Start())
	stop = sync.OnceFunc(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // the group is led by our child, which is not yet reaped
		_ = c.Wait()
	})
	m.Cleanup(stop)
	children := fmt.Sprintf("/proc/%d/task/%d/children", c.Process.Pid, c.Process.Pid)
	for len(pids) < treeSize {
		check(m.ctx.Err())
		pids = append(pids[:0], c.Process.Pid)
		for field := range strings.FieldsSeq(string(must(os.ReadFile(children)))) {
			pids = append(pids, must(strconv.Atoi(field)))
		}
	}
	return pids, stop
}

// costOfSmapsReads returns what it costs to sum proportional memory as monitors usually do, in percent of a core.
func (m *monitored) costOfSmapsReads() float64 {
	pids, stop := m.startTree()
	defer stop()
	return m.cpuOfTicks(500*time.Millisecond, func() {
		total := 0
		for _, pid := range pids {
			for line := range strings.Lines(string(must(os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")))) {
				if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
					kilobytes, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
					total += kilobytes
				}
			}
		}
		if total == 0 {
			m.Fatal("the tree holds no memory")
		}
	})
}

// costOfGroupReads returns the floor of every cgroup layer: the usage and the member list of a group
// with the whole tree, read through descriptors kept open every 50 ms, the members at every
// membersEvery-th turn, where there is such a group.
func (m *monitored) costOfGroupReads(membersEvery int) (percent float64, ok bool) {
	pids, stop := m.startTree()
	dir, name := filepath.Join("/sys/fs/cgroup/memory", fmt.Sprintf("plimsoll-bench-%d", os.Getpid())), "memory.usage_in_bytes"
	if err := os.Mkdir(dir, 0o700); err == nil {
		defer func() {
			stop()
			if !wait.Reached(time.Second, func() bool { return os.Remove(dir) == nil }) {
				m.Note("%s could not be removed", dir)
			}
		}()
		for _, pid := range pids {
			check(os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
		}
	} else {
		defer stop()
		_, path, _ := strings.Cut(string(must(os.ReadFile("/proc/self/cgroup"))), "0::")
		path, _, _ = strings.Cut(path, "\n")
		dir, name = filepath.Join("/sys/fs/cgroup", path), "memory.current"
	}
	usage, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		m.Note("reading a cgroup was not measured: no writable version 1 group and no version 2 group with memory: %v", err)
		return 0, false
	}
	defer usage.Close()
	procs := must(os.Open(filepath.Join(dir, "cgroup.procs")))
	defer procs.Close()
	buf := make([]byte, 64<<10)
	members, turn := 0, 0
	percent = m.cpuOfTicks(50*time.Millisecond, func() {
		if _, err := usage.ReadAt(buf, 0); err != io.EOF {
			check(err)
		}
		if turn++; turn%membersEvery == 0 {
			n, err := io.ReadFull(io.NewSectionReader(procs, 0, int64(len(buf))), buf) // the kernel hands them out in pages
			if err != io.ErrUnexpectedEOF {
				check(err)
			}
			members = bytes.Count(buf[:n], []byte{10})
		}
	})
	if members < treeSize {
		m.Fatalf("%s lists %d of %d processes", dir, members, treeSize)
	}
	return percent, true
}
