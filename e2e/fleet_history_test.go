//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

// host makes a world with a clone of one repository in it, in a fleet.
func host(t *testing.T, url, name, remote string) *world {
	t.Helper()
	w := newWorld(t)
	w.variables = append(w.variables, "PLIMSOLL_FLEET_URL="+url)
	w.work = filepath.Join(w.home, name)
	git := filepath.Join(w.work, ".git")
	testfile.Write(t, filepath.Join(git, "config"), "[remote \"origin\"]\n\turl = "+remote+"\n")
	return w
}

// hungry runs a tool that takes 200 MiB for some seconds, and returns the report and what was said.
func (w *world) hungry() (r journal.Report, said string) {
	w.t.Helper()
	report := filepath.Join(w.home, "report.json")
	got := w.run(nil, plimsoll, "run", "--force", "--time-max", "4s", "--report", report, "--tool", "builder", "--", testtool, "thrash", "200", "100ms")
	text, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || !strings.Contains(got.stdout, "thrashing") {
		w.t.Fatalf("%v: %d %s %s", err, got.status, got.stdout, got.stderr)
	}
	return r, got.stderr
}

// expects waits until a dry run says so. A busy machine may be slower than a run waits for its fleet, which then counts as away for a while.
func (w *world) expects(words string) {
	w.t.Helper()
	wait.Within(w.t, 2*time.Minute, words, func() bool {
		_ = os.Remove(filepath.Join(w.state, "fleet", "away"))
		got := w.run(nil, plimsoll, "run", "--force", "--dry-run", "--tool", "builder", "--", testtool, "exit", "0")
		return strings.Contains(got.stdout, words)
	})
}

// delivers waits until runs that have nothing to tell have delivered what waits.
func (w *world) delivers() {
	w.t.Helper()
	wait.Within(w.t, 2*time.Minute, "what waits is delivered", func() bool {
		if _, err := os.Stat(filepath.Join(w.state, "fleet", "outbox")); err != nil {
			return true
		}
		_ = os.Remove(filepath.Join(w.state, "fleet", "away"))
		if got := w.run(nil, plimsoll, "run", "--force", "--", testtool, "exit", "0"); got.status != 0 {
			w.t.Error(got.status, got.stderr)
		}
		return false
	})
}

// A tool that has never run on a host is expected to need what it took on another one. Nothing else of that host travels.
func TestAFirstRunIsEstimatedFromTheFleet(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	one := host(t, s.URL, "web", "git@git.example.org:org/web.git")
	if r, said := one.hungry(); r.Estimate.Source != "default" {
		t.Errorf("%+v %s", r.Estimate, said)
	}
	one.delivers()
	two := host(t, s.URL, "checkout", "https://me:hunter2@git.example.org/org/web")
	two.expects("from 1 run on other hosts of the fleet")
	two.hungry()
	two.delivers()
	// Once it has run here, nobody else is asked.
	s.Signal(syscall.SIGSTOP)
	if got := two.run(nil, plimsoll, "run", "--force", "--dry-run", "--tool", "builder", "--", testtool, "exit", "0"); !strings.Contains(got.stdout, "from 1 run in this project") || strings.Contains(got.stderr, "fleet") {
		t.Errorf("%s %s", got.stdout, got.stderr)
	}
	s.Signal(syscall.SIGCONT)
	// In another project it is what it took in all.
	three := host(t, s.URL, "api", "git@git.example.org:org/api.git")
	if got := three.run(nil, plimsoll, "stats", "builder"); !strings.Contains(got.stdout, "from 2 runs on other hosts of the fleet") || !strings.Contains(got.stdout, "fleet") {
		t.Errorf("%s %s", got.stdout, got.stderr)
	}
	stored, err := exec.Command("sh", "-c", `cat "$(dirname "$0")"/../*/jetstream/*/streams/KV_plimsoll_history/msgs/*.blk`, s.Config).Output()
	if err != nil || !strings.Contains(string(stored), "builder") {
		t.Fatalf("nothing is stored: %v", err)
	}
	hostname, _ := os.Hostname()
	for _, secret := range []string{one.home, "thrash", "hunter2", "git.example.org", "org/web", "checkout", hostname} {
		if strings.Contains(string(stored), secret) {
			t.Errorf("%q has travelled", secret)
		}
	}
}

// With a server that takes connections and says nothing a run goes on as without a fleet and says so once; what it took is delivered later,
// once.
func TestAFleetThatIsAway(t *testing.T) {
	s := natsserver.Start(t)
	w := host(t, s.URL, "web", "git@git.example.org:org/web.git")
	s.Signal(syscall.SIGSTOP)
	r, said := w.hungry()
	if r.Estimate.Source != "default" || strings.Count(said, "the fleet is away") != 1 {
		t.Errorf("%+v %s", r.Estimate, said)
	}
	if got := w.run(nil, plimsoll, "doctor"); !strings.Contains(got.stdout, "Runs go on without their fleet") || !strings.Contains(got.stdout, "It does not know of 1 run here yet") {
		t.Errorf("%s %s", got.stdout, got.stderr)
	}
	s.Signal(syscall.SIGCONT)
	w.delivers()
	if got := w.run(nil, plimsoll, "doctor"); !strings.Contains(got.stdout, "answers: nats-server") || strings.Contains(got.stdout, "does not know of") {
		t.Errorf("%s %s", got.stdout, got.stderr)
	}
	other := host(t, s.URL, "web2", "git@git.example.org:org/web.git")
	got := other.run(nil, plimsoll, "stats", "builder", "--json")
	if strings.Count(got.stdout, `"recorded": 1,`) != 2 || !strings.Contains(got.stdout, `"source": "history:fleet"`) {
		t.Errorf("%s %s", got.stdout, got.stderr)
	}
}
