package filelock_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside, rounds atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				f, err := filelock.Open(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) != 1 {
					t.Error("two have the lock")
				}
				inside.Add(-1)
				if rounds.Add(1)%7 == 0 {
					_ = os.Remove(path) // by whoever holds it, and has done: the others begin again
				}
				_ = f.Close()
			}
		})
	}
	wg.Wait()
	if n := rounds.Load(); n != 16*20 {
		t.Errorf("%d rounds", n)
	}
}

func TestSharedAndExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	a, b := open(t, path), open(t, path)
	for _, step := range []struct {
		f    *os.File
		m    filelock.Mode
		want bool
	}{
		{a, filelock.Shared, true},
		{b, filelock.Shared, true},
		{b, filelock.Exclusive, false},
	} {
		if ok, err := filelock.Try(step.f, step.m); ok != step.want || err != nil {
			t.Errorf("mode %d: %v, %v", step.m, ok, err)
		}
	}
	filelock.Unlock(a)
	filelock.Unlock(b)
	if ok, err := filelock.Try(b, filelock.Exclusive); !ok || err != nil {
		t.Errorf("after both were given up: %v, %v", ok, err)
	}
	if ok, err := filelock.Try(a, filelock.Shared); ok || err != nil {
		t.Errorf("beside an exclusive lock: %v, %v", ok, err)
	}
}

func TestReadableLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f := open(t, path)
	if err := filelock.Lock(t.Context(), f, filelock.Readable); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("4711"); err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	if text, err := io.ReadAll(other); string(text) != "4711" {
		t.Errorf("others read %q, %v", text, err)
	}
	if ok, err := filelock.Try(other, filelock.Readable); ok || err != nil {
		t.Errorf("it does not exclude: %v, %v", ok, err)
	}
}

// A wait that was given up leaves the lock to the others, however many there were.
func TestWaitsEndWithTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	holder, err := filelock.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("interrupted")
	ended, giveUp := context.WithCancelCause(t.Context())
	giveUp(why)
	if _, err := filelock.Open(ended, path); !errors.Is(err, why) {
		t.Errorf("a context that has ended: %v", err)
	}
	var wg sync.WaitGroup
	for range 2 * filelock.MaxAbandoned {
		ctx, giveUp := context.WithCancelCause(t.Context())
		wg.Go(func() {
			if f, err := filelock.Open(ctx, path); !errors.Is(err, why) {
				t.Errorf("%v, %v", f, err)
			}
		})
		giveUp(why)
		wg.Wait()
	}
	// Those that poll, because so many sleep, get it too.
	got := make(chan error, 1)
	go func() {
		f, err := filelock.Open(t.Context(), path)
		if err == nil {
			err = f.Close()
		}
		got <- err
	}()
	_ = holder.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}
