package facts_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/facts"
)

// countedModel finds no facts, and counts how often it is asked.
type countedModel struct{ asked atomic.Int64 }

func (c *countedModel) Complete(context.Context, string, string, int) (string, int, error) {
	c.asked.Add(1)
	return "[]", 100, nil
}

// While a conversation goes on no model is asked; soon after its end one is, and in a conversation without an end after a bound.
func TestFactsWaitForTheEndOfAConversation(t *testing.T) {
	for name, until := range map[string]time.Duration{"ends": 3 * time.Minute, "without an end": 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				s, model := &store{}, &countedModel{}
				x, err := facts.New(facts.Options{Dir: dir, Model: model, Store: s})
				if err != nil {
					t.Fatal(err)
				}
				if err := x.Push(t.Context(), s.add(memory.Record{Kind: memory.KindEpisode, Origin: memory.OriginUser, Namespace: "user", Text: "The ledger uses PostgreSQL."})); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				ctx, end := context.WithCancel(t.Context())
				r := facts.Runner{
					Extractor: x, Feed: func(context.Context) error { return nil }, Busy: func() bool { return time.Since(began) < until },
					Warn: func(err error) { t.Error(err) },
				}
				done := make(chan struct{})
				go func() { r.Run(ctx); close(done) }()
				wait := min(until, facts.MaxBusy)
				time.Sleep(wait - time.Second)
				synctest.Wait()
				if n := model.asked.Load(); n != 0 {
					t.Errorf("asked %d times while somebody talks", n)
				}
				time.Sleep(facts.BusyEvery + 2*time.Second)
				synctest.Wait()
				if n := model.asked.Load(); n != 1 {
					t.Errorf("asked %d times after %v", n, wait)
				}
				end()
				<-done
			})
		})
	}
}
