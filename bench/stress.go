package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/argocd/stress"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

func init() {
	register("stress", "what overwhelms Argo CD's servers, played against `plimsoll mcp argocd`: requests, times, memory, largest answer (1 min; --server, --context or --instance names a real Argo CD, which is only read; --simulator SIZE, --faults FAULTS, --queries N)", stressBench)
}

// stressMemory bounds the server's memory under stress, in bytes: the budget that holds for
// an installation of 100,000 applications.
const stressMemory = 32 * limit.MiB

// stressBench starts the Argo CD server as a client would, in a process of its own, and plays against it what overwhelms such servers. A
// case that fails is an error, which says what was found.
func stressBench(ctx context.Context, o *Out, args []string) (err error) {
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	address := map[string]*string{}
	for _, name := range []string{"server", "context", "instance"} {
		address[name] = flags.String(name, "", "a real Argo CD, as plimsoll mcp argocd takes it")
	}
	var sim mcp.SimulatorOptions
	flags.StringVar(&sim.Size, "simulator", "", "applications, projects, application sets and clusters of the simulated Argo CD")
	flags.StringVar(&sim.Faults, "faults", "", "what goes wrong there, as latency=200ms,cut=100000")
	queries := flags.Int("queries", 0, "queries in the long case (1000; the others make a twentieth of it, at least 10)")
	if err = flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-stress-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := builtBinary(ctx, dir)
	if err != nil {
		return err
	}
	cmd := exec.Command(binary, "mcp", "argocd", "--quiet")
	cmd.Env = os.Environ()
	for name, value := range address {
		if *value != "" {
			cmd.Args = append(cmd.Args, "--"+name, *value)
		}
	}
	real := len(cmd.Args) > 4
	if !real {
		// In this process: what the server takes is then its own alone.
		s, err := mcp.Simulate(ctx, sim)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		cmd.Args = append(cmd.Args, "--server", s.URL)
		cmd.Env = append(cmd.Env, "ARGOCD_AUTH_TOKEN="+s.Token, "ARGOCD_OPTS=")
	}
	server := newStressed(cmd, os.Stderr)
	defer func() { err = errors.Join(err, server.peer.Close()) }()
	if err := server.greet(ctx); err != nil {
		return fmt.Errorf("start %s mcp argocd: %w", binary, err)
	}
	if real {
		// What does not answer at all need not be asked a thousand times.
		a, err := server.call(ctx, "version_service__version", nil)
		if err == nil && a.IsError {
			err = errors.New(a.Text)
		}
		if err != nil {
			return err
		}
	}
	var failed []string
	report, err := stress.Run(ctx, stress.Target{Call: server.call, Memory: server.memory}, stress.Options{
		Queries: *queries, MaxMemory: stressMemory,
		Progress: func(r stress.Row) {
			o.stressRow(r)
			if !r.OK && !r.Skipped {
				failed = append(failed, fmt.Sprintf("%s: %s", r.Case, r.Note))
			}
		},
	})
	if ctx.Err() != nil {
		return errors.New("interrupted: the cases that are missing were not played")
	}
	if err == nil && !report.OK() {
		err = fmt.Errorf("failed:\n%s", strings.Join(failed, "\n"))
	}
	return err
}

// stressRow adds the figures of one case.
func (o *Out) stressRow(r stress.Row) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
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
	peer transport.Peer
	pid  atomic.Int64
	next atomic.Int64
}

func newStressed(cmd *exec.Cmd, stderr *os.File) *stressed {
	s := &stressed{}
	launch := mcpclient.Exec(cmd)
	o := mcpclient.StdioOptions{Name: mcp.ArgoCDName, Launch: func(ctx context.Context) (*mcpclient.Process, error) {
		p, err := launch(ctx)
		if err == nil {
			s.pid.Store(int64(p.PID))
		}
		return p, err
	}}
	if stderr != nil {
		o.Stderr = stderr
	}
	s.peer = mcpclient.Stdio(o)
	return s
}

// maxAnswer bounds an answer in bytes. The server's own are far below it.
const maxAnswer = 16 << 20

func (s *stressed) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	text, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	raw := jsonrpc.NewRequest(jsonrpc.ID(strconv.FormatInt(s.next.Add(1), 10)), method, text)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return nil, err
	}
	answer, err := transport.Ask(ctx, s.peer, transport.Message{Raw: raw, Head: head}, maxAnswer)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return nil, fmt.Errorf("%s: the answer is no JSON-RPC: %w", method, err)
	}
	if reply.Error != nil {
		return nil, fmt.Errorf("%s: %s", method, reply.Error.Message)
	}
	return reply.Result, nil
}

// greet begins the session.
func (s *stressed) greet(ctx context.Context) error {
	_, err := s.ask(ctx, "initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "plimsoll-stress", "version": "1"},
	})
	if err != nil {
		return err
	}
	raw := []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	head, err := jsonrpc.Scan(raw)
	if err != nil {
		return err
	}
	s.peer.Send(ctx, transport.Message{Raw: raw, Head: head}, transport.Funcs{})
	return nil
}

func (s *stressed) call(ctx context.Context, tool string, args map[string]any) (stress.Answer, error) {
	if args == nil {
		args = map[string]any{}
	}
	raw, err := s.ask(ctx, "tools/call", map[string]any{"name": tool, "arguments": args})
	if err != nil {
		return stress.Answer{}, err
	}
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return stress.Answer{}, fmt.Errorf("the result of %s: %w", tool, err)
	}
	a := stress.Answer{Bytes: len(raw), IsError: result.IsError}
	for _, block := range result.Content {
		a.Text += block.Text
	}
	return a, nil
}

// memory returns the anonymous memory of the server, in bytes.
func (s *stressed) memory() (int64, error) {
	pid := s.pid.Load()
	file := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(status, []byte("RssAnon:"))
	if fields := bytes.Fields(rest); ok && len(fields) > 0 {
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		return kib << 10, err
	}
	return 0, fmt.Errorf("%s has no line RssAnon", file)
}
