package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// burning is a process with what it has used of a processor.
type burning struct {
	parent, nice int
	ticks        int // of user and system time, 100 a second
}

// statOf reads the fields of /proc/PID/stat (proc_pid_stat(5)) from the third on.
func statOf(pid int) []string {
	body, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(body[bytes.LastIndexByte(body, ')')+1:]))
}

func burner(pid int) (b burning, ok bool) {
	fields := statOf(pid)
	if len(fields) < 17 {
		return b, false
	}
	parent, _ := strconv.Atoi(fields[1])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	nice, _ := strconv.Atoi(fields[16])
	return burning{parent, nice, user + system}, true
}

// onOneProcessor has a run of these many `yes` beside others outside, each in a session of its own and all on one processor. It gives the
// share of each outside and of the whole run, once they have used seconds of it together, and what the run said in the end.
func onOneProcessor(t *testing.T, m mode, inside, outside int, seconds int) (each, run float64, words string) {
	t.Helper()
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	for cpu := range 1024 {
		if allowed.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	w := newWorld(t)
	script := "exec yes >/dev/null" // the agent itself
	if inside > 1 {
		script = `n=0; while [ $n -lt ` + strconv.Itoa(inside) + ` ]; do yes >/dev/null & n=$((n+1)); done; wait`
	}
	session := &syscall.SysProcAttr{Setsid: true}
	cmd := exec.Command(plimsoll, "run", "--layer", m.layer, "--", "sh", "-c", script)
	cmd.SysProcAttr = session
	cmd.Dir, cmd.Env = w.work, w.environment("PLIMSOLL_RESOURCES_ON_PRESSURE=off")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	end := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(unix.SIGTERM)
			_ = cmd.Wait()
			w.nothingLeft()
		}
	}
	defer end()
	// All are there and have given way as far as they will.
	var burners []int
	wait.Within(t, patience, fmt.Sprint(inside, " burners are there and nicer than the agent that started them"), func() bool {
		burners = burners[:0]
		for _, p := range w.processes() {
			b, ok := burner(p.pid)
			agent, alive := burner(b.parent)
			if ok && strings.HasPrefix(p.args, "yes") && (inside == 1 || alive && b.nice == min(agent.nice+5, 19)) {
				burners = append(burners, p.pid)
			}
		}
		return len(burners) >= inside
	}, said.String, func() string { return fmt.Sprint(len(burners), " are") })
	// Only now: a group with others in it could not be divided.
	var others []int
	for range outside {
		other := exec.Command("yes")
		if m.layer == "systemd" && os.Getuid() != 0 { // another program of the user's: weights count among neighbours
			other = exec.Command("systemd-run", "--user", "--scope", "--quiet", "--", "yes")
		}
		other.SysProcAttr = session
		if err := other.Start(); err != nil { // standard output is /dev/null
			t.Fatal(err)
		}
		defer func() {
			_ = other.Process.Kill()
			_ = other.Wait()
		}()
		wait.Within(t, patience, fmt.Sprint(other.Args, " is yes"), func() bool {
			body, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(other.Process.Pid), "comm"))
			return strings.TrimSpace(string(body)) == "yes"
		})
		others = append(others, other.Process.Pid)
	}
	for _, pid := range append(slices.Clone(others), burners...) {
		if err := unix.SchedSetaffinity(pid, &one); err != nil {
			t.Fatal(err)
		}
	}

	used := func(pids []int) (ticks int) {
		for _, pid := range pids {
			b, ok := burner(pid)
			if !ok {
				t.Fatalf("a burner has gone\n%s", said.String())
			}
			ticks += b.ticks
		}
		return ticks
	}
	out0, in0 := used(others), used(burners)
	out, in := 0, 0
	wait.Within(t, patience, "they are given their ticks of a processor", func() bool {
		out, in = used(others)-out0, used(burners)-in0
		return out+in >= 100*seconds
	}, func() string { return fmt.Sprintf("%d and %d ticks", out, in) })
	end()
	sum := float64(out + in)
	return float64(out) / sum / float64(outside), float64(in) / sum, said.String()
}

// Eight `yes` under plimsoll run and one outside share a single processor. By heads the one outside has a ninth. It must get
// at least a third: a group of weight 60 beside one process of weight 100 leaves it 62 %, eight processes of nice 7 leave
// it 37 %, and where each has a session of its own (sched(7), autogroups) it has half at least.
// Only shares of processor time are compared: what else is busy takes from both.
func TestBurnersGiveWay(t *testing.T) {
	everyLayer(t, func(t *testing.T, m mode) {
		out, _, _ := onOneProcessor(t, m, 8, 1, 3)
		t.Logf("one process outside has %.0f %% of a processor beside 8 inside", 100*out)
		if out < 0.33 {
			t.Errorf("the process outside has %.0f %%, want at least a third", 100*out)
		}
	})
}

// A run gives way and is not starved: beside one and beside eight busy processes it has at least half of the share that each would have by heads, and
// each of them at least 1.5 times what the run has. A run that had less than half of what it could use says so.
func TestARunIsNotStarved(t *testing.T) {
	long(t, "it keeps all processors busy")
	long := true // in one layer long enough that it is told
	everyLayer(t, func(t *testing.T, m mode) {
		for _, outside := range []int{1, 8} {
			if outside == 8 && !long {
				continue // nice values say the same of one and of eight
			}
			seconds := 3
			if outside == 8 {
				seconds = 14
			}
			each, run, words := onOneProcessor(t, m, 1, outside, seconds)
			t.Logf("beside %d: each of them has %.1f %% of a processor, the run %.1f %%", outside, 100*each, 100*run)
			if fair := 1 / float64(outside+1); run < fair/2 {
				t.Errorf("beside %d the run has %.1f %% of a processor; half of its share are %.1f %%", outside, 100*run, 50*fair)
			}
			if each < 1.5*run {
				t.Errorf("each of %d outside has %.1f %% of a processor, the run %.1f %%", outside, 100*each, 100*run)
			}
			if seconds > 3 && !strings.Contains(words, "of a processor while it could use") {
				t.Errorf("nobody is told that it was starved\n%s", words)
			}
		}
		long = false
	})
}
