//go:build unix

package admission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// childLife: DIR WORLD KILL. A whole life: it cleans up after a dead run, holds, is waited for
// by itself, records, releases; at step KILL it kills itself. Without a KILL it prints its steps.
func childLife(args []string) error {
	dir, world := args[0], args[1]
	at, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var mu sync.Mutex
	steps := 0
	failpoint = func(string) {
		mu.Lock()
		defer mu.Unlock()
		if steps++; steps == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	l, err := Open(Options{Dir: dir, Reap: reapWorld(world)})
	if err != nil {
		return err
	}
	ctx := context.Background()
	live := func(c *Claim) error {
		if err := c.Record("thing-" + c.ID()); err != nil {
			return err
		}
		failpoint("before the thing is made")
		thing := filepath.Join(world, "thing-"+c.ID())
		if err := os.WriteFile(thing, nil, 0o600); err != nil {
			return err
		}
		failpoint("the thing is made")
		if err := c.Observe(mb); err != nil {
			return err
		}
		if err := os.Remove(thing); err != nil {
			return err
		}
		failpoint("the thing is gone")
		return c.Release()
	}
	first, err := l.Acquire(ctx, Request{Tool: "codex", SlotsTotal: 1})
	if err != nil {
		return err
	}
	waiting := make(chan struct{})
	var once sync.Once
	done := make(chan error)
	go func() {
		c, err := l.Acquire(ctx, Request{
			Tool: "codex", SlotsTotal: 1, Wait: Forever,
			Progress: func(Progress) { once.Do(func() { close(waiting) }) },
		})
		if err == nil {
			err = live(c)
		}
		done <- err
	}()
	<-waiting
	if err := live(first); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	fmt.Println(steps)
	return nil
}

// reapWorld removes the thing that a dead run made, if it did.
func reapWorld(world string) func(Holder) error {
	return func(h Holder) error {
		name, err := strconv.Unquote(string(h.Remains))
		if err != nil || name == "" {
			return nil
		}
		err = os.Remove(filepath.Join(world, name))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
}

func TestKillAtAnyStepIsCleanedUpByTheNextCommand(t *testing.T) {
	life := func(dir, world string, at int) (steps int, killed bool) {
		t.Helper()
		cmd := child(t, "life", dir, world, strconv.Itoa(at))
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			if exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("step %d: %v", at, err)
			}
			return 0, true
		}
		if err != nil {
			t.Fatal(err)
		}
		steps, err = strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		return steps, false
	}
	dir, world := t.TempDir(), t.TempDir()
	steps, _ := life(dir, world, 0)
	if steps < 20 {
		t.Fatalf("only %d steps: the hooks are not called", steps)
	}
	kills := 0
	for at := 1; at <= steps; at++ {
		if _, killed := life(dir, world, at); killed {
			kills++
		}
		if at%2 == 0 { // every other time the next victim has to clean up first
			continue
		}
		l := open(t, func(o *Options) { o.Dir, o.Reap = dir, reapWorld(world) })
		c, err := l.Acquire(t.Context(), Request{Tool: "codex", SlotsTotal: 1})
		if err != nil {
			t.Fatalf("killed at step %d: %v", at, err)
		}
		if things, err := os.ReadDir(world); err != nil || len(things) != 0 {
			t.Errorf("killed at step %d: %v is left (%v)", at, things, err)
		}
		if err := c.Release(); err != nil {
			t.Fatal(err)
		}
		wantEmpty(t, dir)
		if t.Failed() {
			t.Fatalf("at step %d", at)
		}
	}
	if kills < steps*3/4 { // how often the waiter looks differs from life to life
		t.Errorf("%d of %d steps were reached", kills, steps)
	}
}
