package proctree

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRealTreesAreFoundWhole(t *testing.T) {
	for role, want := range map[string]int{
		"idle": 1, "deep 12": 13, "wide 30": 31, "orphan": 2, "daemon": 2, "threads 40": 1, "zombie": 1,
	} {
		t.Run(strings.Fields(role)[0], func(t *testing.T) {
			tree, c := start(t, role, Options{Cookie: "cookie"})
			changes := scan(t, tree)
			if got := alive(tree); got != want {
				t.Errorf("%d processes alive in the tree, want %d: %v", got, want, tree.Members())
			}
			if len(changes.Appeared) == 0 || changes.Appeared[0].PID != c.Process.Pid {
				t.Errorf("appeared %v, want the root %d first", changes.Appeared, c.Process.Pid)
			}
			for i, p := range changes.Appeared {
				isParent := func(q Process) bool { return q.PID == p.PPID }
				if slices.ContainsFunc(changes.Appeared[i:], isParent) {
					t.Errorf("%v appeared before its parent", p)
				}
			}
			again := scan(t, tree)
			if len(again.Appeared)+len(again.Gone) != 0 {
				t.Errorf("a second scan found changes: %+v", again)
			}
		})
	}
}

func TestAnOrphanIsFoundAfterItsParentsDied(t *testing.T) {
	t.Run("by its session, which a member led", func(t *testing.T) {
		tree, _ := start(t, "setsid orphan", Options{})
		scan(t, tree)
		if got := alive(tree); got != 2 {
			t.Errorf("%d processes alive, want the root and the orphan in its session", got)
		}
	})
	t.Run("by the cookie, when it was never seen before", func(t *testing.T) {
		tree, _ := start(t, "daemon", Options{Cookie: "cookie"})
		scan(t, tree)
		if got := alive(tree); got != 2 {
			t.Errorf("%d processes alive, want the root and the daemon", got)
		}
		if tree.Counters().CookieReads == 0 {
			t.Error("the daemon was found without looking at an environment")
		}
	})
	t.Run("not without evidence", func(t *testing.T) {
		tree, _ := start(t, "daemon", Options{})
		scan(t, tree)
		if got := alive(tree); got != 1 {
			t.Errorf("%d processes alive, want the root only: nothing ties the daemon to it", got)
		}
	})
	t.Run("by the subreaper", func(t *testing.T) {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			t.Fatal(err)
		}
		defer unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		tree, _ := start(t, "daemon", Options{Subreaper: true})
		scan(t, tree)
		if got := alive(tree); got != 2 {
			t.Errorf("%d processes alive, want the root and the daemon", got)
		}
		var daemon Process
		for _, p := range tree.Members()[1:] {
			daemon = p
		}
		if daemon.PPID != os.Getpid() {
			t.Errorf("the daemon %v has parent %d, want this process %d", daemon, daemon.PPID, os.Getpid())
		}
		t.Cleanup(func() { unix.Wait4(daemon.PID, nil, 0, nil) })
		if _, err := tree.KillTree(t.Context(), KillOptions{SpareRoot: true}); err != nil {
			t.Error(err)
		}
	})
	t.Run("once a member, always a member", func(t *testing.T) {
		tree, c := start(t, "wide 3", Options{})
		scan(t, tree)
		c.Process.Kill()
		c.Process.Wait()
		changes := scan(t, tree)
		if len(changes.Gone) != 1 || changes.Gone[0].PID != c.Process.Pid {
			t.Errorf("gone %v, want the root only", changes.Gone)
		}
		if got := len(tree.Members()); got != 3 {
			t.Errorf("%d members after the root died, want its 3 children", got)
		}
	})
}

func TestACommMadeToConfuseIsReadWhole(t *testing.T) {
	for _, name := range []string{") R 1 1", "((((", ")", "\xff\xfe) ", "a\nb) S 7 7", "  "} {
		_, c := start(t, "named "+hex.EncodeToString([]byte(name)), Options{})
		p, err := Lookup(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		if p.Name != name || p.PPID != os.Getpid() {
			t.Errorf("the process named %q reads as %q, child of %d; want a child of %d", name, p.Name, p.PPID, os.Getpid())
		}
	}
}
