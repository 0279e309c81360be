package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// orphanReport is what the report of a run has about orphans.
type orphanReport struct {
	Outcome string
	Orphans []struct {
		PID    int
		Name   string
		Daemon bool
		Fate   string
	}
	Limits []struct {
		Name, Reached string
		Soft, Hard    int64
	}
	Leftovers []struct{ PID int }
}

// orphaning is an agent whose children lost their parent: three that were forgotten, and a daemon that
// ignores SIGHUP as under nohup.
type orphaning struct {
	t      *testing.T
	w      *world
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	words  lockedBuffer
	report string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startOrphaning(t *testing.T, m mode, onOrphan string) *orphaning {
	t.Helper()
	w := newWorld(t)
	o := &orphaning{t: t, w: w, report: filepath.Join(w.home, "report.json")}
	script := `( (trap "" HUP; exec "$0" idle </dev/null >/dev/null 2>&1) & ); exec "$0" orphans 3 idle`
	o.cmd = exec.Command(plimsoll, "run", "--layer", m.layer, "--on-orphan", onOrphan, "--report", o.report, "--", "sh", "-c", script, testtool)
	o.cmd.Dir, o.cmd.Stderr = w.work, &o.words
	o.cmd.Env = w.environment("PLIMSOLL_RESOURCES_ORPHAN_MAX=1s", "PLIMSOLL_RESOURCES_ON_PRESSURE=off")
	var err error
	if o.stdin, err = o.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err == nil {
		err = o.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "orphaned\n" {
		t.Fatalf("it said %q, %v; %s", line, err, o.words.String())
	}
	return o
}

// idlers counts the children that live.
func (o *orphaning) idlers() (n int) {
	for _, p := range o.w.processes() {
		if strings.Contains(p.args, "testtool idle") {
			n++
		}
	}
	return n
}

func (o *orphaning) until(what string, done func() bool) {
	o.t.Helper()
	wait.Within(o.t, patience, what, done, func() string { return fmt.Sprintf("%d children live; it said:\n%s", o.idlers(), o.words.String()) })
}

// finish lets the agent end and returns the report.
func (o *orphaning) finish() orphanReport {
	o.t.Helper()
	if _, err := o.stdin.Write([]byte("\n")); err != nil {
		o.t.Fatal(err)
	}
	if err := o.cmd.Wait(); err != nil {
		o.t.Errorf("the agent: %v", err)
	}
	var r orphanReport
	text, err := os.ReadFile(o.report)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	o.w.nothingLeft()
	return r
}

func (r orphanReport) fates() map[string]int {
	n := map[string]int{}
	for _, o := range r.Orphans {
		if o.Name != "testtool" {
			n["name "+o.Name]++
		}
		n[o.Fate]++
	}
	return n
}

func (r orphanReport) reached(name string) string {
	for _, l := range r.Limits {
		if l.Name == name {
			return l.Reached
		}
	}
	return "no such limit"
}

func TestOrphans(t *testing.T) {
	everyLayer(t, func(t *testing.T, m mode) {
		t.Run("warn", func(t *testing.T) { orphansAreToldOf(t, m) })
		t.Run("end", func(t *testing.T) { orphansAreEnded(t, m) })
	})
}

// told sums of how many orphans the words tell that something happened to them. Those of one look are in one line; on a
// slow machine not all are found in one.
func (o *orphaning) told(what string) (n int) {
	for _, m := range regexp.MustCompile(`([0-9]+) process(?:es)? whose parent has ended `+regexp.QuoteMeta(what)).FindAllStringSubmatch(o.words.String(), -1) {
		k, _ := strconv.Atoi(m[1])
		n += k
	}
	return n
}

func orphansAreToldOf(t *testing.T, m mode) {
	o := startOrphaning(t, m, "warn")
	o.until("the warning", func() bool { return o.told("still run after") == 4 })
	o.until("the list", func() bool {
		cmd := exec.Command(plimsoll, "top", "--once", "--json", "--tree")
		cmd.Env = o.w.environment()
		out, err := cmd.Output()
		var top struct {
			Runs []struct {
				Orphans int
				Tree    []struct {
					PID            int
					Name           string
					Orphan, Daemon bool
				}
			}
		}
		if err != nil || json.Unmarshal(out, &top) != nil || len(top.Runs) != 1 {
			t.Fatalf("top: %v: %s", err, out)
		}
		orphans, daemons, others := 0, 0, 0
		for _, p := range top.Runs[0].Tree {
			switch {
			case p.Daemon:
				daemons++
			case p.Orphan && p.Name == "testtool":
				orphans++
			case p.Orphan:
				t.Fatalf("%s (pid %d) counts as an orphan: %s", p.Name, p.PID, out)
			default:
				others++
			}
		}
		return orphans == 3 && daemons == 1 && others == 1 && top.Runs[0].Orphans == 4
	})
	cmd := exec.Command(plimsoll, "top", "--once", "--tree")
	cmd.Env = o.w.environment()
	out, err := cmd.Output()
	if err != nil || strings.Count(string(out), "testtool  (orphan)") != 3 || !strings.Contains(string(out), "testtool  (orphan, daemon)") ||
		!strings.Contains(string(out), "      4 orphans\n") {
		t.Errorf("top --once --tree: %v\n%s", err, out)
	}
	if n := o.idlers(); n != 4 {
		t.Errorf("%d children live, want all 4", n)
	}
	r := o.finish()
	if got := r.fates(); got["warned"] != 4 || len(got) != 1 || r.reached("orphan_max") != "soft" || len(r.Leftovers) != 4 {
		t.Errorf("the report says %+v", r)
	}
	if n := o.told(""); n != 4 {
		t.Errorf("it told of %d, want each of the four once:\n%s", n, o.words.String())
	}
}

func orphansAreEnded(t *testing.T, m mode) {
	o := startOrphaning(t, m, "end")
	o.until("the end of three, and that the daemon is left alone", func() bool {
		return o.told("ended when asked") == 3 && o.told("are left alone") == 1
	})
	if n := o.idlers(); n != 1 {
		t.Errorf("%d children live, want the daemon", n)
	}
	r := o.finish()
	if got := r.fates(); got["terminated"] != 3 || got["kept"] != 1 || len(got) != 2 || r.reached("orphan_max") != "hard" || len(r.Leftovers) != 1 {
		t.Errorf("the report says %+v", r)
	}
	if r.Outcome != "ok" {
		t.Errorf("the agent ended %s", r.Outcome)
	}
}
