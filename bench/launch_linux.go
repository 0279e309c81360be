package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// launch reports the medians of every layer and of the bare baseline. args[0] is the number of turns (100).
func launch(o *Out, args []string) {
	turns := count(args, 100)
	null := must(os.OpenFile(os.DevNull, os.O_RDWR, 0))
	defer null.Close()
	layers := o.layers()
	ways := []way{{"bare", func() error { return bare(null) }}}
	started := 0
	for _, layer := range layers {
		ways = append(ways, way{string(layer), func() error {
			started++
			return o.inLayer(layer, fmt.Sprintf("bench-%d-%d", os.Getpid(), started), null)
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
	o.wholeCommand(layers, min(turns, 50))
}

// layers returns the layers that are here.
func (o *Out) layers() (here []sandbox.Layer) {
	for _, c := range sandbox.Probe(o.ctx, false) {
		if c.Available {
			here = append(here, c.Name)
		} else {
			o.Note("layer %s is not here: %s", c.Name, c.Why)
		}
	}
	return here
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

func (o *Out) inLayer(layer sandbox.Layer, id string, null *os.File) error {
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

// wholeCommand times `plimsoll run -- true` as a process of its own.
func (o *Out) wholeCommand(layers []sandbox.Layer, turns int) {
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

// besideSystemdRun compares with what most people would type instead. Both make a scope of the same service manager.
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
