package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	fleethistory "github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/idle"
	"github.com/plimsoll/plimsoll/internal/process/runtimes"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// process is the command of one run from its admission to its end, with what lives beside it: the claim, the proxy, the MCP servers.
type process struct {
	app      *app
	opts     *Options
	decision *decision
	report   *report
	history  *usage.History    // nil when nothing is recorded
	recorded *usage.Run        // nil until it is over
	ledger   *admission.Ledger // nil when runs are not coordinated
	claim    *admission.Claim
	notes    notebook // what the claim says about the run
	growth   growth
	use      *idle.Watch    // nil before the command starts
	meter    *spend.Meter   // nil while no proxy counts what the run spends
	answers  *spend.Answers // of its models
	through  bool           // the proxy sends to that of an outer run
	result   sandbox.Result
	closer   core.Closer // of what cannot fail
	// closeProxy ends the run's proxy, nil when it has none.
	closeProxy func()
	// started is called when the command runs: until then a signal gives up the start, from then on it is for the command.
	started func()
	// settled is called when the run has to wait for admission: the work of the first moments is over.
	settled func()
	// widen is called when the process serves a proxy beside the run: until then one processor is enough.
	widen func()
	// noTools is the reason why the tool is not offered the memory's tools; "" if it is.
	noTools string
	// nested is true when this process runs inside another run.
	nested bool
	handed handed
	editor *editor // nil where none speaks to the agent by its protocol
}

// request returns the request for the run's claim.
func (x *process) request() admission.Request {
	d := x.decision
	ask := d.Request(d.Settings)
	ask.ID, ask.Tool, ask.Variant, ask.Project = x.report.id, d.Tool, d.Variant, d.Project.Name
	ask.Parent, ask.Force = os.Getenv(sandbox.CookieName), x.opts.Force
	ask.Headroom = func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) }
	ask.Progress = func(p admission.Progress) {
		x.settled()
		if x.editor != nil {
			x.editor.queue.Store(&p)
		}
		x.report.journal.Append(journal.Waiting{Position: p.Position, Reason: string(p.Reason)})
		x.report.say.progress(p)
	}
	ask.Removed = func(h admission.Holder) {
		x.report.journal.Append(journal.CleanedUp{What: fmt.Sprintf("what %s (pid %d, since %s) left", h.Tool, h.Owner.PID, h.Since.Format(time.RFC3339))})
	}
	return ask
}

// admit waits until the run is admitted and takes its claim. If the ledger cannot be used, the run may start without a claim, with an alert.
// Refusal is an error, and so is a run that starts itself without end.
func (x *process) admit(ctx context.Context) error {
	ledger, err := x.openLedger()
	if err != nil {
		return x.uncoordinated(err)
	}
	claim, err := ledger.Acquire(ctx, x.request())
	if _, off := errors.AsType[*admission.UnavailableError](err); off {
		return x.uncoordinated(err)
	}
	if err != nil {
		return err
	}
	x.report.say.admitted(claim.Waited())
	x.ledger, x.claim = ledger, claim
	x.closer.Do(x.releaseClaim)
	_, nested := claim.Parent()
	x.nested = nested // a cookie of a run that is over forbids nothing
	x.report.journal.Append(journal.Admitted{
		ReservationBytes: int64(claim.Terms().Estimate), Forced: claim.Forced(), Nested: nested, Waited: claim.Waited(),
		AvailableBytes: int64(claim.Terms().Available()), ClaimedBytes: int64(claim.Terms().Claimed), MinFreeBytes: int64(claim.Terms().Reserve),
		ToolRuns: claim.Terms().Tool, ToolSlots: claim.Terms().ToolSlots, Runs: claim.Terms().Total, Slots: claim.Terms().TotalSlots,
	})
	x.noteLessRoom(claim.Terms())
	if claim.Forced() {
		x.report.warn("forced", "started by --force although it should not have been:\n"+claim.Terms().String())
	}
	return x.checkNesting()
}

