package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"

	"github.com/plimsoll/plimsoll/app/agents"
)

// Status is how this process should end.
type Status struct {
	// Code is the exit status.
	Code int
	// Signal is raised again on ourselves, so that a shell sees that its loop was
	// interrupted; 0 for none.
	Signal int
}

// execute starts the command in its sandbox and waits for the end of the run. starting is done
// when a signal asks to give up before the command runs; then the signals are the command's.
func (x *execution) execute(ctx, starting context.Context) error {
	p := x.plan
	terminal := sandbox.Terminal()
	screen := sandbox.SaveScreen()
	spec := sandbox.Spec{
		ID: x.id(), Path: p.Path, Args: x.opts.Command,
		Limits:      p.Limits,
		Enforcement: sandbox.Enforcement(p.Settings.Enforcement),
		Nested:      x.nested,
		OnExit:      sandbox.OnExit(p.Settings.OnExit),
		Grace:       p.Settings.Grace,
		OOMD:        sandbox.OOMDPreference(p.Settings.OOMD),
		Detach:      !terminal,
		Attended:    true,
		Subreaper:   true,
		Launcher:    len(p.Match.Via) > 0,
		OnTime:      x.onTime,
		Journal:     x.journal,
	}
	for _, name := range p.Settings.Layers {
		layer, err := sandbox.ParseLayer(name)
		if err != nil {
			return err
		}
		spec.Layers = append(spec.Layers, layer)
	}
	argv, environ := x.openProxy(ctx, spec.ID)
	if argv, environ = x.wrapServers(spec.ID, argv, environ); argv != nil {
		spec.Args, spec.Env = argv, environ
	}
	if x.exhausted() { // Plimsoll's own agent searches before it lists then
		if spec.Env == nil {
			spec.Env = os.Environ()
		}
		spec.Env = append(spec.Env, agents.SearchFirstName+"=1")
	}
	if x.claim != nil {
		x.notes.watchedAs(x.pressureMode(terminal))
		spec.Remember = func(r sandbox.Remains) error { return x.notes.remember(x.claim, r) }
		spec.Observe = func(s sandbox.Sample) { _ = x.claim.Observe(s.Working) }
	}
	var run *sandbox.Run
	started := make(chan struct{})
	spec.OnStop = func(int) {
		<-started
		if terminal {
			sandbox.StopWith(run.PID())
		}
	}
	run, err := sandbox.Start(starting, spec)
	if err != nil {
		if _, ok := errors.AsType[*sandbox.NotEnforced](err); ok {
			return demandedBy(p.Settings, err)
		}
		return err
	}
	close(started)
	// Until the run is recorded and reported: a late signal must not lose that.
	x.cleanup = append(x.cleanup, run.Attend(terminal, p.Settings.Grace))
	x.started()
	x.noteLimits(run.Strength())
	x.warnAboutStrength(run)
	x.warnAboutLogout(run)
	relax := x.underPressure(run, terminal)
	adopt := x.withOrphans(run)
	unwatch := x.withDisk(run)
	unsettle := settle(x.closeProxy != nil)
	x.result, err = run.Wait()
	unsettle()
	unwatch()
	adopt()
	relax()
	if x.closeProxy != nil {
		x.closeProxy()
	}
	x.collectTally(spec.ID)
	if err != nil {
		x.warn("clean-up", "not everything could be cleaned up, the next command tries again: "+err.Error())
	}
	if x.result.Signal != 0 {
		screen.Restore(x.result.Signal)
	}
	x.warnAboutPids()
	if x.claim != nil && x.leftRunning() {
		// The claim outlives us for what stays: it counts with its use only.
		x.claim = nil
	}
	x.judge()
	return nil
}

