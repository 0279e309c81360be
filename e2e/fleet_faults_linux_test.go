package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// Five hosts share a budget through three servers of NATS, and everything that can happen to those and to the network happens. No run stops,
// all that was spent is counted once, and the budget is passed by no more than what was under way.
func TestFleetFaults(t *testing.T) {
	long(t, "it takes more than a minute, as root")
	built := plimsollWithClock(t)
	w := newNetwork(t)
	stores, urls := natsCluster(t, w, 3)
	r := newLedger(t, w.outside)
	var hosts []*faulty
	var nodes []*node
	for _, s := range stores {
		nodes = append(nodes, s.node)
	}
	for range 5 {
		h := &faulty{node: w.add(), w: newWorld(t)}
		hosts, nodes = append(hosts, h), append(nodes, h.node)
	}
	leads := func() (s *store) {
		t.Helper()
		wait.Within(t, time.Minute, "the budgets' bucket has a leader", func() bool { s = leader(t, stores, urls, "plimsoll_budgets"); return s != nil })
		return s
	}
	alone := 50
	if os.Getenv("GATE_NIGHTLY") == "true" {
		alone = 600 // a minute
	}
	const plenty, answers = 1000, 20
	for _, h := range hosts {
		h.start(r, urls, plenty)
	}
	goOn(t, r, "all hosts go on", 10, hosts...)

	t.Log("the leader is killed")
	dead := leads()
	dead.kill()
	goOn(t, r, "all hosts go on without the leader", answers, hosts...)
	wait.Within(t, time.Minute, "another one leads", func() bool { s := leader(t, stores, urls, "plimsoll_budgets"); return s != nil && s != dead })
	dead.start()

	t.Log("a host is killed")
	hosts[0].kill()
	killed := 1
	goOn(t, r, "the others go on", 10, hosts[1:]...)
	hosts[0].start(r, urls, plenty)
	goOn(t, r, "the host is back", 10, hosts[0])

	t.Log("a server and two hosts are parted from the others, then two servers and one host")
	w.part(nodes, stores[2].node, hosts[3].node, hosts[4].node)
	goOn(t, r, "both parts go on", answers, hosts...)
	w.part(nodes, stores[0].node, stores[1].node, hosts[3].node)
	goOn(t, r, "both parts go on", answers, hosts...)
	w.part(nodes)

	t.Log("the leader stands still, then a host")
	stopped := leads()
	signal := func(sig syscall.Signal) {
		t.Helper()
		if err := stopped.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	goOn(t, r, "all hosts go on beside a server that stands still", answers, hosts...)
	signal(syscall.SIGCONT)
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
		for _, p := range hosts[1].w.processes() {
			_ = syscall.Kill(p.pid, sig)
		}
		if sig == syscall.SIGSTOP {
			goOn(t, r, "the others go on beside a host that stands still", answers, slices.Delete(slices.Clone(hosts), 1, 2)...)
		}
	}
	goOn(t, r, "the host goes on", 10, hosts[1])

	t.Log("a clock is an hour off, then right again, then off until the end")
	off := hourOff()
	for _, off := range []time.Duration{off, 0, off} {
		hosts[4].kill()
		killed++
		hosts[4].program, hosts[4].off = built(), off
		hosts[4].start(r, urls, plenty)
		goOn(t, r, "all hosts go on", answers, hosts...)
	}

	t.Log("all servers are away")
	for _, s := range stores {
		s.kill()
	}
	goOn(t, r, "all hosts go on alone", alone, hosts...)
	for _, s := range stores {
		s.start()
	}
	leads()
	for _, h := range hosts {
		said, _ := os.ReadFile(h.said)
		if n := strings.Count(string(said), "goes on with its share of the budgets"); n > 1 {
			t.Errorf("%s is told %d times: %s", h.name, n, clip(string(said)))
		}
		if refused := h.refusals(); len(refused) > 0 {
			t.Errorf("%s: refused %d times: %q", h.name, len(refused), refused[0])
		}
	}

	t.Log("all hosts are killed, and start again with a budget that ends")
	for _, h := range hosts {
		h.kill()
		killed++
	}
	seen := func() (account struct {
		Spent float64 `json:"spent_usd"`
		Held  float64 `json:"held_usd"`
	},
	) {
		t.Helper()
		cmd := hosts[0].command(plimsoll, "spend", "--by", "budget", "--json")
		cmd.Dir, cmd.Env = hosts[0].w.work, hosts[0].w.environment()
		out, err := cmd.Output()
		list := []any{&account}
		if err == nil {
			err = json.Unmarshal(out, &list)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return account
	}
	before := r.spent()
	limit := before + 15
	for _, h := range hosts {
		h.start(r, urls, limit)
	}
	goOn(t, r, "all hosts go on", 5, hosts...)
	wait.Within(t, time.Minute, "all that was spent before is counted", func() bool { return seen().Spent >= r.spent()-0.5 })
	w.part(nodes, stores[2].node, hosts[3].node, hosts[4].node)
	leads().kill()
	then := r.spent() // with one server on each side nobody is given more than he holds
	wait.Within(t, time.Minute, "some go on, or all have spent what they hold", func() bool {
		return r.spent() > then || !slices.ContainsFunc(hosts, func(h *faulty) bool { return len(h.refusals()) == 0 })
	})
	w.part(nodes)
	for _, s := range stores {
		if s.cmd == nil || s.cmd.ProcessState != nil {
			s.kill()
			s.start()
		}
	}
	wait.Within(t, 2*time.Minute, "every host is refused", func() bool {
		for _, h := range hosts {
			if !slices.ContainsFunc(h.refusals(), func(line string) bool { return strings.Contains(line, "400 Bad Request") }) {
				return false
			}
		}
		return true
	})
	// What was held when a host was killed counts as spent, though nobody may have answered: 2,000 tokens or as many as answers had.
	total, counted := r.spent(), seen().Spent
	if most := limit + float64(len(hosts))*answerCost; total > most+1e-6 {
		t.Errorf("%v are spent of a budget of %v", total, limit)
	}
	if lost := float64(killed) * 0.025; counted < total-1e-6 || counted > total+lost {
		t.Errorf("%v were answered for and %v are counted, with %d runs killed", total, counted, killed)
	}
	t.Logf("%.2f answered for, %.2f counted, of a budget of %.2f", total, counted, limit)
}
