package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
)

// screen is as much of top --once --json as these tests read.
type screen struct {
	Host struct {
		Fleet *struct {
			Hosts, Running, Waiting int
			Gone                    []string
			Away                    string
		}
	}
	Runs []struct{ ID, Host, Tool, State string }
}

// looked returns what top shows on a host.
func (w *world) looked() (s screen) {
	w.t.Helper()
	got := w.run(nil, plimsoll, "top", "--once", "--json")
	if json.Unmarshal([]byte(got.stdout), &s) != nil || s.Host.Fleet == nil {
		w.t.Fatalf("%d %s%s", got.status, clip(got.stdout), clip(got.stderr))
	}
	return s
}

// elsewhere returns the tools of the runs on other hosts, as top shows them.
func (w *world) elsewhere() string {
	var tools []string
	for _, r := range w.looked().Runs {
		if r.Host != "" {
			tools = append(tools, r.Host+"/"+r.Tool)
		}
	}
	return strings.Join(tools, " ")
}

// A host is seen by the others, by whichever of its runs is left; when the last one is killed with the host the others say that it is gone, and
// with the fleet away each host shows itself.
func TestHostsOfAFleet(t *testing.T) {
	long(t, "it waits most of a minute until hosts are gone")
	t.Parallel()
	server := natsserver.Start(t)
	host := func(name string) *world {
		w := newWorld(t)
		w.variables = append(w.variables, "PLIMSOLL_FLEET_URL="+server.URL, "PLIMSOLL_FLEET_HOST="+name)
		return w
	}
	alpha, beta := host("alpha"), host("beta")
	start := func(w *world, tool string) *exec.Cmd {
		run := w.command("run", "--quiet", "--tool", tool, "--", "sleep", "600")
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = run.Process.Kill(); _ = run.Wait() })
		return run
	}
	first := start(alpha, "first")
	beta.until("the run of the other host is seen", func() bool { return beta.elsewhere() == "alpha/first" })
	second := start(alpha, "second") // the first one speaks for both
	beta.until("both runs of the other host are seen", func() bool {
		seen := beta.elsewhere()
		return strings.Contains(seen, "alpha/first") && strings.Contains(seen, "alpha/second")
	})
	if got := beta.run(nil, plimsoll, "runs"); !strings.Contains(got.stdout, "HOST") || !strings.Contains(got.stdout, "alpha") || strings.Contains(got.stderr, "fleet") {
		t.Errorf("%s%s", got.stdout, got.stderr)
	}
	if seen := alpha.looked(); seen.Host.Fleet.Hosts != 0 || len(seen.Runs) != 2 {
		t.Errorf("a host sees itself among the others: %+v", seen)
	}
	_ = first.Process.Signal(syscall.SIGKILL)
	_ = first.Wait()
	beta.until("the run that is left speaks for its host", func() bool { return beta.elsewhere() == "alpha/second" })

	base, _, _ := strings.Cut(beta.dashboard(), "/?token=")
	scraped := func() string {
		answer, err := http.Get(base + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return string(text)
	}
	beta.until("the daemon sees the host", func() bool { return strings.Contains(scraped(), `plimsoll_fleet_hosts{state="heard"} 1`) })
	_ = second.Process.Signal(syscall.SIGKILL)
	_ = second.Wait()
	beta.until("the daemon tells that the host is gone", func() bool { return strings.Contains(scraped(), `plimsoll_fleet_hosts{state="gone"} 1`) })

	third := start(alpha, "third")
	beta.until("the host is back", func() bool { return beta.elsewhere() == "alpha/third" })
	_ = third.Process.Signal(syscall.SIGTERM)
	_ = third.Wait()
	beta.until("it has left with its last run", func() bool { return beta.looked().Host.Fleet.Hosts == 0 })

	server.Kill()
	start(alpha, "alone")
	alpha.until("its own run is shown while the fleet is away", func() bool {
		seen := alpha.looked()
		return len(seen.Runs) > 0 && strings.HasPrefix(seen.Host.Fleet.Away, "only this host is shown since ")
	})
	alpha.until("runs lists it too, and says once that the fleet is away", func() bool {
		got := alpha.run(nil, plimsoll, "runs")
		return strings.Count(got.stderr, "the fleet is away") == 1 && strings.Contains(got.stdout, "alone")
	})
}