// noteLessRoom warns when the run starts with a smaller reservation than it is expected to need, because no more memory is available; not within
// another run, or if it was forced.
func (x *process) noteLessRoom(t admission.Terms) {
	e := x.decision.Estimate
	if x.decision.Reservation <= t.Estimate || x.nested || x.claim.Forced() {
		return
	}
	why, next := "a guess", "end other programs, or count_swap = true"
	switch {
	case e.FromKills > 0:
		why = "learned when it ran out of memory"
	case e.Samples > 0 && !e.Guessed:
		why = EstimateWords(journal.Estimate{Samples: e.Samples, Source: e.Source})
	}
	if t.BoundBy != "" && t.BoundBy != headroom.Host {
		next = "raise the limit of cgroup " + t.BoundBy
	}
	x.report.warn("room", fmt.Sprintf("it may need %s (%s) and starts with the %s that are there for it, under a limit of %s; for more: %s",
		x.decision.Reservation.Human(), why, t.Estimate.Human(), x.decision.Limits.Memory.Human(), next))
}

// uncoordinated returns nil, with an alert, when the run may start without the ledger, whose error is err: only when the ledger cannot be
// written at all, so that nobody could coordinate with the run, and no enforcement is required. Else it returns the error.
func (x *process) uncoordinated(err error) error {
	if err := core.MayBeUncoordinated(x.decision.Settings.Enforcement, err); err != nil {
		if core.MayBeUncoordinated(config.EnforcementBestEffort, err) == nil {
			return demandedBy(x.decision.Settings, err)
		}
		return err
	}
	x.report.alert("ledger", "runs are not coordinated: "+err.Error())
	return nil
}

// openLedger opens the ledger of claims; its warnings go into the report, except those about runs that were left on purpose.
func (x *process) openLedger() (*admission.Ledger, error) {
	return x.app.OpenLedger(func(w admission.Warning) {
		if errors.Is(w.Err, sandbox.ErrBusy) {
			return // left running on purpose: slots and gc show it, every run need not
		}
		if w.About == "headroom" {
			x.report.alert(w.About, w.Text)
			return
		}
		x.report.warn(w.About, w.Text)
	})
}

// releaseClaim gives up the claim, if there is one.
func (x *process) releaseClaim() {
	if x.claim == nil {
		return
	}
	if err := x.claim.Release(); err != nil {
		x.report.alert("ledger", "the claim could not be freed, the next command does it: "+err.Error())
	}
	x.claim = nil
}

// recordHistory appends the run to the history, unless a daemon outside of the run has done its command's work: the history would learn the
// need of the client alone. It waits for the checks of handed-over work.
func (x *process) recordHistory() {
	if _, elsewhere := x.handed.finish(&x.result); x.history == nil || elsewhere {
		return
	}
	run := sizing.RunOf(x.result, x.decision.Limits.Memory)
	run.KilledChildren = len(x.report.reporter.Report().KilledChildren)
	run.Variant, run.ID = x.historyVariant(), fleethistory.RunID(x.id())
	if x.meter != nil {
		used := x.meter.Settled()
		run.Tokens, run.Cost, run.PlanCost = used.Tokens, used.Cost, used.Plan
		run.AnswerP99, run.Answers = x.answers.OwnP99()
	}
	x.recorded = &run
	project := x.decision.Project
	err := x.history.Append(usage.Project{Key: project.Key, Path: project.Root, Shared: project.Shared()}, x.decision.learnsAs(), run)
	if err != nil {
		x.report.alert("history", "this run was not recorded: "+err.Error())
	}
}

// execute starts the command in its sandbox and waits for the end of the run. starting is done when a signal asks to give up before the
// command runs; once it runs, signals are passed on to it. The error says that the command did not start.
func (x *process) execute(ctx, starting context.Context) error {
	terminal, screen := sandbox.Terminal(), sandbox.SaveScreen()
	spec, err := x.sandboxSpec(terminal)
	if err != nil {
		return err
	}
	if err := x.setUpCommand(ctx, &spec); err != nil {
		return err
	}
	if x.claim != nil {
		x.notes.record.Nesting.Path, x.notes.record.Nesting.Given = spec.Path, invocationHash(spec.Args, spec.Env)
		x.notes.watchedAs(x.pressureMode(terminal))
		spec.Remember = func(r sandbox.Remains) error { return x.notes.remember(x.claim, r) }
	}
	var run *sandbox.Run // there when started is closed
	started := make(chan struct{})
	x.use = x.watchUse(&run, started)
	spec.Observe = x.observer(screen, started, func(w admission.Wish) { x.answerWish(run, w) })
	spec.OnStop = func(int) {
		<-started
		if terminal {
			sandbox.StopWith(run.PID())
		}
	}
	connected, err := x.connectEditor(&spec)
	if err != nil {
		return err
	}
	if run, err = sandbox.Start(starting, spec); err != nil {
		if _, ok := errors.AsType[*sandbox.NotEnforced](err); ok {
			return demandedBy(x.decision.Settings, err)
		}
		return err
	}
	close(started)
	connected()
	// Until the run is recorded and reported: a late signal must not lose that.
	x.closer.Do(run.Attend(terminal, x.decision.Settings.Grace))
	x.started()
	x.noteLimits(run.Strength())
	x.warnAboutStrength(run)
	x.warnAboutLogout(run)
	watches := x.startWatches(run, terminal)
	x.result, err = run.Wait()
	_ = watches.Close(nil)
	x.finishCommand(spec.ID, err, screen)
	return nil
}

