//go:build unix

package admission

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The test binary starts itself again as a process of its own; childEnv names its part.
const childEnv = "ADMISSION_TEST_CHILD"

func TestMain(m *testing.M) {
	part := os.Getenv(childEnv)
	if part == "" {
		os.Exit(m.Run())
	}
	if err := children[part](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

var children = map[string]func(args []string) error{
	"many": childMany, "hold": childHold, "wait": childWait, "life": childLife,
	"share": childShare, "lock": childLock, "turns": childTurns, "beside": childBeside,
}

// child starts a part; its first line on standard output is waited for by line.
func child(t *testing.T, part string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	cmd.Stderr = os.Stderr
	return cmd
}

// start starts a part and returns when it has printed its first line, which it returns.
func start(t *testing.T, part string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	return begin(t, part, child(t, part, args...))
}

func begin(t *testing.T, part string, cmd *exec.Cmd) (*exec.Cmd, string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s said nothing: %v", part, err)
	}
	return cmd, strings.TrimSpace(line)
}

func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// wantEmpty demands that nothing is left in the ledger or beside it.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the ledger has %+v (%v)", list, err)
	}
	files, err := os.ReadDir(l.claimsDir())
	if err != nil || len(files) != 0 {
		t.Errorf("claim files are left: %v (%v)", files, err)
	}
}

// childHold: DIR [wait]. Holds the only slot until its standard input ends.
func childHold(args []string) error {
	l, err := Open(Options{Dir: args[0]})
	if err != nil {
		return err
	}
	c, err := l.Acquire(context.Background(), Request{Tool: "codex", Project: "/p", SlotsTotal: 1, Reservation: 7 * mb})
	if err != nil {
		return err
	}
	if err := c.Record(map[string]string{"thing": filepath.Base(args[0])}); err != nil {
		return err
	}
	fmt.Println(c.ID())
	_, _ = io.Copy(io.Discard, os.Stdin)
	return c.Release()
}

// childWait: DIR. Waits for the only slot and prints when it is in the queue.
func childWait(args []string) error {
	l, err := Open(Options{Dir: args[0]})
	if err != nil {
		return err
	}
	var once sync.Once
	c, err := l.Acquire(context.Background(), Request{
		Tool: "codex", SlotsTotal: 1, Wait: Forever,
		Progress: func(p Progress) { once.Do(func() { fmt.Println("waiting", p.Position) }) },
	})
	if err != nil {
		return err
	}
	return c.Release()
}

func TestKilledOwnerIsCleanedUpBeforeTheNextRun(t *testing.T) {
	dir := t.TempDir()
	cmd, id := start(t, "hold", dir)
	var reaped []Holder
	l, err := Open(Options{Dir: dir, Reap: func(h Holder) error { reaped = append(reaped, h); return nil }})
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Tool: "codex", SlotsTotal: 1}
	if _, err := l.Acquire(t.Context(), r); err == nil {
		t.Fatal("the slot was given twice")
	}
	var removed []Holder
	r.Removed = func(h Holder) { removed = append(removed, h) }
	kill(t, cmd)
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 1 || list[0].State != Stale {
		t.Errorf("before it is cleaned up, the ledger has %+v (%v)", list, err)
	}
	c, err := l.Acquire(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if len(reaped) != 1 || reaped[0].ID != id || reaped[0].Owner.PID != cmd.Process.Pid || !strings.Contains(string(reaped[0].Remains), "thing") {
		t.Errorf("reaped %+v, want claim %s with its remains", reaped, id)
	}
	if len(removed) != 1 || removed[0].ID != id {
		t.Errorf("told of %+v, want claim %s", removed, id)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
	wantEmpty(t, dir)
}

func TestStoppedOwnerStillHolds(t *testing.T) {
	dir := t.TempDir()
	cmd, id := start(t, "hold", dir)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v", err)
	}
	l := open(t, func(o *Options) {
		o.Dir = dir
		o.Reap = func(h Holder) error { t.Errorf("a stopped owner was reaped: %+v", h); return nil }
	})
	_, err := l.Acquire(t.Context(), Request{Tool: "codex", SlotsTotal: 1})
	if refused, ok := errors.AsType[*Refused](err); !ok || refused.Terms.Holders[0].ID != id {
		t.Errorf("got %v, want a refusal that names %s", err, id)
	}
	swept, err := l.Sweep(t.Context(), l.opts.Reap)
	if err != nil || len(swept.Removed)+len(swept.Stale) != 0 {
		t.Errorf("swept %+v (%v)", swept, err)
	}
}

