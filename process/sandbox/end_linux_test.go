package sandbox_test

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func TestLeftoversAreEndedAndListed(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "daemons", "2", "stubborn")
		s.Grace = 300 * time.Millisecond
		res := run(t, s)
		if res.ExitCode != 0 || len(res.Leftovers) != 3 {
			t.Fatalf("want 3 leftovers: %+v", res)
		}
		killed := 0
		for _, l := range res.Leftovers {
			if processExists(l.PID) {
				t.Errorf("%+v is still there", l)
			}
			if l.Fate == "killed" {
				killed++
			}
		}
		if killed != 1 {
			t.Errorf("only the stubborn one needs SIGKILL: %+v", res.Leftovers)
		}
	})
}

func TestRequiredRefusesWithoutTheKernel(t *testing.T) {
	for _, layer := range []sandbox.Layer{sandbox.Rlimit, sandbox.Monitor} {
		s := spec(t, layer, "exit", "0")
		s.Enforcement = sandbox.Required
		_, err := sandbox.Start(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), "doctor") {
			t.Errorf("%s: got %v, want a refusal with a next step", layer, err)
		}
	}
}

func TestNothingStaysBehind(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		var last sandbox.Remains
		s := spec(t, layer, "exit", "0")
		s.Remember = func(r sandbox.Remains) error { last = r; return nil }
		run(t, s)
		if last.ID != s.ID {
			t.Errorf("remembered %+v", last)
		}
		for _, dir := range last.Groups {
			if strings.HasSuffix(dir, ".scope") { // systemd removes it when this process has left
				dir += "/run"
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is still there", dir)
			}
		}
	})
}

func TestARunInsideARunStaysInsideItsLimits(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		outR, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer outR.Close()
		var outer sandbox.Remains
		s := spec(t, layer, "nest", "120", "400")
		s.Files[1] = out
		s.Limits.Memory = 300 * limit.MiB
		s.Remember = func(r sandbox.Remains) error { outer = r; return nil }
		res := run(t, s)
		out.Close()
		text, _ := io.ReadAll(outR)
		var inner nestedRun
		if err := json.Unmarshal(text, &inner); err != nil {
			t.Fatalf("%v: %q, the outer run ended with %+v", err, text, res)
		}
		if inner.Result.Layer == sandbox.Systemd {
			t.Error("a new scope would leave the outer limits")
		}
		for _, dir := range inner.Remains.Groups {
			if !slices.ContainsFunc(outer.Groups, func(o string) bool { return strings.HasPrefix(dir, o+"/") }) {
				t.Errorf("the inner group %s is not below %v", dir, outer.Groups)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Errorf("%s is still there", dir)
			}
		}
		if inner.Result.ExitCode != 137 || inner.Result.OOMKills == 0 || !inner.Result.Peak.Exact {
			t.Errorf("400 MB under the inner limit of 120 MB: %+v", inner.Result)
		}
		if res.ExitCode != 0 || res.CommandOOM {
			t.Errorf("the outer command goes on: %+v", res)
		}
		if res.OOMKills != 0 {
			t.Errorf("the outer run counts %d OOM kills, which are the inner one's", res.OOMKills)
		}
		if res.Peak.Bytes < 119*limit.MiB || res.Peak.Bytes > 300*limit.MiB {
			t.Errorf("the outer peak covers the inner run: %s", res.Peak.Bytes.Human())
		}
	})
}

// Who is killed in an inner run because the outer one's limit was reached is the outer one's kill.
func TestTheOuterLimitKillsInsideAnInnerRun(t *testing.T) {
	eachLayer(t, true, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "nest", "600", "400")
		s.Limits.Memory = 300 * limit.MiB
		if res := run(t, s); res.OOMKills == 0 || res.CommandOOM {
			t.Errorf("400 MB under the outer limit of 300 MB: %+v", res)
		}
	})
}

// Two starts at once in one program: neither may wait for the other's command, and
// descriptors that the program means to pass on reach both.
func TestStartsAtOnceDoNotHoldEachOther(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		long, err := sandbox.Start(t.Context(), spec(t, layer, "sleep", "60000"))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			s := spec(t, layer, "exit", "0")
			wg.Go(func() {
				r, err := sandbox.Start(t.Context(), s)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = r.Wait()
			})
		}
		wg.Wait()
		select {
		case <-long.Done():
			t.Error("the long command should still run")
		default:
		}
		if err := long.Kill(); err != nil {
			t.Error(err)
		}
		if res, _ := long.Wait(); res.Signal != 9 {
			t.Errorf("%+v", res)
		}
	})
}
