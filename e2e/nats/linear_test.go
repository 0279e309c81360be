package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/budgets"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// A swap is one write of a key in the place of a value that was read. Values are told apart by their hashes: all are different.
type swap struct{ from, to uint64 }

type outcome int

const (
	written outcome = iota
	conflict
	unknown // nobody knows whether it was or will be written
)

// register models the key as it has to behave.
var register = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		now, s := state.(uint64), input.(swap)
		if output.(outcome) == written {
			return now == s.from, s.to
		}
		return now != s.from, now // a conflict
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, output) },
}

// A history takes down what hosts do with the key of a budget.
type history struct {
	began time.Time
	mu    sync.Mutex
	list  []porcupine.Operation
	sums  []float64 // of what hosts may spend, in each value that was written
	done  atomic.Int64
}

// A host is one that divides a budget through the history.
type host struct {
	*history
	number int
	bucket *fleet.Bucket
}

func (h *host) Get(ctx context.Context, key string) (fleet.Entry, error) {
	return h.bucket.Get(ctx, key)
}

func (h *host) Change(ctx context.Context, key string, change func(fleet.Entry) ([]byte, error)) error {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		e, err := h.bucket.Get(ctx, key)
		if err != nil && !errors.Is(err, fleet.ErrNone) {
			return err
		}
		value, err := change(e)
		if err != nil || value == nil {
			return err
		}
		// Each value is another one, also where a host asks for what it has.
		value = fmt.Appendf(value[:len(value)-1], `,"n":"%d %d"}`, h.number, h.done.Add(1))
		op := porcupine.Operation{ClientId: h.number, Input: swap{id(e.Value), id(value)}, Call: int64(time.Since(h.began))}
		_, err = h.bucket.Write(ctx, key, value, e.Revision)
		op.Return = int64(time.Since(h.began))
		switch {
		case err == nil:
			op.Output = written
		case errors.Is(err, fleet.ErrConflict):
			op.Output = conflict
		default:
			op.Output, op.Return = unknown, math.MaxInt64
		}
		h.mu.Lock()
		h.list = append(h.list, op)
		if err == nil {
			h.sums = append(h.sums, sum(value))
		}
		h.mu.Unlock()
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		select {
		case <-ctx.Done():
			return fleet.ErrAway
		case <-time.After(rand.N(pause)):
		}
	}
}

// settled returns the history with each write either done or not: of one that nobody knows of, whoever wrote next has read it. It can't have been
// overwritten unread, so one that nobody has read was never done, or is the last.
func (h *history) settled(t *testing.T) (list []porcupine.Operation) {
	read := map[uint64]bool{}
	for _, op := range h.list {
		read[op.Input.(swap).from] = true
	}
	for _, op := range h.list {
		seen := read[op.Input.(swap).to]
		switch op.Output.(outcome) {
		case unknown:
			if !seen {
				continue
			}
			op.Output = written
		case conflict:
			if seen {
				t.Errorf("a write was done that had conflicted: %+v", op)
			}
		}
		list = append(list, op)
	}
	return list
}

func id(value []byte) uint64 {
	if len(value) == 0 {
		return 0
	}
	f := fnv.New64a()
	_, _ = f.Write(value)
	return f.Sum64()
}

// sum returns how far all hosts may spend by a value.
func sum(value []byte) (all float64) {
	var v struct {
		Hosts map[string]struct{ Granted, Spent float64 }
	}
	if json.Unmarshal(value, &v) != nil {
		return math.Inf(1)
	}
	for _, l := range v.Hosts {
		all += max(l.Granted, l.Spent)
	}
	return all
}

// What hosts write of a budget while servers die, stand still and have no quorum is one history that a single key without faults could have
// had, and in no value may they spend more than the budget.
func TestBudgetIsLinearizable(t *testing.T) {
	servers := natsserver.Cluster(t, 3)
	urls := servers[0].URL + "," + servers[1].URL + "," + servers[2].URL
	h := &history{began: time.Now()}
	const budget = 50.0
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var all sync.WaitGroup
	spent := make([]float64, 10)
	for i := range spent {
		f := fleet.New(fleet.Options{URL: urls})
		t.Cleanup(f.Close)
		me := &host{h, i, f.Bucket(fleet.Budgets)}
		team := budgets.NewTeam(me, fmt.Sprint("host", i))
		all.Go(func() {
			granted, told := 0.0, 0.0
			for ctx.Err() == nil {
				if spent[i]+0.05 <= granted {
					spent[i] += 0.05
				}
				asked, cancel := context.WithTimeout(ctx, time.Second)
				p, err := team.Divide(asked, spend.Claim{
					Budget: spend.BudgetDay, Period: "20261129", Host: fmt.Sprint(i), Max: budget, Spent: spent[i], Want: 0.05, Told: told, Keep: granted,
				})
				cancel()
				if err == nil {
					granted, told = p.Granted, spent[i]
				}
				if err != nil && !errors.Is(err, fleet.ErrAway) && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	goOn := func(what string) {
		t.Helper()
		now := len(h.written())
		wait.Within(t, time.Minute, what, func() bool { return len(h.written()) >= now+60 })
	}
	goOn("hosts write")
	servers[0].Kill()
	goOn("hosts write without the first server")
	servers[0].Start()
	servers[1].Signal(syscall.SIGSTOP)
	goOn("hosts write beside one that stands still")
	servers[1].Signal(syscall.SIGCONT)
	goOn("hosts write again")
	servers[1].Kill()
	servers[2].Kill()
	tried := h.done.Load()
	wait.Within(t, time.Minute, "hosts try to write without a quorum", func() bool { return h.done.Load() >= tried+10 })
	servers[1].Start()
	servers[2].Start()
	goOn("hosts write in the end")
	stop()
	all.Wait()

	counts := map[outcome]int{}
	for _, op := range h.list {
		counts[op.Output.(outcome)]++
	}
	total := 0.0
	for _, s := range spent {
		total += s
	}
	t.Logf("%d writes, %d conflicts, %d of which nobody knows; %.2f spent", counts[written], counts[conflict], counts[unknown], total)
	if got := porcupine.CheckOperationsTimeout(register, h.settled(t), time.Minute); got != porcupine.Ok {
		t.Errorf("it is not linearizable: %v", got)
	}
	for _, s := range h.written() {
		if s > budget+1e-9 {
			t.Errorf("hosts may spend %v of %v", s, budget)
		}
	}
	if total > budget || counts[unknown] == 0 || counts[conflict] == 0 {
		t.Errorf("%v spent, %v", total, counts)
	}
}

func (h *history) written() []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sums
}
