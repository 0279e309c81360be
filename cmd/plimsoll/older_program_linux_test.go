package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/app"
)

// besideOlder is another program on this site's state: the one that PLIMSOLL_E2E_OLD names.
func (s *site) besideOlder() *site {
	s.t.Helper()
	file := os.Getenv("PLIMSOLL_E2E_OLD")
	if file == "" {
		s.t.Skip("PLIMSOLL_E2E_OLD does not name an older plimsoll: CGO_ENABLED=0 go build -o FILE ./cmd/plimsoll at an older commit makes one")
	}
	if _, err := os.Stat(file); err != nil || !filepath.IsAbs(file) {
		s.t.Fatalf("PLIMSOLL_E2E_OLD must be the whole path of a program: %q, %v", file, err)
	}
	older := *s
	older.older = file
	return &older
}

// TestOlderAndNewerShareOneLedger: an update replaces the program while runs of the older one go on. Shells of both run
// commands, with one slot between all of them; a directory that the command makes and removes, and nothing of ours, tells that never two
// ran at once. One run in five starts an inner run of the other program, which takes no slot of its own.
func TestOlderAndNewerShareOneLedger(t *testing.T) {
	s := newSite(t)
	older := s.besideOlder()
	const shells, runs = 6, 20
	s.configure("[tools.codex]\nmax_concurrent = 1\n")
	const alone = `mkdir alone || exit 9; sleep 0.01; rmdir alone`
	var wg sync.WaitGroup
	for shell := range shells {
		mine, other := s, older
		if shell%2 == 0 {
			mine, other = older, s
		}
		wg.Go(func() {
			for run := range runs {
				line := []string{"run", "--quiet", "--wait", "--tool", "codex", "--"}
				if (shell+run)%5 == 0 {
					line = append(line, other.program(), "run", "--quiet", "--tool", "codex", "--")
				}
				o := mine.plimsoll(append(line, "sh", "-c", alone)...)
				if o.code != 0 || o.stdout+o.stderr != "" {
					t.Errorf("%s, shell %d, run %d: %+v", mine.program(), shell, run, o)
					return
				}
			}
		})
	}
	wg.Wait()
	nested := shells * runs / 5
	for _, program := range []*site{s, older} {
		if sum := program.summary("codex"); sum.Recorded != shells*runs+int64(nested) {
			t.Errorf("%s: recorded %d, want %d", program.program(), sum.Recorded, shells*runs+nested)
		}
		if o := program.plimsoll("slots", "--json"); o.stdout != "[]\n" {
			t.Errorf("%s: slots at the end: %s", program.program(), o.stdout)
		}
	}
}

// TestOlderAndNewerSeeAndCleanEachOther: each lists the other's run and counts its slot, waits for its end, and cleans up
// after it when it was killed.
func TestOlderAndNewerSeeAndCleanEachOther(t *testing.T) {
	s := newSite(t)
	older := s.besideOlder()
	s.configure("[tools.codex]\nmax_concurrent = 1\n")
	agent := filepath.Join(tools, "agent")
	for i, pair := range [][2]*site{{s, older}, {older, s}} {
		holds, looks := pair[0], pair[1]
		ready := filepath.Join(s.dir, fmt.Sprint("ready", i))
		cmd := holds.command("run", "--quiet", "--tool", "codex", "--", agent, "ready", ready)
		in := held(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the first runs", func() bool { return pidIn(t, ready) != 0 })
		if list := looks.slots(); len(list) != 1 || list[0].Tool != "codex" || list[0].PID != cmd.Process.Pid || list[0].ReservationBytes <= 0 {
			t.Errorf("%s sees %+v of the run of %s", looks.program(), list, holds.program())
		}
		o := looks.plimsoll("run", "--quiet", "--tool", "codex", "--", "true")
		if o.code != 125 {
			t.Errorf("%s took a second slot: %+v", looks.program(), o)
		}
		contains(t, "the refusal", o.stderr, "codex", "web", pidOf(cmd))

		// One that waits comes in when the other ends, here by a kill that leaves its claim and its command behind.
		waits := looks.command("run", "--quiet", "--wait=60s", "--tool", "codex", "--", "true")
		if err := waits.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "the second waits", func() bool {
			return slices.ContainsFunc(holds.slots(), func(l app.Slot) bool { return l.Position == 1 && l.PID == waits.Process.Pid })
		})
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if err := waits.Wait(); err != nil {
			t.Errorf("%s, which waited: %v", looks.program(), err)
		}
		in.Close()
		until(t, "the ledger is empty", func() bool { looks.plimsoll("gc"); return len(holds.slots()) == 0 })
	}
}