func TestKilledWaiterLeavesTheQueue(t *testing.T) {
	dir := t.TempDir()
	holder, _ := start(t, "hold", dir)
	first, said := start(t, "wait", dir)
	if said != "waiting 1" {
		t.Fatalf("it says %q", said)
	}
	second, said := start(t, "wait", dir)
	if said != "waiting 2" {
		t.Fatalf("it says %q", said)
	}
	kill(t, first)
	l, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	list, err := l.Holders(t.Context())
	if err != nil || len(list) != 2 || list[1].Owner.PID != second.Process.Pid {
		t.Errorf("the ledger has %+v (%v)", list, err)
	}
	kill(t, holder)
	// The second waiter has nothing to clean up the dead holder with, which therefore stays stale and gives its slot free.
	if err := second.Wait(); err != nil {
		t.Errorf("the second waiter: %v", err)
	}
	swept, err := l.Sweep(t.Context(), func(Holder) error { return nil })
	if err != nil || len(swept.Removed) != 1 {
		t.Errorf("swept %+v (%v)", swept, err)
	}
	wantEmpty(t, dir)
}

func TestFailedReapKeepsAStaleClaimThatHoldsNoSlot(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := start(t, "hold", dir)
	kill(t, cmd)
	var warnings []Warning
	busy := errors.New("device or resource busy")
	l := open(t, func(o *Options) {
		o.Dir, o.Reap = dir, func(Holder) error { return busy }
		o.Warn = func(w Warning) { warnings = append(warnings, w) }
	})
	c := acquire(t, l, Request{SlotsTotal: 1, Reservation: mb, MinFree: -1, Headroom: machine(mb, 0)})
	if len(warnings) != 1 || warnings[0].About != "stale" || !strings.Contains(warnings[0].Text, busy.Error()) {
		t.Errorf("warnings: %v", warnings)
	}
	if holders := c.Terms().Holders; len(holders) != 1 || holders[0].State != Stale || holders[0].StaleWhy != busy.Error() {
		t.Errorf("holders: %+v", holders)
	}
	l.opts.Reap = func(Holder) error { panic("nonsense in the remains") }
	swept, err := l.Sweep(t.Context(), l.opts.Reap)
	if err != nil || len(swept.Stale) != 1 {
		t.Errorf("swept %+v (%v)", swept, err)
	}
	swept, err = l.Sweep(t.Context(), func(Holder) error { return nil })
	if err != nil || len(swept.Removed) != 1 {
		t.Errorf("swept %+v (%v)", swept, err)
	}
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("the ledger has %+v (%v)", list, err)
	}
}

func TestSweepersDoNotCollide(t *testing.T) {
	dir := t.TempDir()
	cmd, id := start(t, "hold", dir)
	kill(t, cmd)
	l := open(t, func(o *Options) { o.Dir = dir })
	var mu sync.Mutex
	var reaped []string
	inside, goOn := make(chan struct{}), make(chan struct{})
	var first sync.WaitGroup
	first.Go(func() {
		_, err := l.Sweep(t.Context(), func(h Holder) error {
			mu.Lock()
			reaped = append(reaped, h.ID)
			mu.Unlock()
			close(inside)
			<-goOn
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-inside
	swept, err := l.Sweep(t.Context(), func(Holder) error { t.Error("reaped twice"); return nil })
	if err != nil || len(swept.Removed) != 0 {
		t.Errorf("swept %+v (%v)", swept, err)
	}
	// A request without --wait gives the other sweeper the time to finish.
	other := open(t, func(o *Options) { o.Dir = dir })
	var got sync.WaitGroup
	got.Go(func() {
		c, err := other.Acquire(t.Context(), Request{Tool: "codex", SlotsTotal: 1})
		if err != nil {
			t.Error(err)
			return
		}
		if err := c.Release(); err != nil {
			t.Error(err)
		}
	})
	close(goOn)
	first.Wait()
	got.Wait()
	if !slices.Equal(reaped, []string{id}) {
		t.Errorf("reaped %v", reaped)
	}
	wantEmpty(t, dir)
}

func TestClaimLocksDoNotPassToChildren(t *testing.T) {
	dir := t.TempDir()
	l := open(t, func(o *Options) { o.Dir = dir })
	c := acquire(t, l, Request{ID: "parent"})
	sleeper := exec.Command("sleep", "60")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	c.lock.Close() // as the kernel does when the owner dies
	swept, err := l.Sweep(t.Context(), func(Holder) error { return nil })
	if err != nil || len(swept.Removed) != 1 {
		t.Errorf("the lock lives on in a child: swept %+v (%v)", swept, err)
	}
}

func TestLockThatIsNotReleasedIsAnErrorThatNamesIt(t *testing.T) {
	l := open(t, func(o *Options) { o.LockTimeout = 20 * time.Millisecond })
	lock, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	_, err = l.Acquire(t.Context(), Request{Tool: "codex"})
	if _, ok := errors.AsType[*UnavailableError](err); !ok || !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), l.lockPath()) {
		t.Errorf("got %v", err)
	}
}
