//go:build unix

package admission

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// childMany: DIR LOG ROUNDS. Every holder writes into LOG itself, so that the log and not the
// ledger says how many there were.
func childMany(args []string) error {
	l, err := Open(Options{Dir: args[0], Warn: func(w Warning) { fmt.Fprintln(os.Stderr, "warning:", w) }})
	if err != nil {
		return err
	}
	log, err := os.OpenFile(args[1], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range rounds {
		c, err := l.Acquire(ctx, Request{Tool: "codex", SlotsPerTool: 3, Wait: Forever})
		if err != nil {
			return err
		}
		if _, err := log.WriteString("+\n"); err != nil {
			return err
		}
		if i%5 == 0 {
			inner, err := l.Acquire(ctx, Request{Tool: "codex", SlotsPerTool: 3, Parent: c.ID()})
			if err != nil {
				return fmt.Errorf("nested: %w", err)
			}
			if _, err := log.WriteString("n\n"); err != nil {
				return err
			}
			if err := inner.Release(); err != nil {
				return err
			}
		}
		if _, err := log.WriteString("-\n"); err != nil {
			return err
		}
		if err := c.Release(); err != nil {
			return err
		}
	}
	return nil
}

func TestEightProcessesNeverExceedThreeSlots(t *testing.T) {
	const processes, rounds = 8, 50
	dir, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	errs := make([]error, processes)
	for i := range processes {
		cmd := child(t, "many", dir, log, strconv.Itoa(rounds))
		all.Go(func() { errs[i] = cmd.Run() })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	now, maxBytes, total, nested := 0, 0, 0, 0
	for line := range bytes.Lines(text) {
		switch line[0] {
		case '+':
			now, total = now+1, total+1
			maxBytes = max(maxBytes, now)
		case '-':
			now--
		case 'n':
			nested++
		}
	}
	if maxBytes > 3 || now != 0 || total != processes*rounds || nested != processes*rounds/5 {
		t.Errorf("at most %d at once, %d at the end, %d in all, %d nested", maxBytes, now, total, nested)
	}
	wantEmpty(t, dir)
}