// sandboxSpec returns what the sandbox is to start, by the decision. It also looks for the program that called the command.
func (x *process) sandboxSpec(terminal bool) (sandbox.Spec, error) {
	p := x.decision
	caller := x.findCaller()
	spec := sandbox.Spec{
		ID: x.id(), Path: p.Path, Args: x.opts.Command,
		Limits:      p.Limits,
		Enforcement: sandbox.Enforcement(p.Settings.Enforcement),
		Nested:      x.nested,
		Reclaims:    p.reclaims(),
		OnExit:      sandbox.OnExit(p.Settings.OnExit),
		Grace:       p.Settings.Grace,
		OOMD:        sandbox.OOMDPreference(p.Settings.OOMD),
		Detach:      !terminal && caller == nil,
		Caller:      caller,
		Attended:    true,
		Subreaper:   true,
		Launcher:    len(p.Match.Via) > 0,
		Agent:       p.agentBehind(),
		Trials:      x.app.Trials(func(text string) { x.report.warn("trials", text) }),
		OnTime:      x.onTime,
		OnNear:      x.nearLimit,
		Journal:     x.report.journal,
	}
	for _, name := range p.Settings.Layers {
		layer, err := sandbox.ParseLayer(name)
		if err != nil {
			return spec, err
		}
		spec.Layers = append(spec.Layers, layer)
	}
	return spec, nil
}

// setUpCommand opens the proxy and puts the MCP servers behind the gateway, and sets the arguments and the environment in spec by which the
// command finds them and learns of its limits.
func (x *process) setUpCommand(ctx context.Context, spec *sandbox.Spec) error {
	p := x.decision
	argv, environ, err := x.openProxy(ctx, spec.ID)
	if err != nil {
		return err
	}
	if argv, environ = x.wrapServers(spec.ID, argv, environ); argv != nil {
		spec.Args, spec.Env = argv, environ
	}
	x.report.journal.Append(journal.MemoryReach{Words: x.reach(x.report.reporter.Report().Window.NoProxy).Describe(p.Settings)})
	if spec.Env == nil {
		spec.Env = os.Environ()
	}
	if x.diedOfMemory() { // Plimsoll's own agent searches before it lists then
		spec.Env = append(spec.Env, agents.SearchFirstName+"=1")
	}
	if p.Settings.Enforcement != config.EnforcementOff {
		spec.Env = runtimes.HandDown(spec.Env, p.Limits.Memory)
	}
	spec.Heap = runtimes.Heap(spec.Env, spec.Args)
	x.handed.memory, x.handed.pids = p.Limits.Memory, p.Limits.Pids
	x.handed.warn = func(text string) { x.report.warn("handed", text) }
	x.handed.check(strings.TrimSuffix(filepath.Base(x.opts.Command[0]), ".exe"), x.opts.Command[1:], true)
	spec.Meet = x.handed.checkProcess
	return nil
}

// startWatches starts everything that watches the run while it lasts. Closing the result ends it.
func (x *process) startWatches(run *sandbox.Run, terminal bool) *core.Closer {
	watches := &core.Closer{}
	watches.Do(x.guardPressure(run, terminal))
	watches.Do(x.watchOrphans(run))
	watches.Do(x.withDisk(run))
	watches.Do(releaseMemory(x.closeProxy != nil))
	watches.Do(func() { x.growth.end(&x.decision.Limits) })
	watches.Do(x.use.Stop)
	watches.Do(x.boundOutput())
	watches.Do(x.watchSlurm())
	watches.Do(x.watchEditor())
	return watches
}

