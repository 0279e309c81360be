package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	nats "github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

func init() {
	register("fleet-history", "a start that asks the fleet, there and away, against one without; 1,000 observations a second into three servers", fleetHistory)
}

const (
	historyTurns  = 40
	historyRate   = 1000 // observations a second
	historyTime   = 30 * time.Second
	historyHosts  = 16 // connections that write
	historyGoal   = 20 // ms, of the 99th percentile
	startGoal     = 50 // ms more
	historyTools  = 500
	historySilent = "silent, as a black hole"
)

func fleetHistory(ctx context.Context, o *Out, _ []string) error {
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary, err := builtBinary(ctx, dir)
	if err != nil {
		return err
	}
	urls, end, err := natsCluster(ctx, dir)
	if err != nil {
		return err
	}
	defer end()
	f := nats.New(nats.Options{URL: strings.Join(urls, ",")})
	defer f.Close()
	for until := time.Now().Add(time.Minute); ; {
		_, err := f.Bucket(nats.History).Status(ctx)
		if err == nil {
			break
		}
		if time.Now().After(until) {
			return err
		}
		time.Sleep(time.Second)
	}
	if err := historyStarts(ctx, o, dir, binary, urls); err != nil {
		return err
	}
	return historyWrites(ctx, o, dir, strings.Join(urls, ","))
}

// historyStarts times `plimsoll run -- true` on a host that has never run it.
func historyStarts(ctx context.Context, o *Out, dir, binary string, urls []string) error {
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections in the kernel's queue, and nobody answers
	if err != nil {
		return err
	}
	defer silent.Close()
	names := []string{"no fleet", "three servers", historySilent, "nothing listens"}
	address := map[string]string{names[1]: strings.Join(urls, ","), names[2]: "nats://" + silent.Addr().String(), names[3]: "nats://127.0.0.1:1"}
	wall, cpu := map[string][]time.Duration{}, map[string][]time.Duration{}
	for turn := range historyTurns {
		for _, name := range names {
			state := filepath.Join(dir, fmt.Sprintf("host%d", turn), name)
			cmd := exec.CommandContext(ctx, binary, "run", "--force", "--quiet", "--", "true")
			cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+state, "PLIMSOLL_CONFIG=", "PLIMSOLL_FLEET_URL="+address[name])
			began := time.Now()
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			if turn > 0 { // the first one warms the disk up
				wall[name] = append(wall[name], time.Since(began))
				cpu[name] = append(cpu[name], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			}
			_ = os.RemoveAll(state)
		}
	}
	base, baseCPU := median(wall[names[0]]), median(cpu[names[0]])
	for _, name := range names[1:] {
		took := median(wall[name])
		o.Add(Row{Case: "first run, " + name, Metric: "wall, median", Value: ms(took), Unit: "ms", Baseline: names[0], BaselineValue: ms(base)})
		o.Add(Row{Case: "first run, " + name, Metric: "processor, median", Value: ms(median(cpu[name])), Unit: "ms", Baseline: names[0], BaselineValue: ms(baseCPU)})
		o.Add(Row{Case: "first run, " + name, Metric: "wall, more", Value: ms(took - base), Unit: "ms", Baseline: "goal", BaselineValue: startGoal})
	}
	return nil
}

// historyWrites delivers observations at a rate, each when it is due whether or not those before it are there, so that a stall is counted by
// all that it holds up.
func historyWrites(ctx context.Context, o *Out, dir, url string) error {
	var hosts []*history.History
	for i := range historyHosts {
		f := nats.New(nats.Options{URL: url})
		defer f.Close()
		h := history.New(f, filepath.Join(dir, "writers", fmt.Sprint(i)))
		if _, err := h.Read(ctx, "g", "warm", ""); err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	var mu sync.Mutex
	var took []time.Duration
	var failed atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	n := int(historyTime.Seconds()) * historyRate
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / historyRate)
		time.Sleep(time.Until(due))
		wg.Go(func() {
			o := usage.Observation{Project: fmt.Sprintf("g%d", i%50), Tool: fmt.Sprintf("tool%d", i%historyTools), Run: usage.Run{
				ID: fmt.Sprintf("bench/%d", i), Time: due, Peak: limit.Bytes(i+1) * limit.MiB, Exact: true, Outcome: journal.OutcomeOK, Duration: time.Minute,
				Method: usage.MethodMemoryPeak, Layer: "systemd",
			}}
			err := hosts[i%historyHosts].Send(ctx, o)
			late := time.Since(due)
			if err != nil {
				failed.Add(1)
				return
			}
			mu.Lock()
			took = append(took, late)
			mu.Unlock()
		})
	}
	wg.Wait()
	all := time.Since(began)
	slices.Sort(took)
	name := fmt.Sprintf("%d observations a second, three copies", historyRate)
	for _, part := range []float64{0.5, 0.99} {
		o.Add(Row{Case: name, Metric: fmt.Sprintf("p%.0f", 100*part), Value: ms(quantile(took, part)), Unit: "ms", Baseline: "goal for p99", BaselineValue: historyGoal})
	}
	o.Add(Row{Case: name, Metric: "written", Value: float64(len(took)) / all.Seconds(), Unit: "1/s", Baseline: "asked", BaselineValue: historyRate})
	o.Note("%d of %d observations in %.1f s, %d failed; each is two values of a bucket; servers, writers and all else share the processors", len(took), n, all.Seconds(), failed.Load())
	return nil
}

// natsCluster starts three servers of the module e2e/nats, with their own defaults.
func natsCluster(ctx context.Context, dir string) (urls []string, end func(), err error) {
	find := exec.CommandContext(ctx, "go", "tool", "-n", "nats-server")
	find.Dir, find.Env = filepath.Join("e2e", "nats"), append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	path, err := find.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("no nats-server (run it at the top of the repository): %w", err)
	}
	var listeners []net.Listener
	var ports, routes []string
	for range 6 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		listeners = append(listeners, l)
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports, routes = append(ports, port), append(routes, "nats://127.0.0.1:"+port)
	}
	for _, l := range listeners {
		_ = l.Close()
	}
	var servers []*exec.Cmd
	end = func() {
		for _, s := range servers {
			_ = s.Process.Kill()
			_ = s.Wait()
		}
	}
	for i := range 3 {
		file := filepath.Join(dir, fmt.Sprintf("n%d.conf", i))
		text := fmt.Sprintf("server_name: n%d\nlisten: 127.0.0.1:%s\njetstream {store_dir: %q}\ncluster {name: bench, listen: 127.0.0.1:%s, routes: [%s]}\n",
			i, ports[i], filepath.Join(dir, fmt.Sprintf("store%d", i)), ports[3+i], strings.Join(routes[3:], ", "))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return nil, end, err
		}
		s := exec.Command(string(bytes.TrimSpace(path)), "-c", file, "-l", file+".log")
		s.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := s.Start(); err != nil {
			end()
			return nil, end, err
		}
		servers = append(servers, s)
		urls = append(urls, "nats://127.0.0.1:"+ports[i])
	}
	return urls, end, nil
}
