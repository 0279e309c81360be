//go:build unix

package admission

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
)

// childLock: DIR. Holds the ledger's lock until its standard input ends.
func childLock(args []string) error {
	l, err := Open(Options{Dir: args[0]})
	if err != nil {
		return err
	}
	f, err := l.lock(context.Background())
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return nil
}

// Before, the wait for the lock was given up after a fixed time, and the run started without the ledger.
func TestLockIsWaitedForAsLongAsItGoesFromHandToHand(t *testing.T) {
	const patience = 50 * time.Millisecond
	l := open(t, func(o *Options) { o.LockTimeout = patience })
	lock, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{})
	var once sync.Once
	failpoint = func(at string) {
		if at == "lock busy" {
			once.Do(func() { close(waiting) })
		}
	}
	defer func() { failpoint = func(string) {} }()
	got := make(chan error, 1)
	go func() {
		c, err := l.Acquire(t.Context(), Request{Tool: "codex"})
		if err == nil {
			err = c.Release()
		}
		got <- err
	}()
	<-waiting
	for range 3 * busyFactor { // each time another holder, as far as one who waits can see
		time.Sleep(patience)
		l.writeSignature(lock)
	}
	lock.Close()
	if err := <-got; err != nil {
		t.Errorf("the wait was given up while the lock changed hands: %v", err)
	}
}

func TestStoppedHolderOfTheLockIsNamed(t *testing.T) {
	dir := t.TempDir()
	cmd, _ := start(t, "lock", dir)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v", err)
	}
	l := open(t, func(o *Options) { o.Dir, o.LockTimeout = dir, 100*time.Millisecond })
	_, err := l.Acquire(t.Context(), Request{Tool: "codex", Force: true})
	off, ok := errors.AsType[*UnavailableError](err)
	if !ok || !errors.Is(err, ErrLocked) || off.Unwritable() {
		t.Fatalf("got %v, want ErrLocked, which is no reason to start uncoordinated", err)
	}
	if want := fmt.Sprintf("plimsoll (pid %d), which is stopped", cmd.Process.Pid); !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func TestWaitForTheLockEndsWithTheContext(t *testing.T) {
	l := open(t)
	lock, err := l.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	failpoint = func(at string) {
		if at == "lock busy" {
			cancel(why)
		}
	}
	defer func() { failpoint = func(string) {} }()
	if _, err := l.Acquire(ctx, Request{Tool: "codex", Wait: Forever}); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	failpoint = func(string) {}
	lock.Close()
	// What was left asleep in the kernel gives the lock back.
	c, err := l.Acquire(t.Context(), Request{Tool: "codex"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Release(); err != nil {
		t.Fatal(err)
	}
}

func TestRequiredDemandsThatTheMemoryIsRead(t *testing.T) {
	l := open(t)
	broken := func() (headroom.Reading, error) { return headroom.Reading{}, errors.New("no /proc") }
	for _, force := range []bool{false, true} {
		_, err := l.Acquire(t.Context(), Request{Tool: "codex", Headroom: broken, Required: true, Force: force})
		if u, ok := errors.AsType[*UncheckedError](err); !ok || u.About != "headroom" {
			t.Errorf("force %v: got %v", force, err)
		}
	}
	if list, err := l.Holders(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("the ledger has %+v (%v)", list, err)
	}
}

func FuzzParseSignature(f *testing.F) {
	f.Add([]byte("0000004711 00000000000000000012 00000000000000000034 00000000000000000056\n"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s := parseSignature(text); s.pid < 0 || s.at < 0 {
			t.Errorf("%+v", s)
		}
	})
}
