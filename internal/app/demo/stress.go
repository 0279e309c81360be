package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/argocd/stress"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
	"github.com/plimsoll/plimsoll/limit"
)

// The outcome of [Stress].
type (
	// StressReport is the result of all cases.
	StressReport = stress.Report
	// StressRow is the result of one case.
	StressRow = stress.Row
)

// stressMemory bounds the server's memory under stress, in bytes: the budget that holds for
// an installation of 100,000 applications.
const stressMemory = 32 * limit.MiB

// StressOptions are the settings of `plimsoll stress argocd`.
type StressOptions struct {
	// Server, Context, Instance: a real Argo CD, which is only read; see [ArgoCDOptions].
	Server, Context, Instance string
	// Simulator describes the simulated server that is used when none of them is given.
	Simulator mcp.SimulatorOptions
	// Queries is the number of queries in the long case; 0 means 1000.
	Queries int
	// Progress gets each row when its case is over; nil gets none.
	Progress func(StressRow)
	// Stderr takes what the server says.
	Stderr *os.File
}

// Stress starts the Argo CD server as a client would, in a process of its own, and plays
// against it what overwhelms such servers. The error is of what kept it from being played; what
// was found is in the report.
func Stress(ctx context.Context, o StressOptions) (_ StressReport, err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	self, err := os.Executable()
	if err != nil {
		return StressReport{}, err
	}
	cmd := exec.Command(self, "mcp", "argocd", "--quiet")
	cmd.Env = os.Environ()
	for flag, value := range map[string]string{"--server": o.Server, "--context": o.Context, "--instance": o.Instance} {
		if value != "" {
			cmd.Args = append(cmd.Args, flag, value)
		}
	}
	real := o.Server != "" || o.Context != "" || o.Instance != ""
	if !real {
		// In this process: what the server takes is then its own alone.
		s, err := mcp.Simulate(ctx, o.Simulator)
		if err != nil {
			return StressReport{}, err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		cmd.Args = append(cmd.Args, "--server", s.URL)
		cmd.Env = append(cmd.Env, "ARGOCD_AUTH_TOKEN="+s.Token, "ARGOCD_OPTS=")
	}
	server := newStressed(cmd, o.Stderr)
	defer func() { err = errors.Join(err, server.peer.Close()) }()
	if err := server.greet(ctx); err != nil {
		return StressReport{}, fmt.Errorf("start %s mcp argocd: %w", self, err)
	}
	if real {
		// What does not answer at all need not be asked a thousand times.
		a, err := server.call(ctx, "version_service__version", nil)
		if err == nil && a.IsError {
			err = errors.New(a.Text)
		}
		if err != nil {
			return StressReport{}, err
		}
	}
	report, err := stress.Run(ctx, stress.Target{Call: server.call, Memory: server.memory}, stress.Options{
		Queries: o.Queries, MaxMemory: stressMemory, Progress: o.Progress,
	})
	if ctx.Err() != nil {
		return report, errors.New("interrupted: the cases that are missing were not played")
	}
	return report, err
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
