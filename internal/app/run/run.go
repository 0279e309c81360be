// Package run is `plimsoll run` and what is asked about a run without one: the dry run, predictions, and what this host can
// enforce.
//
//	status := run.Run(ctx, core, run.Options{Command: []string{"claude"}, Stderr: os.Stderr})
//	status.Exit()
//
// A run is three things, one after the other. The decision settles its tool, its expected need and its limits. The process is
// the command from its admission to its end, with the claim, the proxy and the MCP servers that live beside it. The report takes
// in what happens, and is written and shown at the end; it begins first, because a run that is refused is reported too.
package run

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Options are the flags of `plimsoll run` that are not keys of the configuration.
type Options struct {
	// Command is the argument vector. Required.
	Command []string
	// Tool names the tool that the command counts as; "" goes by the command.
	Tool string
	// Force starts the run even when admission would refuse it.
	Force bool
	// DryRun decides and prints, and does not run.
	DryRun bool
	// JSON makes DryRun print one JSON object.
	JSON bool
	// ReportFile takes the run report as JSON; "" writes none.
	ReportFile string
	// Quiet leaves out everything but errors and alerts.
	Quiet bool
	// Stdout receives the output of DryRun, Stderr Plimsoll's own words.
	Stdout, Stderr io.Writer
	// StderrIsTerminal is true when a person reads Stderr: the report at the end and the
	// progress of waiting are shown.
	StderrIsTerminal bool
	// Width returns how many columns that terminal has; nil wraps no line.
	Width func() int
}

// exitFailed is the exit status of Plimsoll's own failures.
const exitFailed = 125

// Status says how this process should end.
type Status struct {
	// Code is the exit status.
	Code int
	// Signal is a signal that this process should die of, so that a shell sees that its loop was interrupted; 0 for none.
	Signal int
}

// app is the core that all families of commands share, with what a run adds to it.
type app struct{ *core.Core }

// Run runs a command inside its limits, or with o.DryRun prints the decision about it, and returns how this process should end.
func Run(ctx context.Context, c *core.Core, o Options) Status {
	a := &app{c}
	settled, widen := footprint.Start(), footprint.One()
	defer widen()
	r := newReport(&o)
	defer func() { r.notices.Close() }() // last: nobody waits for the memory meanwhile
	starting, started := core.Interruptible(ctx, giveUp)
	defer started()
	d, history, err := a.decideRun(&o, r)
	if err != nil {
		return r.fail(err)
	}
	if starting.Err() != nil {
		return r.fail(context.Cause(starting))
	}
	p := &process{app: a, opts: &o, decision: d, report: r, history: history, started: started, settled: settled, widen: widen, nested: os.Getenv(sandbox.CookieName) != ""}
	defer func() { _ = p.closer.Close(nil) }()
	if o.DryRun {
		return p.dryRun(starting)
	}
	if r.folder, err = checkReportFile(o.ReportFile); err != nil {
		o.ReportFile = "" // said once
		return r.fail(err)
	}
	inner := fmt.Sprintf("%s may use %s (plimsoll run)", d.Tool, d.Limits.Memory.Human())
	r.container = core.WatchContainer(inner, nil, func(text string) { r.alert("container", text) })
	defer r.endContainer(d)
	p.startRelay()
	waiting, admitted := p.awaitEditor(starting)
	err = p.admit(waiting)
	admitted()
	if err != nil {
		return p.fail(err)
	}
	p.warnOfIdleRuns()
	if err := p.execute(ctx, starting); err != nil {
		return p.fail(err)
	}
	p.recordHistory()
	p.releaseClaim()
	p.shareHistory()
	r.finish(d, p.result.CPU, p.result.CPUExact)
	return r.status
}

// decideRun decides about a run from the configuration, the history and the host, and begins its report. It returns the history, or nil.
func (a *app) decideRun(o *Options, r *report) (*decision, *usage.History, error) {
	if len(o.Command) == 0 {
		return nil, nil, errors.New("no command given; write it after --, as in: plimsoll run -- claude")
	}
	if o.JSON && !o.DryRun {
		return nil, nil, errors.New("--json goes with --dry-run; for the report of a run write --report FILE")
	}
	history, err := a.OpenHistory(func(w usage.Warning) { r.warn("history", w.Text) })
	if err != nil {
		r.warn("history", "history is off: "+strings.TrimSuffix(err.Error(), "; history is off"))
	}
	own := &app{a.Telling(func(text string) { r.warn("history", text) })} // an App may be used by several at once
	d, err := own.decide(o, history)
	if err != nil {
		r.begin(a.Core, journal.Report{Tool: config.Tool(o.Command).Tool, Project: config.ProjectOf("").Name, Command: o.Command}, runs.Decision{})
		return nil, nil, err
	}
	r.begin(a.Core, d.report(o.Command), d.basis())
	for _, p := range append(a.Config.Warnings, d.Settings.Warnings...) {
		r.warn("config", p.String())
	}
	if d.ReadingErr != nil {
		r.alert("headroom", "the host's memory can't be read, so only the number of runs is checked: "+d.ReadingErr.Error())
	}
	if d.fleetNote != "" {
		r.warnFleet(d.fleetNote)
	}
	if d.LimitNote != "" {
		r.warn("limit", fmt.Sprintf("the memory limit is %s: %s", d.Limits.Memory.Human(), d.LimitNote))
	}
	return d, history, nil
}

// giveUp bounds the time that the start of a run has to react to a signal that asks it to end; then this process ends at once. What is left
// behind (a claim, an empty group) the next command removes, as after SIGKILL.
const giveUp = 3 * time.Second

// Exit ends this process the way the command ended. A command that died of SIGINT, SIGQUIT, SIGHUP or SIGTERM makes us die of it too: a shell
// stops its loop only when it sees that, and not on status 130.
func (s Status) Exit() { core.Exit(s.Code, s.Signal) }

// authorityNotes returns a sentence for doctor when this machine has no root certificates, so that every https request would fail; else nil.
func authorityNotes() []string {
	pool, err := x509.SystemCertPool()
	if err == nil && !pool.Equal(x509.NewCertPool()) {
		return nil
	}
	return []string{"There are no roots of certificate authorities here, so that no provider can be reached by https: install ca-certificates, or name a file with SSL_CERT_FILE."}
}
