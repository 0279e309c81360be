package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/argocd/stress"
	"github.com/plimsoll/plimsoll/limit"
)

// stressMemory bounds the server's memory under stress, in bytes: the budget that holds for
// an installation of 100,000 applications.
const stressMemory = 32 * limit.MiB

// stressBench starts the Argo CD server as a client would, in a process of its own, and plays against it what overwhelms such servers. A
// case that fails is an error, which says what was found.
func stressBench(o *Out, args []string) {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	cmd := exec.Command("", "mcp", "argocd", "--quiet")
	cmd.Env, cmd.Stderr = os.Environ(), os.Stderr
	real := false
	for _, name := range []string{"server", "context", "instance"} {
		flags.Func(name, "a real Argo CD, as plimsoll mcp argocd takes it", func(value string) error {
			real, cmd.Args = true, append(cmd.Args, "--"+name, value)
			return nil
		})
	}
	var sim mcp.SimulatorOptions
	flags.StringVar(&sim.Size, "simulator", "", "applications, projects, application sets and clusters of the simulated Argo CD")
	flags.StringVar(&sim.Faults, "faults", "", "what goes wrong there, as latency=200ms,cut=100000")
	queries := flags.Int("queries", 0, "queries in the long case (1000; the others make a twentieth of it, at least 10)")
	check(flags.Parse(args))
	cmd.Path = o.binary()
	if !real {
		// In this process: what the server takes is then its own alone.
		s := must(mcp.Simulate(o.ctx, sim))
		defer s.Close()
		cmd.Args = append(cmd.Args, "--server", s.URL)
		cmd.Env = append(cmd.Env, "ARGOCD_AUTH_TOKEN="+s.Token, "ARGOCD_OPTS=")
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "plimsoll-stress", Version: "1"}, nil)
	session, err := client.Connect(o.ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		o.Fatalf("start %v: %w", cmd.Args, err)
	}
	defer session.Close()
	server := stressed{session, cmd}
	if real {
		// What does not answer at all need not be asked a thousand times.
		if a := must(server.call(o.ctx, "version_service__version", nil)); a.IsError {
			o.Fatal(a.Text)
		}
	}
	var failed []string
	report, err := stress.Run(o.ctx, stress.Target{Call: server.call, Memory: server.memory}, stress.Options{
		Queries: *queries, MaxMemory: stressMemory,
		Progress: func(r stress.Row) {
			o.stressRow(r)
			if !r.OK && !r.Skipped {
				failed = append(failed, fmt.Sprintf("%s: %s", r.Case, r.Note))
			}
		},
	})
	if o.ctx.Err() != nil {
		o.Fatal("interrupted: the cases that are missing were not played")
	}
	check(err)
	if !report.OK() {
		o.Fatalf("failed:\n%s", strings.Join(failed, "\n"))
	}
}

// stressRow adds the figures of one case.
func (o *Out) stressRow(r stress.Row) {
	o.Add(Row{Case: r.Case, Metric: "requests", Value: float64(r.Requests)})
	o.Add(Row{Case: r.Case, Metric: "errors", Value: float64(r.Errors)})
	o.Add(Row{Case: r.Case, Metric: "p50", Value: ms(r.P50), Unit: "ms"})
	o.Add(Row{Case: r.Case, Metric: "p95", Value: ms(r.P95), Unit: "ms"})
	o.Add(Row{Case: r.Case, Metric: "peak RssAnon", Value: float64(r.PeakBytes), Unit: "bytes", Baseline: "bound", BaselineValue: float64(stressMemory)})
	o.Add(Row{Case: r.Case, Metric: "largest answer", Value: float64(r.MaxResponse), Unit: "bytes"})
	state := "ok"
	switch {
	case r.Skipped:
		state = "skipped"
	case !r.OK:
		state = "failed"
	}
	o.Note("%s: %s, %s", r.Case, state, r.Note)
}

// stressed is a client of the server under stress.
type stressed struct {
	session *sdk.ClientSession
	cmd     *exec.Cmd
}

// call calls a tool and returns the size of its result as JSON and the text in it.
func (s stressed) call(ctx context.Context, tool string, args map[string]any) (stress.Answer, error) {
	result, err := s.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return stress.Answer{}, err
	}
	wire, err := json.Marshal(result)
	a := stress.Answer{Bytes: len(wire), IsError: result.IsError}
	for _, block := range result.Content {
		if text, ok := block.(*sdk.TextContent); ok {
			a.Text += text.Text
		}
	}
	return a, err
}

// memory returns the anonymous memory of the server, in bytes.
func (s stressed) memory() (int64, error) {
	anon := anonOf(s.cmd.Process.Pid)
	if anon == 0 {
		return 0, errors.New("its status in /proc has no RssAnon")
	}
	return anon, nil
}
