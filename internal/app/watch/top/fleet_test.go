package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// known is a view of a fleet that a test sets.
type known hosts.Now

func (k *known) Now() hosts.Now       { return hosts.Now(*k) }
func (k *known) Wait(context.Context) {}
func (k *known) Close()               {}

func others(n, each int) []*hosts.Host {
	var list []*hosts.Host
	for i := range n {
		h := &hosts.Host{Name: fmt.Sprint("node-", i), Label: fmt.Sprint("node-", i), ID: "aaaaaaaa", Load: hosts.Load{TotalBytes: 64 * gib, AvailableBytes: 8 * gib, Running: each, Used: hosts.Used{Cost: 1.5}}}
		for j := range each {
			h.Runs = append(h.Runs, hosts.Run{
				ID: fmt.Sprintf("run%05d", i*each+j), Kind: runs.KindRun, Tool: "claude", Project: "shop", State: runs.Running, Started: noon.Add(-time.Hour),
				Memory: int64((i*each+j)*7919%(n*each)+1) * mib / 8, Peak: gib, Limit: 4 * gib, CPU: float64(j), WindowTokens: 90_000, WindowLimit: 200_000, Used: hosts.Used{Cost: 0.25},
			})
		}
		list = append(list, h)
	}
	return list
}

// The hosts of a fleet are on one screen, with the sums in a line of their own; a filter keeps those of one.
func TestFleetFrames(t *testing.T) {
	k := known{Ready: true, Hosts: others(3, 2), Gone: []*hosts.Host{{Label: "node-9"}}}
	k.Hosts[1].Waiting, k.Hosts[1].Oldest = 1, noon.Add(-20*time.Minute)
	k.Hosts[2].Runs[1].Parent, k.Hosts[2].Runs[1].State = k.Hosts[2].Runs[0].ID, runs.YourTurn
	l := &Live{hosts: &k}
	snap := func(w Want) Snapshot {
		s := busy()
		var more []Row
		s.Host.Fleet, more = l.otherHosts(w, noon)
		s.Runs = append(s.Runs, more...)
		return s
	}
	for name, s := range map[string]Screen{"fleet": {Width: 80, Height: 24}, "fleet-wide": {Width: 120, Height: 24, Sort: ByCPU}} {
		frame := Frame(snap(Want{Sort: s.Sort}), &s)
		fits(t, frame, s.Width, s.Height)
		golden.Check(t, "testdata/"+name+".txt", frame+"\n")
	}
	one := snap(Want{Filter: "node-1"})
	if f := one.Host.Fleet; f.LeftOut != 0 || f.Running != 6 || len(one.Runs) != len(busy().Runs)+2 || one.Runs[len(one.Runs)-1].Host != "node-1" {
		t.Errorf("%+v", f)
	}
	k = known{Away: fmt.Errorf("%w: nats://a: no\x1b[2J", fleet.ErrAway), Since: noon.Add(-time.Minute)}
	frame := Frame(snap(Want{}), &Screen{Width: 120, Height: 24})
	fits(t, frame, 120, 24)
	if line := strings.Split(frame, "\n")[3]; !strings.Contains(line, "only this host is shown since 11:59:00: the fleet is away: nats://a") {
		t.Error(line)
	}
}

// A run on another host can't be ended from here, whatever its host calls it.
func TestRunsElsewhereAreLeftAlone(t *testing.T) {
	k := known{Ready: true, Hosts: others(1, 1)}
	k.Hosts[0].Runs[0].ID = "aaaa0001"
	l := &Live{hosts: &k, now: time.Now}
	_, rows := l.otherHosts(Want{}, noon)
	id := rows[0].ID
	if id != "node-0/aaaa0001" {
		t.Error(id)
	}
	_, runErr := l.Run(t.Context(), id)
	_, endErr := l.End(id)
	if err := errors.Join(runErr, endErr); runErr == nil || endErr == nil || !strings.Contains(err.Error(), "is on node-0: there plimsoll runs aaaa0001") {
		t.Error(err)
	}
}

// Of a hundred thousand runs those have rows that come first in the order that was asked for, and the others are counted.
func TestManyRunsElsewhere(t *testing.T) {
	k := known{Ready: true, Hosts: others(1000, 100)}
	l := &Live{hosts: &k}
	began := time.Now()
	f, rows := l.otherHosts(Want{Sort: ByMemory}, noon)
	took := time.Since(began)
	if len(rows) != maxOthers || f.LeftOut != 100_000-maxOthers || f.Running != 100_000 {
		t.Fatalf("%d rows, %+v", len(rows), f)
	}
	least := rows[0].MemoryBytes
	for _, r := range rows {
		least = min(least, r.MemoryBytes)
	}
	if want := int64(100_000-maxOthers+1) * mib / 8; least != want {
		t.Errorf("the smallest has %d, not %d", least, want)
	}
	began = time.Now()
	_ = Frame(Snapshot{Host: Host{Time: noon, Fleet: f}, Runs: rows}, &Screen{Width: 80, Height: 24})
	t.Logf("100,000 runs: rows in %v, a frame in %v", took, time.Since(began))
	if f, rows = l.otherHosts(Want{Sort: ByAge, Reverse: true, Filter: "node-7 claude"}, noon); len(rows) != maxOthers || f.LeftOut != 111*100-maxOthers {
		t.Errorf("%d rows, %d left out", len(rows), f.LeftOut)
	}
}
