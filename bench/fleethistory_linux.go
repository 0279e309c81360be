package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	nats "github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	historyTurns = 40
	historyRate  = 1000 // observations a second
	historyTime  = 30 * time.Second
	historyHosts = 16 // connections that write
	historyGoal  = 20 // ms, of the 99th percentile
	startGoal    = 50 // ms more
	historyTools = 500
)

func fleetHistory(o *Out, _ []string) {
	dir, binary := o.TempDir(), o.binary()
	var urls []string
	for _, s := range natsserver.Cluster(o, 3) {
		urls = append(urls, s.URL)
	}
	url := strings.Join(urls, ",")
	f := nats.New(nats.Options{URL: url})
	defer f.Close()
	wait.Until(o, "three servers keep a history", func() bool {
		_, err := f.Bucket(nats.History).Status(o.ctx)
		return err == nil
	})
	o.historyStarts(dir, binary, url)
	o.historyWrites(dir, url)
}

// historyStarts times `plimsoll run -- true` on a host that has never run it.
func (o *Out) historyStarts(dir, binary, url string) {
	silent := must(net.Listen("tcp", "127.0.0.1:0")) // takes connections in the kernel's queue, and nobody answers
	defer silent.Close()
	const base = "no fleet"
	cpu := map[string][]time.Duration{}
	start := func(name, url string) way {
		turn := 0
		return way{name, func() error {
			turn++
			cmd := exec.CommandContext(o.ctx, binary, "run", "--force", "--quiet", "--", "true")
			cmd.Env = append(os.Environ(), "PLIMSOLL_STATE_DIR="+filepath.Join(dir, name, strconv.Itoa(turn)), "PLIMSOLL_CONFIG=", "PLIMSOLL_FLEET_URL="+url)
			if _, err := timed(cmd); err != nil {
				return err
			}
			cpu[name] = append(cpu[name], cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
			return nil
		}}
	}
	ways := []way{start(base, ""), start("three servers", url), start("silent, as a black hole", "nats://"+silent.Addr().String()), start("nothing listens", "nats://127.0.0.1:1")}
	wall := o.inTurn(historyTurns, ways...)
	for _, w := range ways[1:] {
		name, took, without := "first run, "+w.name, median(wall[w.name]), median(wall[base])
		o.Add(Row{Case: name, Metric: "wall, median", Value: ms(took), Unit: "ms", Baseline: base, BaselineValue: ms(without)})
		o.Add(Row{Case: name, Metric: "processor, median", Value: ms(median(cpu[w.name])), Unit: "ms", Baseline: base, BaselineValue: ms(median(cpu[base]))})
		o.Add(Row{Case: name, Metric: "wall, more", Value: ms(took - without), Unit: "ms", Baseline: "goal", BaselineValue: startGoal})
	}
}

// historyWrites delivers observations at a rate, each when it is due whether or not those before it are there, so that a stall is counted by
// all that it holds up.
func (o *Out) historyWrites(dir, url string) {
	var hosts []*history.History
	for i := range historyHosts {
		f := nats.New(nats.Options{URL: url})
		defer f.Close()
		h := history.New(f, filepath.Join(dir, "writers", fmt.Sprint(i)))
		must(h.Read(o.ctx, "g", "warm", ""))
		hosts = append(hosts, h)
	}
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	began := time.Now()
	n := int(historyTime.Seconds()) * historyRate
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / historyRate)
		time.Sleep(time.Until(due))
		all.Go(func() {
			seen := usage.Observation{Project: fmt.Sprintf("g%d", i%50), Tool: fmt.Sprintf("tool%d", i%historyTools), Run: usage.Run{
				ID: fmt.Sprintf("bench/%d", i), Time: due, Peak: limit.Bytes(i+1) * limit.MiB, Exact: true, Outcome: journal.OutcomeOK, Duration: time.Minute,
				Method: usage.MethodMemoryPeak, Layer: "systemd",
			}}
			if err, late := hosts[i%historyHosts].Send(o.ctx, seen), time.Since(due); err == nil {
				mu.Lock()
				defer mu.Unlock()
				took = append(took, late)
			}
		})
	}
	all.Wait()
	lasted := time.Since(began).Seconds()
	name := fmt.Sprintf("%d observations a second, three copies", historyRate)
	for _, q := range quantiles {
		o.Add(Row{Case: name, Metric: q.name, Value: ms(quantile(took, q.part)), Unit: "ms", Baseline: "goal for p99", BaselineValue: historyGoal})
	}
	o.Add(Row{Case: name, Metric: "written", Value: float64(len(took)) / lasted, Unit: "1/s", Baseline: "asked", BaselineValue: historyRate})
	o.Note("%d of %d observations in %.1f s, %d failed; each is two values of a bucket; servers, writers and all else share the processors", len(took), n, lasted, n-len(took))
}
