package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/headroom"
	"github.com/plimsoll/plimsoll/process/sandbox"
	"github.com/plimsoll/plimsoll/process/usage"
)

// RunOptions are what `plimsoll run` can be told beside the configuration.
type RunOptions struct {
	// Command is the argument vector. Required.
	Command []string
	// Tool overrides which tool the command counts as.
	Tool string
	// Force goes ahead against admission's refusal.
	Force bool
	// DryRun decides and prints, and does not run.
	DryRun bool
	// JSON makes DryRun print one JSON object.
	JSON bool
	// ReportFile takes the run report as JSON; "" writes none.
	ReportFile string
	// Quiet leaves out everything but errors.
	Quiet bool
	// Stdout is where DryRun prints, Stderr where Plimsoll's own words go.
	Stdout, Stderr io.Writer
	// StderrIsTerminal says that a person reads Stderr: the report at the end and the
	// progress of waiting are shown.
	StderrIsTerminal bool
}

// The exit codes of Plimsoll's own failures.
const exitFailed = 125

// execution is one run on its way through [App.Run].
type execution struct {
	app      *App
	opts     *RunOptions
	plan     *Plan
	journal  *journal.Journal
	reporter *journal.Reporter
	history  *usage.History
	ledger   *admission.Ledger // nil when runs are not coordinated
	claim    *admission.Claim
	notes    notebook // what the claim says about the run
	say      *speaker
	result   sandbox.Result
	outcome  journal.Outcome
	status   Status
	cleanup  []func()
	early    []journal.Warned // before there is a journal
	// closeProxy ends the run's proxy, nil when it has none.
	closeProxy func()
	// started gives signals back to whom they belong when the command runs.
	started func()
	// nested says that this process runs inside another run.
	nested bool
}

// Run runs a command inside its limits and returns how this process should end.
func (a *App) Run(ctx context.Context, o RunOptions) Status {
	x := &execution{app: a, opts: &o, say: newSpeaker(&o), nested: os.Getenv(sandbox.CookieName) != ""}
	defer x.unwind()
	starting, started := core.Interruptible(ctx, giveUp)
	defer started()
	x.started = started
	if err := x.decide(); err != nil {
		return x.fail(err)
	}
	if starting.Err() != nil {
		return x.fail(context.Cause(starting))
	}
	if o.DryRun {
		return x.dryRun(starting)
	}
	if err := checkReportFile(o.ReportFile); err != nil {
		o.ReportFile = "" // said once
		return x.fail(err)
	}
	if err := x.admit(starting); err != nil {
		return x.fail(err)
	}
	if err := x.execute(ctx, starting); err != nil {
		return x.fail(err)
	}
	x.record()
	x.release()
	x.finish()
	return x.status
}

// unwind runs the clean-up stack, last in first out.
func (x *execution) unwind() {
	for i := len(x.cleanup) - 1; i >= 0; i-- {
		x.cleanup[i]()
	}
	x.cleanup = nil
}

// fail ends a run that did not start.
func (x *execution) fail(err error) Status {
	x.status = Status{Code: exitFailed}
	x.outcome = journal.OutcomeFailed
	if e, ok := errors.AsType[*sandbox.ExecError](err); ok {
		x.status.Code = e.Status
	}
	if _, ok := errors.AsType[*admission.Refused](err); ok {
		x.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*core.NotCoordinatedError](err); ok {
		x.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*admission.UncheckedError](err); ok {
		x.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*sandbox.NotEnforced](err); ok {
		x.outcome = journal.OutcomeRefused
	}
	signal := 0
	if errors.Is(err, context.Canceled) {
		signal = 2 // SIGINT
		if e, ok := errors.AsType[*core.Interrupted](err); ok {
			signal = e.Signal
		}
		x.status = Status{Code: 128 + signal, Signal: signal}
		x.outcome = journal.OutcomeSignalled
		x.say.clear()
	} else {
		x.say.fail(err)
	}
	if x.journal != nil {
		if x.outcome == journal.OutcomeRefused {
			x.journal.Append(journal.Refused{Reason: err.Error()})
		} else {
			x.journal.Append(journal.RunEnded{ExitCode: x.status.Code, Signal: sandbox.SignalName(signal), Outcome: x.outcome})
		}
		x.writeReport()
	}
	return x.status
}

// warn tells the user and the report something that stops nothing.
func (x *execution) warn(about, text string) {
	x.say.warn(text)
	x.note(about, text)
}

// alert is warn that is heard under --quiet too: something that the user relies on was not done.
func (x *execution) alert(about, text string) {
	x.say.alert(text)
	x.note(about, text)
}

func (x *execution) note(about, text string) {
	if w := (journal.Warned{About: about, Text: text}); x.journal != nil {
		x.journal.Append(w)
	} else if len(x.early) < maxSaid {
		x.early = append(x.early, w)
	}
}

