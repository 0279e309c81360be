package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// Eight `yes` under plimsoll run and one outside share a single processor. By heads the one outside has a ninth. It must get
// at least two fifths: a group of weight 30 beside one process of weight 100 leaves it 77 %, eight processes of nice 10 leave
// it 54 %, and where each has a session of its own (sched(7), autogroups) it has half at least.
// Only shares of processor time are compared: what else is busy takes from both.
func TestBurnersGiveWay(t *testing.T) {
	const burners = 8
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
	everyLayer(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		run := exec.Command(plimsoll, "run", "--quiet", "--layer", m.layer, "--", "sh", "-c",
			`n=0; while [ $n -lt `+strconv.Itoa(burners)+` ]; do yes >/dev/null & n=$((n+1)); done; wait`)
		session := &syscall.SysProcAttr{Setsid: true}
		run.SysProcAttr = session
		run.Dir, run.Env = w.work, w.environment("PLIMSOLL_RESOURCES_ON_PRESSURE=off")
		var words bytes.Buffer
		run.Stderr = &words
		if err := run.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = run.Process.Signal(unix.SIGTERM)
			_ = run.Wait()
			w.nothingLeft()
		}()
		// All are there and have given way as far as they will.
		var inside []int
		deadline := time.Now().Add(patience)
		for len(inside) < burners {
			if time.Now().After(deadline) {
				t.Fatalf("%d of %d burners are nicer than the agent that started them\n%s", len(inside), burners, words.String())
			}
			time.Sleep(20 * time.Millisecond)
			inside = inside[:0]
			for _, p := range w.processes() {
				b, ok := burner(p.pid)
				agent, alive := burner(b.parent)
				if ok && alive && strings.HasPrefix(p.args, "yes ") && b.nice == agent.nice+5 {
					inside = append(inside, p.pid)
				}
			}
		}
		// Only now: a group with others in it could not be divided.
		outside := exec.Command("yes")
		if m.layer == "systemd" && os.Getuid() != 0 { // another program of the user's: weights count among neighbours
			outside = exec.Command("systemd-run", "--user", "--scope", "--quiet", "--", "yes")
		}
		outside.SysProcAttr = session
		if err := outside.Start(); err != nil { // standard output is /dev/null
			t.Fatal(err)
		}
		defer func() {
			_ = outside.Process.Kill()
			_ = outside.Wait()
		}()
		for comm := ""; comm != "yes"; {
			if time.Now().After(deadline) {
				t.Fatalf("%v is %q still", outside.Args, comm)
			}
			time.Sleep(20 * time.Millisecond)
			body, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(outside.Process.Pid), "comm"))
			comm = strings.TrimSpace(string(body))
		}
		for _, pid := range append([]int{outside.Process.Pid}, inside...) {
			if err := unix.SchedSetaffinity(pid, &one); err != nil {
				t.Fatal(err)
			}
		}

		used := func() (out, in int) {
			b, _ := burner(outside.Process.Pid)
			for _, pid := range inside {
				b, ok := burner(pid)
				if !ok {
					t.Fatalf("a burner has gone\n%s", words.String())
				}
				in += b.ticks
			}
			return b.ticks, in
		}
		out0, in0 := used()
		out, in := 0, 0
		for out+in < 300 { // three seconds of a processor
			if time.Now().After(deadline) {
				t.Fatalf("they were given %d and %d ticks of a processor", out, in)
			}
			time.Sleep(100 * time.Millisecond)
			out, in = used()
			out, in = out-out0, in-in0
		}
		share := float64(out) / float64(out+in)
		b, _ := burner(inside[0])
		t.Logf("one process outside has %.0f %% of a processor beside %d inside (nice %d)", 100*share, burners, b.nice)
		if share < 0.4 {
			t.Errorf("the process outside has %.0f %%, want at least 40 %%", 100*share)
		}
	})
}
