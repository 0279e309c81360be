// Command guard runs a command inside limits from a Go program, the way `plimsoll run` does it:
// what will it need, is there room, start it, and remember what it used.
//
//	go run ./examples/guard make test
//
// Run it twice: the second time it knows. It shares history and ledger with plimsoll, so
// `plimsoll stats` lists it and `plimsoll top` shows it while it runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: guard COMMAND [ARG...]")
		os.Exit(2)
	}
	status, err := run(context.Background(), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "guard:", err)
	}
	os.Exit(status)
}

// failed is the status for a run that did not start, as plimsoll has it.
const failed = 125

func run(ctx context.Context, command []string) (status int, err error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return 127, err
	}

	// Create: where plimsoll keeps its history and ledger.
	g, err := guard.Open(guard.Options{
		CountSwap: true,
		Warn:      func(text string) { fmt.Fprintln(os.Stderr, "guard: warning:", text) },
	})
	if err != nil {
		return failed, err
	}

	// Check: it only asks.
	request := guard.Request{Tool: filepath.Base(path), Slots: 2, Wait: 10 * time.Minute}
	decision, err := g.Check(ctx, request)
	if err != nil {
		return failed, err
	}
	fmt.Fprintf(os.Stderr, "guard: %s will need about %s (%s)\n", request.Tool, decision.Estimate.Bytes.Human(), decision.Estimate.Source)
	if !decision.Admitted {
		fmt.Fprintln(os.Stderr, "guard: it has to wait:", decision.Refused)
	}

	// Admit: memory and a slot are ours until Release.
	a, err := g.Admit(ctx, request)
	if refused, ok := errors.AsType[*admission.Refused](err); ok && refused.Never {
		return failed, fmt.Errorf("this machine is too small for it: %w", refused)
	}
	if err != nil {
		return failed, err
	}
	defer func() { err = errors.Join(err, a.Release()) }()

	// The limit is not the reservation: it is there to stop a runaway.
	memory := max(4*limit.GiB, 2*a.Estimate().Bytes)
	terminal := sandbox.Terminal()
	r, err := sandbox.Start(ctx, sandbox.Spec{
		ID: a.ID(), Path: path, Args: command,
		Limits:   sandbox.Limits{Memory: memory, Pids: 512},
		Detach:   !terminal,
		Attended: true,
		Nested:   a.Nested(),
		Remember: a.Remember,
		Observe:  func(s sandbox.Sample) { _ = a.Observe(s.Working) },
	})
	if e, ok := errors.AsType[*sandbox.ExecError](err); ok {
		return e.Status, err
	}
	if err != nil {
		return failed, err
	}
	detach := r.Attend(terminal, sandbox.DefaultStopGrace) // Ctrl-C is the command's, not ours
	result, err := r.Wait()
	detach()

	// Record: the next estimate knows.
	err = errors.Join(err, a.Record(result, memory))
	bound := ""
	if !result.Peak.Exact {
		bound = "at least "
	}
	fmt.Fprintf(os.Stderr, "guard: exit %d, peak %s%s of %s, layer %s, %d killed for memory\n",
		result.ExitCode, bound, result.Peak.Bytes.Human(), memory.Human(), result.Layer, result.OOMKills)
	return result.ExitCode, err
}
