package checkpoint_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
)

func TestOneCompactionOfAConversationAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, checkpoint.Options{})
		var wg sync.WaitGroup
		inside, most, done := 0, 0, 0
		var mu sync.Mutex
		for range 8 {
			wg.Go(func() {
				unlock, err := s.Lock(t.Context(), checkpoint.Scope{}, "one")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				inside--
				done++
				mu.Unlock()
				unlock()
				unlock() // harmless
			})
		}
		start := time.Now()
		other, err := s.Lock(t.Context(), checkpoint.Scope{1}, "one")
		if err != nil || time.Since(start) != 0 {
			t.Errorf("another conversation waited %v, %v", time.Since(start), err)
		}
		other()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		if _, err := s.Lock(ctx, checkpoint.Scope{}, "one"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a waiter whose time is up: %v", err)
		}
		wg.Wait()
		if most != 1 || done != 8 {
			t.Errorf("%d at a time, %d done", most, done)
		}
	})
}

func TestManyWritersAndReaders(t *testing.T) {
	dir := t.TempDir()
	stores := []*checkpoint.Store{open(t, checkpoint.Options{Dir: dir, MaxFiles: 60}), open(t, checkpoint.Options{Dir: dir, MaxFiles: 60})}
	chain := digests("a", 40)
	var wg sync.WaitGroup
	for _, s := range stores {
		for range 3 {
			wg.Go(func() {
				for covers := 2; covers < 40; covers++ {
					got, err := s.Put(s.Scope(nil), made(chain, covers, 1), cutOf("c", "x"))
					if err != nil || got.Covers != covers {
						t.Errorf("%+v, %v", got, err)
					}
					if c := checkpoint.Lookup(s, s.Scope(nil), chain); c != nil && !reflect.DeepEqual(c, made(chain, c.Covers, 1)) {
						t.Errorf("%+v", c)
					}
				}
			})
		}
	}
	wg.Wait()
	if left := files(t, dir, ".damaged"); len(left) > 0 {
		t.Errorf("damaged: %v", left)
	}
	for _, path := range files(t, dir, "") {
		if strings.Contains(path, ".tmp-") {
			t.Errorf("left behind: %s", path)
		}
	}
}
