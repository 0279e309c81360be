package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func init() {
	register("replicas", "what a request waits for when its conversation goes through two replicas and a store, against one proxy alone", replicasBench)
}

// replicasBench lets conversations go to two replicas in turn, and to one proxy without a store, request by request.
func replicasBench(ctx context.Context, o *Out, args []string) error {
	b := &proxyRun{ctx: ctx, o: o, scale: 10}
	if slices.Contains(args, "quick") {
		b.scale = 1
	}
	defer b.stop()
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url, stop, err := benchNATS(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	if b.provider, err = b.child("child-provider"); err != nil {
		return err
	}
	var sides [3]*benchChild
	for i, store := range []string{"", url, url} {
		if sides[i], err = b.child("child-replica", b.provider.url, store); err != nil {
			return err
		}
	}
	for _, c := range []struct {
		name   string
		result int
	}{{"nothing is decided", 500}, {"a result is bounded in every request", 6000}} {
		var took [2][]time.Duration
		for talk := range 2 * b.scale {
			var messages []any
			add := func(m map[string]any) { messages = append(messages, m) }
			add(map[string]any{"role": "user", "content": fmt.Sprintf("task %d of %s", talk, c.name)})
			for turn := range 40 {
				id := fmt.Sprint("call_", turn)
				add(map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "shell", "arguments": `{"cmd":"ls"}`}}}})
				add(map[string]any{"role": "tool", "tool_call_id": id, "content": strings.Repeat(fmt.Sprintf("line of turn %d\n", turn), c.result/16)})
				body, err := json.Marshal(map[string]any{"model": "gpt-4o", "messages": messages})
				if err != nil {
					return err
				}
				for side, child := range []*benchChild{sides[0], sides[1+turn%2]} {
					began := time.Now()
					if err := b.post(child, "", body); err != nil {
						return err
					}
					took[side] = append(took[side], time.Since(began))
				}
			}
		}
		for _, q := range []struct {
			name string
			part float64
		}{{"p50", 0.50}, {"p99", 0.99}} {
			alone, shared := quantile(took[0], q.part), quantile(took[1], q.part)
			o.Add(Row{Case: c.name, Metric: q.name, Value: us(shared), Unit: "µs", Baseline: "one proxy, no store", BaselineValue: us(alone)})
			o.Add(Row{Case: c.name, Metric: "added " + q.name, Value: us(shared-alone) / 1000, Unit: "ms", Baseline: "goal", BaselineValue: 5})
		}
	}
	return nil
}

// benchNATS starts a server of NATS from the module of the tests.
func benchNATS(ctx context.Context, dir string) (url string, stop func(), err error) {
	program, err := exec.CommandContext(ctx, "go", "-C", "e2e/nats", "tool", "-n", "nats-server").Output()
	if err != nil {
		return "", nil, fmt.Errorf("no nats-server from e2e/nats (run this in a clone): %w", err)
	}
	ports := filepath.Join(dir, "ports")
	if err := os.Mkdir(ports, 0o700); err != nil {
		return "", nil, err
	}
	cmd := exec.Command(strings.TrimSpace(string(program)), "-js", "-sd", dir, "-a", "127.0.0.1", "-p", "-1", "--ports_file_dir", ports)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	for range 1000 {
		files, _ := filepath.Glob(filepath.Join(ports, "*.ports")) // the pattern is a good one
		for _, file := range files {
			var found struct{ NATS []string }
			text, err := os.ReadFile(file)
			if err != nil || json.Unmarshal(text, &found) != nil || len(found.NATS) == 0 {
				continue
			}
			if c, err := net.Dial("tcp", strings.TrimPrefix(found.NATS[0], "nats://")); err == nil {
				_ = c.Close()
				return found.NATS[0], stop, nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	return "", nil, errors.New("nats-server does not take connections")
}
