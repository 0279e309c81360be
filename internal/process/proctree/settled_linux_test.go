package proctree

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// living looks once, in a recorded table, and returns the numbers of who is alive.
func living(t *testing.T, tree *Tree) (alive []int, settled bool) {
	t.Helper()
	list, err := tree.scanLiving(false)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		alive = append(alive, p.PID)
	}
	return alive, tree.isSettled()
}

// Each of these processes forks after the listing and then ends, so that one look finds nobody
// alive. What it left is found by the next.
func TestALookIsNotTrustedWhenSomebodyDiedDuringIt(t *testing.T) {
	left := proc{pid: 130, ppid: 1, start: 130, name: "left", environ: cookie + "\x00"}
	for name, prepare := range map[string]func(x *table, o *Options){
		"a new member that is a zombie when it is asked": func(x *table, o *Options) {
			o.Exclude = func(p Process) bool { // called between the listing and the second question
				if p.PID == 120 {
					x.add(proc{pid: 120, ppid: 1, start: 120, name: "parent", state: "Z"})
					x.add(left)
				}
				return false
			}
			x.add(proc{pid: 120, ppid: 1, start: 120, name: "parent", environ: cookie + "\x00"})
		},
		"a new member that is gone when it is asked": func(x *table, o *Options) {
			o.Exclude = func(p Process) bool {
				if p.PID == 120 {
					x.remove(120)
					x.add(left)
				}
				return false
			}
			x.add(proc{pid: 120, ppid: 1, start: 120, name: "parent", environ: cookie + "\x00"})
		},
		"a zombie that was never seen alive": func(x *table, _ *Options) {
			x.add(proc{pid: 120, ppid: 1, start: 120, name: "parent", state: "Z"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			x.add(proc{pid: 100, ppid: 60, start: 100, name: "agent", state: "Z"})
			o := Options{Root: 100, Cookie: cookie}
			tree := x.tree(o)
			for range 2 { // the root has been dead for long
				if alive, _ := living(t, tree); len(alive) != 0 {
					t.Fatalf("%v alive in a tree that has ended", alive)
				}
			}
			if !tree.isSettled() {
				t.Fatal("a tree that has ended is not settled")
			}
			prepare(x, &tree.o)
			if alive, settled := living(t, tree); len(alive) != 0 || settled {
				t.Errorf("alive: %v, settled: %v; want nobody, and no trust in that", alive, settled)
			}
			x.add(left)
			if alive, _ := living(t, tree); len(alive) != 1 || alive[0] != left.pid {
				t.Errorf("alive: %v, want %d", alive, left.pid)
			}
			x.remove(left.pid)
			living(t, tree)
			if alive, settled := living(t, tree); len(alive) != 0 || !settled {
				t.Errorf("alive: %v, settled: %v; want nobody for sure", alive, settled)
			}
		})
	}
}

// A child may get a number that the listing has passed: its parent, with a larger one, is then gone
// before the listing comes to it.
func TestALookIsNotTrustedWhenNumbersBeganAnew(t *testing.T) {
	for name, test := range map[string]struct {
		before, now int // the numbers given out last
		gone        int // a member that ends before the listing
		settled     bool
	}{
		"numbers only grew":                                  {120, 140, 120, true},
		"numbers began anew since the look before":           {120, 80, 0, false},
		"a member had a number above the last one":           {80, 80, 120, false},
		"the kernel does not tell, and a member ended":       {0, 0, 120, false},
		"the kernel does not tell, and nobody ended of late": {0, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTable(t)
			last := func(n int) {
				if n == 0 {
					return
				}
				dir := filepath.Join(x.dir, "sys", "kernel")
				if err := os.MkdirAll(dir, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "ns_last_pid"), []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			last(test.before)
			x.add(proc{pid: 100, ppid: 60, start: 100, name: "agent", state: "Z"})
			if test.gone != 0 {
				x.add(proc{pid: test.gone, ppid: 100, start: 120, name: "child"})
			}
			tree := x.tree(Options{Root: 100, Cookie: cookie})
			for range 2 {
				if alive, settled := living(t, tree); (len(alive) != 0) != (test.gone != 0) {
					t.Fatalf("alive: %v, settled: %v", alive, settled)
				}
			}
			x.remove(test.gone)
			last(test.now)
			if alive, settled := living(t, tree); len(alive) != 0 || settled != test.settled {
				t.Errorf("alive: %v, settled: %v; want nobody, settled: %v", alive, settled, test.settled)
			}
			if alive, settled := living(t, tree); len(alive) != 0 || !settled {
				t.Errorf("at the next look: alive: %v, settled: %v", alive, settled)
			}
		})
	}
}
