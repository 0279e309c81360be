package proctree

import (
	"context"
	"runtime"
	"testing"
	"time"
)

func fates(left []Leftover) map[Fate]int {
	n := make(map[Fate]int)
	for _, l := range left {
		n[l.Fate]++
	}
	return n
}

func TestKillTreeEndsPoliteProcessesWithinTheGrace(t *testing.T) {
	tree, _ := start(t, "wide 5", Options{})
	left, err := tree.KillTree(t.Context(), KillOptions{Grace: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got := fates(left); got[Terminated] != 6 || len(got) != 1 {
		t.Errorf("fates %v, want 6 terminated: %v", got, left)
	}
}

func TestKillTreeSparesTheRootAndKillsTheStubborn(t *testing.T) {
	tree, c := start(t, "wide-stubborn 4", Options{})
	left, err := tree.KillTree(t.Context(), KillOptions{Grace: 30 * time.Millisecond, SpareRoot: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := fates(left); got[Killed] != 4 || len(got) != 1 {
		t.Errorf("fates %v, want 4 killed: %v", got, left)
	}
	if !Alive(c.Process.Pid, StartTime(c.Process.Pid)) {
		t.Error("the root was not spared")
	}
}

func TestKillTreeEndsAStoppedProcessPolitely(t *testing.T) {
	tree, c := start(t, "idle", Options{})
	p, err := Lookup(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := Signal(p, sigStop); err != nil {
		t.Fatal(err)
	}
	for p.State != 'T' {
		if p, err = Lookup(p.PID); err != nil {
			t.Fatal(err)
		}
	}
	left, err := tree.KillTree(t.Context(), KillOptions{Grace: 20 * time.Second})
	if err != nil || fates(left)[Terminated] != 1 {
		t.Errorf("%v, %v: want it terminated", left, err)
	}
}

func TestKillTreeSkipsTheGraceWhenItsContextEnds(t *testing.T) {
	tree, _ := start(t, "stubborn", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := tree.KillTree(ctx, KillOptions{Grace: time.Hour})
	if err != nil || fates(left)[Killed] != 1 {
		t.Errorf("%v, %v: want it killed", left, err)
	}
}

func TestKillTreeWinsAgainstProcessesThatKeepForking(t *testing.T) {
	for role, least := range map[string]int{"forker 3": 15, "comets 3": 2} {
		t.Run(role, func(t *testing.T) {
			tree, _ := start(t, role, Options{Cookie: "cookie"})
			for scan(t, tree); alive(tree) < least; scan(t, tree) {
				runtime.Gosched()
			}
			left, err := tree.KillTree(t.Context(), KillOptions{})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d processes killed", len(left))
			if got := fates(left); got[Survived] != 0 || got[Killed] == 0 {
				t.Errorf("fates %v, want all killed", got)
			}
			wantNoneWithTheCookieOf(t, tree)
		})
	}
}

func wantNoneWithTheCookieOf(t *testing.T, tree *Tree) {
	t.Helper()
	rest, err := New(Options{Cookie: tree.o.Cookie})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	for range 3 {
		scan(t, rest)
		if n := alive(rest); n != 0 {
			t.Errorf("%d processes that carry the cookie are still there: %v", n, rest.Members())
		}
	}
}

// Who renews itself faster than a scan can see and a signal reach it may win; but then the error says so.
func TestKillTreeKnowsWhetherItHasWon(t *testing.T) {
	for _, role := range []string{"sparks 20000", "setsid sparks 20000"} {
		t.Run(role, func(t *testing.T) {
			tree, _ := start(t, role, Options{Cookie: "cookie"})
			for scan(t, tree); len(tree.Members()) < 2; scan(t, tree) {
				runtime.Gosched()
			}
			left, err := tree.KillTree(t.Context(), KillOptions{})
			t.Logf("%d processes killed: %v", len(left), err)
			for tries := 0; err != nil && tries < 20; tries++ { // the chain ends by itself
				_, err = tree.KillTree(t.Context(), KillOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			wantNoneWithTheCookieOf(t, tree)
		})
	}
}

func TestWhatADeadRunLeftBehindIsFoundByItsCookie(t *testing.T) {
	tree, c := start(t, "daemon", Options{Cookie: "cookie"})
	c.Process.Kill()
	c.Process.Wait()
	rest, err := New(Options{Cookie: tree.o.Cookie})
	if err != nil {
		t.Fatal(err)
	}
	defer rest.Close()
	left, err := rest.KillTree(t.Context(), KillOptions{Grace: 20 * time.Second})
	if err != nil || fates(left)[Terminated] != 1 || len(left) != 1 {
		t.Errorf("%v, %v: want the daemon terminated", left, err)
	}
}