// warnAboutPids says what the limit of processes did: the command may have taken a refused
// fork for a passing fault, and what Plimsoll ended it may not have noticed at all.
func (x *execution) warnAboutPids() {
	most := x.plan.Limits.Pids
	switch r := x.result; {
	case r.PidsKills > 0:
		x.warn("pids", fmt.Sprintf("%d processes over the limit of %d were ended; for more: --pids-max %d", r.PidsKills, most, 2*most))
	case r.ForksRefused > 0:
		x.warn("pids", fmt.Sprintf("the limit of %d processes refused a new one %d times; for more: --pids-max %d", most, r.ForksRefused, 2*most))
	}
}

func (x *execution) id() string {
	if x.claim != nil {
		return x.claim.ID()
	}
	return admission.NewID()
}

func (x *execution) leftRunning() bool {
	for _, l := range x.result.Leftovers {
		if l.Fate == "left" || l.Fate == "survived" {
			return true
		}
	}
	return false
}

// warnAboutLogout: a user's scope ends with the user's last session, unless the user
// lingers. Whoever ignores SIGHUP (nohup) means the run to outlive the session.
func (x *execution) warnAboutLogout(run *sandbox.Run) {
	if run.Layer() == sandbox.Systemd && ignoresHangup() && !sandbox.Lingers() {
		x.warn("linger", "this run ends when you log out, although SIGHUP is ignored: the service manager of a user without a session is stopped; "+
			"to keep it: loginctl enable-linger")
	}
}

// warnAboutStrength says what is not enforced, once, when best effort is all there is.
func (x *execution) warnAboutStrength(run *sandbox.Run) {
	if x.plan.Settings.Enforcement == "off" {
		return
	}
	if held := run.Strength(); held.Memory != sandbox.ByKernel {
		x.warn("enforcement", fmt.Sprintf("memory is %s here, not held by the kernel (layer %s); plimsoll doctor says why",
			map[sandbox.Mechanism]string{
				sandbox.ByProcess: "limited per process", sandbox.ByWatching: "only watched", sandbox.ByNobody: "not limited",
			}[held.Memory], run.Layer()))
	}
}

// judge turns the result into the outcome and the exit status.
func (x *execution) judge() {
	r := &x.result
	x.status = Status{Code: r.ExitCode, Signal: r.Signal}
	x.outcome = r.Outcome()
	x.noteUse()
	x.journal.Append(journal.RunEnded{
		LimitReached: r.Reached,
		ExitCode:     r.ExitCode, Signal: sandbox.SignalName(r.Signal), Outcome: x.outcome, Duration: r.Duration,
		PeakBytes: int64(r.Peak.Bytes), PeakAnonBytes: int64(r.Peak.Working),
		PeakMethod: r.Peak.Method, PeakExact: r.Peak.Exact, OOMKills: r.OOMKills,
	})
}

// finish writes and shows the report.
func (x *execution) finish() {
	x.writeReport()
	report := x.reporter.Report()
	if x.opts.StderrIsTerminal && !x.opts.Quiet {
		x.say.report(report, x.plan, x.result.CPU)
		return
	}
	if next := advice(report, x.plan); len(next) > 0 {
		x.say.warn(inOneLine(report, next[0]))
	}
}

// checkReportFile finds out before the run whether the report can be written after it.
func checkReportFile(file string) error {
	if file == "" {
		return nil
	}
	dir := filepath.Dir(file)
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	if err == nil {
		if into, statErr := os.Lstat(file); statErr == nil && into.IsDir() {
			err = fmt.Errorf("%s is a directory", file)
		} else if statErr == nil && into.Mode()&os.ModeSymlink != 0 && !ofSystem(file) {
			err = fmt.Errorf("%s is a symbolic link, which is not followed", file)
		}
	}
	if err == nil && !exists(file) {
		var trial *os.File
		if trial, err = os.CreateTemp(dir, ".plimsoll-"); err == nil {
			_ = trial.Close()
			err = os.Remove(trial.Name())
		} else {
			err = fmt.Errorf("%s can't be written to", dir)
		}
	}
	if err != nil {
		return fmt.Errorf("--report %s: %w; name a file in a directory that exists and is yours to write to", file, err)
	}
	return nil
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
