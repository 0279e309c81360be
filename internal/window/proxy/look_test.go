package proxy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// What a body of many small records is charged is what it takes, not its size.
func TestRecordsAreCharged(t *testing.T) {
	t.Parallel()
	text := []byte(strings.Repeat(`{},`, 100_000))
	if got, least := lookCost(len(text), bytes.Count(text, []byte{'{'})), int64(100_000*recordCost); got < least {
		t.Errorf("%d bytes are charged for 100,000 records, want at least %d", got, least)
	}
	if got, most := lookCost(1<<20, 1<<20), int64(1<<20+maxRecords*recordCost); got > most {
		t.Errorf("%d bytes are charged for more records than are read, want at most %d", got, most)
	}
}

// All that looks took comes back, whichever way the request ended, in every encoding.
func TestLooksGiveBackWhatTheyTook(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"choices":[]}`)
	}))
	defer upstream.Close()
	p, root, j := start(t, upstream.URL, Options{MemoryBudget: 24 << 20, BudgetWait: 10 * time.Millisecond})
	large := strings.Repeat("all work and no play ", 5<<20/21)
	bodies := []string{
		`{"model":"gpt-4o","messages":[{"role":"user","content":"` + large + `"}]}`,
		`{"model":"gpt-4o","messages":[{"role":"user","content":"` + large[:1<<20] + `"}]}`,
		`{"model":"gpt-4o","messages":[` + strings.Repeat(`{"role":"user","content":[{"text":""},{"text":""}]},`, 30_000) + `{"role":"user","content":"hi"}]}`,
		`{"model":"gpt-4o","messages":[` + strings.Repeat(`{`, 100_000),
		`{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}]}`,
	}
	var all sync.WaitGroup
	for _, encoding := range []string{"", "gzip", "zstd"} {
		for i, body := range bodies {
			packed, err := wire.Encode(encoding, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			for n := range 3 {
				all.Go(func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if n == 2 { // this client goes away
						time.AfterFunc(time.Duration(i)*5*time.Millisecond, cancel)
					}
					r, err := http.NewRequestWithContext(ctx, http.MethodPost, root+"/openai/v1/chat/completions", strings.NewReader(string(packed)))
					if err != nil {
						t.Error(err)
						return
					}
					if encoding != "" {
						r.Header.Set("Content-Encoding", encoding)
					}
					res, err := http.DefaultClient.Do(r)
					if err != nil {
						if n != 2 {
							t.Error(err)
						}
						return
					}
					defer res.Body.Close()
					_, _ = io.Copy(io.Discard, res.Body)
				})
			}
		}
	}
	all.Wait()
	// Handlers of clients that went away may still be on their way out.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if p.budget.sem.Acquire(ctx, p.budget.size) != nil || p.budget.giant.Acquire(ctx, 1) != nil || p.budget.turns.Acquire(ctx, turns()) != nil {
		t.Error("something was not given back")
	}
	for _, e := range events[journal.WindowPassed](j) {
		if e.Reason != "giants" && e.Reason != "unreadable" {
			t.Errorf("passed for %q", e.Reason)
		}
	}
}

// Who needs more memory in its turn lets others have the turn.
func TestNobodyWaitsForMemoryInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Proxy{o: Options{BudgetWait: time.Hour}, budget: newBudget(8<<20, time.Hour)}
		other := hold{b: p.budget}
		if !other.growTo(t.Context(), 6<<20) {
			t.Fatal("no memory")
		}
		for range turns() - 1 {
			_ = p.budget.turns.TryAcquire(1)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		one := &modelRequest{p: p, r: r, body: &requestBody{heldBody: &heldBody{room: hold{b: p.budget}}}}
		if err := one.waitForTurn(freeLook+1, 1<<20); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- one.waitForTurn(freeLook+1, 3<<20) }()
		synctest.Wait()
		if !p.budget.turns.TryAcquire(1) {
			t.Fatal("it waits for memory in its turn")
		}
		p.budget.turns.Release(1)
		other.shrinkTo(0)
		if err := <-done; err != nil {
			t.Error(fmt.Errorf("with memory: %w", err))
		}
	})
}
