package sandbox_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// swaps reports whether the machine has swap.
func swaps(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/swaps")
	return err == nil && strings.Count(string(text), "\n") > 1
}

// What a run holds goes to swap, and comes back when it is touched. A layer that cannot do that is not taken where it is asked for.
func TestReclaim(t *testing.T) {
	eachLayer(t, false, func(t *testing.T, layer sandbox.Layer) {
		s := spec(t, layer, "keep", "200")
		s.Limits.Memory, s.Limits.Swap, s.Reclaims = 400*limit.MiB, 400*limit.MiB, true
		in, out := pipe(t), pipe(t)
		s.Files = []*os.File{in.read, out.write, os.Stderr}
		r, err := sandbox.Start(contextBackground(), s)
		group := layer == sandbox.Systemd || layer == sandbox.Cgroup2
		if group && err != nil && strings.Contains(err.Error(), "the kernel has no memory.reclaim") {
			t.Skip(err)
		}
		if !group {
			if e, ok := errors.AsType[*sandbox.NotEnforced](err); !ok || !e.Reclaims || !strings.Contains(err.Error(), "give the memory of an idle run back") {
				t.Errorf("%v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out.read)
		says := func(want string) {
			t.Helper()
			if line, err := said.ReadString('\n'); err != nil || line != want+"\n" {
				t.Fatalf("it said %q: %v", line, err)
			}
		}
		says("held")
		freed, err := r.Reclaim()
		if err != nil || swaps(t) && freed < 150*limit.MiB {
			t.Errorf("%s were freed: %v", freed.Human(), err)
		}
		for range 2 {
			if _, err := io.WriteString(in.write, "look\n"); err != nil {
				t.Fatal(err)
			}
			says("there")
		}
		_ = in.write.Close()
		if res, err := r.Wait(); err != nil || res.ExitCode != 0 || res.OOMKills != 0 {
			t.Errorf("%+v, %v", res, err)
		}
		if freed, err := r.Reclaim(); err != nil || freed != 0 {
			t.Errorf("after its end %s were freed: %v", freed.Human(), err)
		}
	})
}

type pipes struct{ read, write *os.File }

func pipe(t *testing.T) (p pipes) {
	t.Helper()
	var err error
	if p.read, p.write, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.read.Close()
		_ = p.write.Close()
	})
	return p
}
