package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A run and a neighbour both stall on memory below a slice that systemd-oomd watches. Without a preference it
// kills whichever it finds to have stalled more; asked to avoid the run, it kills the neighbour. A run that it killed
// must say so. It needs a machine with systemd-oomd that may be hurt (.ci/vm/guest, part oomd).
// PLIMSOLL_E2E_OOMD says how often to try each, one after the other in turn; with 1 the preference
// "default" is left out, which needs many tries to say anything.
func TestSystemdOOMD(t *testing.T) {
	tries, _ := strconv.Atoi(os.Getenv("PLIMSOLL_E2E_OOMD"))
	if tries == 0 {
		t.Skip("PLIMSOLL_E2E_OOMD is not set: this is no machine whose systemd-oomd may be made to kill")
	}
	systemctl(t, "start", "app.slice")
	// With "avoid" systemd 252 may take nobody here: it comes first to groups that are empty but for their page
	// cache, such as that of dbus.socket, finds nothing to kill there and looks no further.
	t.Run("alone", func(t *testing.T) {
		if !oomdTakesRun(t, "default", false) {
			t.Error("systemd-oomd took somebody else, and there was nobody else")
		}
	})
	t.Run("beside", func(t *testing.T) {
		preferences := []string{"avoid", "default"}
		if tries == 1 {
			preferences = preferences[:1]
		}
		ended := map[string]int{}
		for range tries {
			for _, preference := range preferences {
				if oomdTakesRun(t, preference, true) {
					ended[preference]++
				}
			}
		}
		for _, preference := range preferences {
			t.Logf("oomd = %q: of %d tries systemd-oomd took the run in %d and the neighbour in %d", preference, tries, ended[preference], tries-ended[preference])
		}
		if ended["avoid"] > 0 {
			t.Error("that is not what was asked of it")
		}
	})
}

// oomdTakesRun says whom systemd-oomd took, and checks what the run has to say about it.
func oomdTakesRun(t *testing.T, preference string, beside bool) bool {
	t.Helper()
	w := newWorld(t)
	report := filepath.Join(w.state, "report.json")
	if err := os.MkdirAll(w.state, 0o700); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	run := exec.Command(plimsoll, "run", "--layer", "systemd", "--memory-max", "150M", "--report", report, "--", testtool, "thrash", "260")
	run.Dir, run.Stderr = w.work, &words
	run.Env = w.environment("PLIMSOLL_RESOURCES_SWAP_MAX=1G", "PLIMSOLL_RESOURCES_ON_PRESSURE=off", "PLIMSOLL_RESOURCES_OOMD="+preference)
	neighbour := exec.Command("systemd-run", "--user", "--scope", "--quiet", "--property=MemoryHigh=50M", "--", testtool, "thrash", "60", "1s")
	neighbour.Env = w.environment()
	all := []*exec.Cmd{run, neighbour}
	if !beside {
		all = all[:1]
	}
	ended := make(chan *exec.Cmd, 2)
	thrashing := make(chan bool, 2)
	for _, c := range all {
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			line, _ := bufio.NewReader(out).ReadString('\n')
			thrashing <- line == "thrashing\n"
			_ = c.Wait()
			ended <- c
		}()
		select {
		case on := <-thrashing:
			if !on {
				t.Fatalf("%v did not start\n%s", c.Args, words.String())
			}
		case <-time.After(patience):
			t.Fatalf("%v did not get what it wants of memory", c.Args)
		}
	}
	// Only now, and with a low line: who stalls while it starts is nobody's measure.
	systemctl(t, "set-property", "--runtime", "app.slice", "ManagedOOMMemoryPressure=kill", "ManagedOOMMemoryPressureLimit=1%")
	defer systemctl(t, "set-property", "--runtime", "app.slice", "ManagedOOMMemoryPressure=auto")
	var first *exec.Cmd
	select {
	case first = <-ended:
	case <-time.After(patience):
		state, _ := exec.Command("oomctl").CombinedOutput()
		t.Errorf("systemd-oomd took nobody:\n%s", state)
	}
	for _, c := range all {
		if c != first {
			_ = c.Process.Signal(syscall.SIGTERM)
			<-ended
		}
	}
	if first == nil {
		t.FailNow()
	}
	var said struct {
		Outcome   string
		ExitCode  int `json:"exit_code"`
		OOMDKills int `json:"oomd_kills"`
	}
	text, err := os.ReadFile(report)
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		t.Fatalf("no report: %v\n%s", err, words.String())
	}
	took := first == run
	switch {
	case took && (said.Outcome != "oom" || said.OOMDKills == 0 || said.ExitCode != 137):
		t.Errorf("the report of a run that systemd-oomd killed says %+v", said)
	case took && !strings.Contains(words.String(), "systemd-oomd ended it because the machine was short of memory"):
		t.Errorf("it says nothing of systemd-oomd:\n%s", words.String())
	case !took && said.OOMDKills != 0:
		t.Errorf("the report of a run that was left alone says %+v", said)
	}
	return took
}

func systemctl(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("systemctl", append([]string{"--user"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("systemctl --user %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