func (x *execution) decide() error {
	a, o := x.app, x.opts
	if len(o.Command) == 0 {
		return errors.New("no command given; write it after --, as in: plimsoll run -- claude")
	}
	if o.JSON && !o.DryRun {
		return errors.New("--json goes with --dry-run; for the report of a run write --report FILE")
	}
	settings, err := a.Config.For("")
	if err != nil {
		return err
	}
	x.history, err = a.OpenHistory(settings.HistoryKeep, func(w usage.Warning) { x.warn("history", w.Text) })
	if err != nil {
		x.warn("history", "history is off: "+strings.TrimSuffix(err.Error(), "; history is off"))
	}
	own := &App{a.Telling(func(text string) { x.warn("history", text) })} // an App may be used by several at once
	x.plan, err = own.plan(o, x.history)
	tool := x.tool()
	x.reporter = journal.NewReporter(journal.Report{
		Tool: tool, Project: config.ProjectOf("").Name, Command: o.Command,
	})
	if x.plan != nil {
		x.reporter = journal.NewReporter(startOfReport(x.plan, o.Command))
	}
	x.journal = journal.New(journal.Options{Observers: []journal.Observer{x.reporter}})
	for _, w := range x.early {
		x.journal.Append(w)
	}
	x.early = nil
	if err != nil {
		return err
	}
	for _, p := range append(a.Config.Warnings, x.plan.Settings.Warnings...) {
		x.warn("config", p.String())
	}
	if x.plan.ReadingErr != nil {
		x.alert("headroom", "the host's memory can't be read, so only slots are checked: "+x.plan.ReadingErr.Error())
	}
	if x.plan.LimitNote != "" {
		x.warn("limit", fmt.Sprintf("the memory limit is %s: %s", x.plan.Limits.Memory.Human(), x.plan.LimitNote))
	}
	return nil
}

func (x *execution) tool() string {
	if x.plan != nil {
		return x.plan.Tool
	}
	return config.Tool(x.opts.Command).Tool
}

func startOfReport(p *Plan, command []string) journal.Report {
	return journal.Report{
		Tool: p.Tool, Variant: p.Variant, Project: p.Project.Name, Command: command,
		LimitBytes: int64(p.Limits.Memory), SwapLimitBytes: int64(p.Limits.Swap), PidsLimit: p.Limits.Pids,
		ReservationBytes: int64(p.Reservation), Limits: p.limitRows(),
		Estimate:    journal.Estimate{Bytes: int64(p.Estimate.Bytes), Source: p.Estimate.Source, Samples: p.Estimate.Samples},
		Enforcement: journal.Enforcement{Memory: string(sandbox.ByNobody), Swap: string(sandbox.ByNobody), Pids: string(sandbox.ByNobody), CPU: string(sandbox.ByNobody), CPUs: string(sandbox.ByNobody)},
	}
}

// request is the plan as admission sees it.
func (x *execution) request() admission.Request {
	s := x.plan.Settings
	wait := s.Wait
	if wait == config.Forever {
		wait = admission.Forever
	}
	minFree := x.plan.MinFree
	if minFree == 0 {
		minFree = -1 // nothing is to be kept free; 0 would mean the default
	}
	return admission.Request{
		ID: admission.NewID(), Tool: x.plan.Tool, Variant: x.plan.Variant, Project: x.plan.Project.Name,
		Reservation: x.plan.Reservation, Parent: os.Getenv(sandbox.CookieName),
		SlotsPerTool: s.MaxConcurrent, SlotsTotal: s.MaxConcurrentTotal,
		Wait: wait, Force: x.opts.Force, Required: s.Enforcement == "required", MinFree: minFree, CountSwap: s.CountSwap,
		Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
		Progress: func(p admission.Progress) {
			x.journal.Append(journal.Waiting{Position: p.Position, Reason: string(p.Reason)})
			x.say.progress(p)
		},
		Removed: func(h admission.Holder) {
			x.journal.Append(journal.CleanedUp{What: fmt.Sprintf("what %s (pid %d, since %s) left", h.Tool, h.Owner.PID, h.Since.Format(time.RFC3339))})
		},
	}
}

func (x *execution) admit(ctx context.Context) error {
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
	x.say.admitted(claim.Waited())
	x.ledger, x.claim = ledger, claim
	x.cleanup = append(x.cleanup, x.release)
	_, nested := claim.Parent()
	x.nested = nested // a cookie of a run that is over forbids nothing
	x.journal.Append(journal.Admitted{
		ReservationBytes: int64(x.plan.Reservation), Forced: claim.Forced(), Nested: nested, Waited: claim.Waited(),
	})
	if claim.Forced() {
		x.warn("forced", "started by --force although it should not have been:\n"+claim.Terms().String())
	}
	return nil
}

// uncoordinated decides whether the run may start without the ledger: only when nobody could coordinate with it, because the
// ledger cannot be written at all, and only where no enforcement is required. The user hears it in any case.
func (x *execution) uncoordinated(err error) error {
	if err := core.MayBeUncoordinated(x.plan.Settings.Enforcement, err); err != nil {
		if core.MayBeUncoordinated(config.EnforcementBestEffort, err) == nil {
			return demandedBy(x.plan.Settings, err)
		}
		return err
	}
	x.alert("ledger", "runs are not coordinated: "+err.Error())
	return nil
}

func (x *execution) openLedger() (*admission.Ledger, error) {
	return x.app.OpenLedger(func(w admission.Warning) {
		if errors.Is(w.Err, sandbox.ErrBusy) {
			return // left running on purpose: slots and gc show it, every run need not
		}
		if w.About == "headroom" {
			x.alert(w.About, w.Text)
			return
		}
		x.warn(w.About, w.Text)
	})
}

func (x *execution) release() {
	if x.claim == nil {
		return
	}
	if err := x.claim.Release(); err != nil {
		x.alert("ledger", "the claim could not be freed, the next command does it: "+err.Error())
	}
	x.claim = nil
}

// record appends the run to the history.
func (x *execution) record() {
	if x.history == nil {
		return
	}
	run := guard.RunOf(x.result, x.plan.Limits.Memory)
	run.KilledChildren = len(x.reporter.Report().KilledChildren)
	run.Variant = x.plan.Variant
	err := x.history.Append(usage.Project{Key: x.plan.Project.Key, Path: x.plan.Project.Root}, x.plan.Tool, run)
	if err != nil {
		x.alert("history", "this run was not recorded: "+err.Error())
	}
}
