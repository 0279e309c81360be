package lab_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/agent/lab"
)

func TestHogTakesMemoryInAChild(t *testing.T) {
	t.Parallel()
	var last atomic.Int64
	text, err := call(t.Context(), tool(t, lab.Tools(options("hog")), "build"), `{"mib":50,"seconds":0.01}`, func(done, total float64, _ string) {
		if total != 50 || int64(done) <= last.Load() {
			t.Errorf("progress %v of %v after %d", done, total, last.Load())
		}
		last.Store(int64(done))
	})
	if err != nil || last.Load() != 50 || !strings.Contains(text, "50 MiB") {
		t.Errorf("%q, %v; %d MiB were told", text, err, last.Load())
	}
}

// What is said to be taken is resident, and is so in the child.
func TestHogIsResident(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc tells how much is resident, on Linux only")
	}
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "64")
	cmd.Env = []string{child + "=hog"}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "64" {
	}
	if got := resident(t, cmd.Process.Pid); got < 64<<10 {
		t.Errorf("%d KiB are resident after 64 MiB", got)
	}
	// The parent goes: so does the child, without a word.
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// resident is VmRSS, in KiB.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest + " x")[0])
	if err != nil {
		t.Fatalf("no VmRSS in %s", text)
	}
	return kib
}

func TestHogSaysHowItsChildEnded(t *testing.T) {
	t.Parallel()
	for kind, words := range map[string][]string{
		"half": {"16 of 64 MiB", "exit status 7", "no more memory here"},
		"liar": {"0 of 64 MiB"},
	} {
		_, err := call(t.Context(), tool(t, lab.Tools(options(kind)), "build"), `{"mib":64}`, nil)
		if err == nil {
			t.Fatalf("%s: no error", kind)
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: no %q in %q", kind, word, err)
			}
		}
	}
	missing := lab.Options{Hog: []string{"no-such-program-of-the-laboratory"}}
	if _, err := call(t.Context(), tool(t, lab.Tools(missing), "build"), `{"mib":1}`, nil); err == nil || !strings.Contains(err.Error(), "did not start") {
		t.Errorf("no program: %v", err)
	}
}

// A child that is killed from outside, as the kernel does when memory is short.
func TestHogSurvivesItsChildBeingKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the child is found in /proc, on Linux only")
	}
	t.Parallel()
	var killed atomic.Bool
	_, err := call(t.Context(), tool(t, lab.Tools(options("hog")), "build"), `{"mib":512}`, func(done, _ float64, _ string) {
		if killed.Swap(true) {
			return
		}
		killHog(t, "512")
	})
	if err == nil || !strings.Contains(err.Error(), "of 512 MiB when it ended: signal: killed") {
		t.Errorf("%v", err)
	}
}

// A child that is killed while it keeps what it has, as where memory is only watched: its end is told at once, not when its time is over.
func TestHogSurvivesItsChildBeingKilledLate(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the child is found in /proc, on Linux only")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := call(ctx, tool(t, lab.Tools(options("hog")), "build"), `{"mib":48,"seconds":300}`, func(done, total float64, _ string) {
		if done == total {
			killHog(t, "48")
		}
	})
	if err == nil || !strings.Contains(err.Error(), "had taken all 48 MiB and then ended: signal: killed") {
		t.Errorf("%v", err)
	}
}

// killHog kills the child of this process that was to take so many MiB.
func killHog(t *testing.T, mib string) {
	t.Helper()
	for _, pid := range children(t) {
		if command, _ := os.ReadFile("/proc/" + pid + "/cmdline"); bytes.HasSuffix(command, []byte("\x00hog\x00"+mib+"\x00")) {
			if name, _ := os.ReadFile("/proc/" + pid + "/comm"); string(name) != "build\n" || !bytes.HasPrefix(command, []byte("build\x00")) {
				t.Errorf("the child is called %q, %q", name, command)
			}
			n, _ := strconv.Atoi(pid)
			if p, err := os.FindProcess(n); err == nil {
				_ = p.Kill()
			}
		}
	}
}

// children are the processes that this one started.
func children(t *testing.T) []string {
	t.Helper()
	var all []string
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

func TestHogIsTakenBack(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("taken back")
	_, err := call(ctx, tool(t, lab.Tools(options("hog")), "build"), `{"mib":32,"seconds":300}`, func(done, _ float64, _ string) {
		if done == 32 {
			cancel(cause)
		}
	})
	if !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
}

func TestHogRefuses(t *testing.T) {
	t.Parallel()
	hog := tool(t, lab.Tools(options("hog")), "build")
	for _, wrong := range []string{`{}`, `{"mib":0}`, `{"mib":-1}`, `{"mib":65537}`, `{"mib":1,"seconds":-1}`, `{"mib":1,"seconds":301}`, `{"mib":"all"}`} {
		if text, err := call(t.Context(), hog, wrong, nil); err == nil {
			t.Errorf("%s: %s", wrong, text)
		}
	}
	for _, wrong := range []string{"", "0", "-1", "x", "65537", "1e3"} {
		if err := lab.Hog(wrong, strings.NewReader(""), io.Discard); err == nil {
			t.Errorf("Hog(%q) was done", wrong)
		}
	}
	// No more children than there may be.
	ctx, cancel := context.WithCancel(t.Context())
	all, ended := make(chan struct{}, lab.MaxChildren), make(chan error, lab.MaxChildren)
	for range lab.MaxChildren {
		go func() {
			_, err := call(ctx, hog, `{"mib":1,"seconds":300}`, func(float64, float64, string) { all <- struct{}{} })
			ended <- err
		}()
	}
	for range lab.MaxChildren {
		<-all
	}
	if text, err := call(t.Context(), hog, `{"mib":1}`, nil); err == nil || !strings.Contains(err.Error(), "4 builds run already") {
		t.Errorf("one more: %s, %v", text, err)
	}
	cancel()
	for range lab.MaxChildren {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if _, err := call(t.Context(), hog, `{"mib":1}`, nil); err != nil {
		t.Errorf("after the others: %v", err)
	}
}