// finishCommand does what is needed between the end of the command and its report: it closes the proxy, collects counts, restores the
// terminal and warns. err says what of the run could not be cleaned up.
func (x *process) finishCommand(run string, err error, screen *sandbox.Screen) {
	if x.closeProxy != nil {
		x.closeProxy()
		x.warnAboutProxy()
	}
	x.collectTally(run)
	if err != nil {
		x.report.warn("clean-up", "not everything could be cleaned up, the next command tries again: "+err.Error())
	}
	screen.Restore(x.result.Signal, x.result.ExitCode)
	x.warnAboutPids()
	if handed, _ := x.handed.finish(&x.result); handed {
		x.result.Peak.Exact = false
	}
	if x.claim != nil && x.leftRunning() {
		// The claim outlives us for what stays: it counts with its use only.
		x.claim = nil
	}
	x.noteUse()
	x.report.end(&x.result)
	x.answerEditor()
}

// warnAboutPids warns of refused and ended processes at the limit of processes: the command may have taken a refused
// fork for a passing fault, and what Plimsoll ended it may not have noticed at all.
func (x *process) warnAboutPids() {
	most := x.decision.Limits.Pids
	switch r := x.result; {
	case r.PidsKills > 0:
		x.report.warn("pids", fmt.Sprintf("%d processes over the limit of %d were ended; for more: --pids-max %d", r.PidsKills, most, 2*most))
	case r.ForksRefused > 0:
		x.report.warn("pids", fmt.Sprintf("the limit of %d processes refused a new one %d times; for more: --pids-max %d", most, r.ForksRefused, 2*most))
	}
}

// id returns the run's id: that of its claim, else the one that its report was given.
func (x *process) id() string {
	if x.claim != nil {
		return x.claim.ID()
	}
	return x.report.id
}

// observer returns a function for [sandbox.Spec].Observe, nil when there is neither a claim nor a store nor a fleet nor a limit of an idle time:
// it publishes each sample in the claim, stores it, has the screen and the use looked at, and passes a wish for a higher limit on to fulfil, in a
// goroutine and after started.
func (x *process) observer(screen *sandbox.Screen, started <-chan struct{}, fulfil func(admission.Wish)) func(sandbox.Sample) {
	claim, store, own := x.claim, x.report.store, x.report.own
	if claim == nil && store == nil && own == nil && x.decision.idleMax() == 0 {
		return nil
	}
	return func(s sandbox.Sample) {
		screen.Look()
		x.use.Look(s.Work)
		if claim != nil {
			_ = claim.Observe(s.Working)
			if w, ok := claim.Wished(); ok {
				go func() {
					<-started
					fulfil(w)
				}()
			}
		}
		sample := runs.Sample{Working: int64(s.Working), Charged: int64(s.Charged), CPUMS: s.CPU.Milliseconds(), Processes: s.Processes}
		if store != nil {
			store.Sample(sample)
			store.AddShares(s.Working, s.Processes, s.Shares)
		}
		if own != nil {
			own.Sample(sample)
		}
	}
}

// leftRunning reports whether processes of the run still run, on purpose or because they could not be killed.
func (x *process) leftRunning() bool {
	for _, l := range x.result.Leftovers {
		if l.Fate == "left" || l.Fate == "survived" {
			return true
		}
	}
	return false
}

// warnAboutLogout warns that the run ends at logout although SIGHUP is ignored, by which the user means it to outlive the session (nohup):
// a user's scope ends with the user's last session unless the user lingers.
func (x *process) warnAboutLogout(run *sandbox.Run) {
	if run.Layer() == sandbox.Systemd && ignoresHangup() && !sandbox.Lingers() {
		x.report.warn("linger", "this run ends when you log out, although SIGHUP is ignored: the service manager of a user without a session is stopped; "+
			"to keep it: loginctl enable-linger")
	}
}

// warnAboutStrength warns when the memory limit is not held by the kernel.
func (x *process) warnAboutStrength(run *sandbox.Run) {
	if x.decision.Settings.Enforcement == "off" {
		return
	}
	if held := run.Strength(); held.Memory != sandbox.ByKernel {
		x.report.warn("enforcement", fmt.Sprintf("memory is %s here, not held by the kernel (layer %s); plimsoll doctor says why",
			map[sandbox.Mechanism]string{
				sandbox.ByProcess: "limited per process", sandbox.ByWatching: "only watched", sandbox.ByNobody: "not limited",
			}[held.Memory], run.Layer()))
	}
}
