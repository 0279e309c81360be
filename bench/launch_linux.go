package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func init() {
	register("launch", "start and stop of /bin/true in each layer, against bare fork and exec", launch)
}

// launch takes turns between every layer and the bare baseline, so that a slow moment of
// the machine hits all of them; medians are reported. args[0] is the number of turns (100).
func launch(ctx context.Context, o *Out, args []string) error {
	turns := 100
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("the number of turns is %q, want a positive number", args[0])
		}
		turns = n
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	var layers []sandbox.Layer
	for _, c := range sandbox.Probe(ctx, false) {
		if c.Available {
			layers = append(layers, c.Name)
		} else {
			o.Note("layer %s is not here: %s", c.Name, c.Why)
		}
	}
	times := map[string][]time.Duration{}
	for turn := range turns + 3 { // the first three warm up
		if err := ctx.Err(); err != nil {
			return err
		}
		measure := func(name string, f func() error) error {
			began := time.Now()
			if err := f(); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if turn >= 3 {
				times[name] = append(times[name], time.Since(began))
			}
			return nil
		}
		if err := measure("bare", func() error { return bare(null) }); err != nil {
			return err
		}
		for i, layer := range layers {
			id := fmt.Sprintf("bench-%d-%d-%d", os.Getpid(), turn, i)
			if err := measure(string(layer), func() error { return inLayer(ctx, layer, id, null) }); err != nil {
				return err
			}
		}
	}
	base := median(times["bare"])
	o.Add(Row{Case: "bare fork and exec", Metric: "median", Value: ms(base), Unit: "ms"})
	for _, layer := range layers {
		m := median(times[string(layer)])
		o.Add(Row{Case: string(layer), Metric: "median", Value: ms(m), Unit: "ms", Baseline: "bare", BaselineValue: ms(base)})
		o.Add(Row{Case: string(layer), Metric: "added", Value: ms(m - base), Unit: "ms", Baseline: "goal", BaselineValue: 3})
	}
	return wholeCommand(ctx, o, layers, min(turns, 50))
}

func bare(null *os.File) error {
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

func inLayer(ctx context.Context, layer sandbox.Layer, id string, null *os.File) error {
	run, err := sandbox.Start(ctx, sandbox.Spec{
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

// wholeCommand times `plimsoll run -- true` as a process of its own.
func wholeCommand(ctx context.Context, o *Out, layers []sandbox.Layer, turns int) error {
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := builtBinary(ctx, dir)
	if err != nil {
		return err
	}
	if err := os.Setenv("PLIMSOLL_STATE_DIR", filepath.Join(dir, "state")); err != nil {
		return err
	}
	base, err := timeCommand(ctx, turns, "/bin/true")
	if err != nil {
		return err
	}
	whole, err := timeCommand(ctx, turns, binary, "run", "--quiet", "--", "/bin/true")
	if err != nil {
		return err
	}
	o.Add(Row{Case: "plimsoll run -- true", Metric: "median", Value: ms(whole), Unit: "ms", Baseline: "goal", BaselineValue: 20})
	o.Add(Row{Case: "plimsoll run -- true", Metric: "median", Value: ms(whole), Unit: "ms", Baseline: "true", BaselineValue: ms(base)})
	if !slices.Contains(layers, sandbox.Systemd) {
		o.Note("systemd-run was not measured: no service manager answers")
		return nil
	}
	return besideSystemdRun(ctx, o, binary, turns)
}

// besideSystemdRun compares with what most people would type instead. The two take turns, and both make a scope of the same
// service manager.
func besideSystemdRun(ctx context.Context, o *Out, binary string, turns int) error {
	path, err := exec.LookPath("systemd-run")
	if err != nil {
		o.Note("systemd-run was not measured: it is not installed")
		return nil
	}
	scope := []string{"--scope", "--quiet", "--collect", "-p", "MemoryMax=4G", "-p", "TasksMax=256", "/bin/true"}
	if os.Geteuid() != 0 {
		scope = slices.Insert(scope, 0, "--user")
	}
	var ours, theirs []time.Duration
	for turn := range turns + 3 {
		run := exec.CommandContext(ctx, binary, "run", "--quiet", "--memory-max", "4G", "--", "/bin/true")
		run.Env = append(os.Environ(), "PLIMSOLL_SANDBOX_LAYERS="+string(sandbox.Systemd))
		our, err := timed(run)
		if err != nil {
			return err
		}
		their, err := timed(exec.CommandContext(ctx, path, scope...))
		if err != nil {
			o.Note("systemd-run was not measured: %v", err)
			return nil
		}
		if turn >= 3 {
			ours, theirs = append(ours, our), append(theirs, their)
		}
	}
	o.Add(Row{Case: "plimsoll run -- true in a scope", Metric: "median", Value: ms(median(ours)), Unit: "ms", Baseline: "systemd-run --scope", BaselineValue: ms(median(theirs))})
	return nil
}

// timed runs a command that must succeed.
func timed(c *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	out, err := c.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s: %w: %s", c.Path, err, out)
	}
	return time.Since(began), nil
}

func timeCommand(ctx context.Context, turns int, name string, args ...string) (time.Duration, error) {
	var took []time.Duration
	for turn := range turns + 3 {
		d, err := timed(exec.CommandContext(ctx, name, args...))
		if err != nil {
			return 0, errors.Join(err, ctx.Err())
		}
		if turn >= 3 {
			took = append(took, d)
		}
	}
	return median(took), nil
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
