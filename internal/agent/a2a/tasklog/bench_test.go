package tasklog_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/eventqueue"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
)

// BenchmarkAppend is what an event costs the one who makes it, beside so many clients. The
// SDK's queue is measured with clients that read at once: one that does not stops it.
func BenchmarkAppend(b *testing.B) {
	payload := make([]byte, 200)
	for _, clients := range []int{0, 1, 50, 1000} {
		begin := func(b *testing.B) (*tasklog.Log, []*tasklog.Reader) {
			l, err := tasklog.New(tasklog.Options{MaxReaders: 1000}).Open("t", 0)
			if err != nil {
				b.Fatal(err)
			}
			readers := make([]*tasklog.Reader, clients)
			for i := range readers {
				if readers[i], err = l.Read(0); err != nil {
					b.Fatal(err)
				}
			}
			return l, readers
		}
		b.Run(fmt.Sprintf("log/stalled=%d", clients), func(b *testing.B) {
			l, _ := begin(b)
			b.ReportAllocs()
			for b.Loop() {
				l.Append(payload, false)
			}
		})
		b.Run(fmt.Sprintf("log/reading=%d", clients), func(b *testing.B) {
			l, readers := begin(b)
			var wg sync.WaitGroup
			for _, r := range readers {
				wg.Go(func() {
					for {
						if _, _, err := r.Next(b.Context()); err != nil {
							return
						}
					}
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Append(payload, false)
			}
			l.Append(nil, true)
			wg.Wait()
		})
		b.Run(fmt.Sprintf("sdk/reading=%d", clients), func(b *testing.B) {
			manager := eventqueue.NewInMemoryManager()
			var wg sync.WaitGroup
			for range clients {
				r, err := manager.CreateReader(b.Context(), "t")
				if err != nil {
					b.Fatal(err)
				}
				wg.Go(func() {
					for {
						if _, err := r.Read(context.Background()); err != nil {
							return
						}
					}
				})
			}
			w, err := manager.CreateWriter(b.Context(), "t")
			if err != nil {
				b.Fatal(err)
			}
			message := &eventqueue.Message{Event: a2a.NewMessage(a2a.MessageRoleAgent)}
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Write(b.Context(), message); err != nil {
					b.Fatal(err)
				}
			}
			if err := manager.Destroy(b.Context(), "t"); err != nil {
				b.Fatal(err)
			}
			wg.Wait()
		})
	}
}

// One client that does not read, in the SDK's queue and in a log: who is held up?
func TestOneStalledClient(t *testing.T) {
	t.Parallel()
	const events = 100
	t.Run("sdk", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			manager := eventqueue.NewInMemoryManager()
			stalled, err := manager.CreateReader(ctx, "t")
			if err != nil {
				t.Fatal(err)
			}
			w, err := manager.CreateWriter(ctx, "t")
			if err != nil {
				t.Fatal(err)
			}
			written, connected := 0, false
			var wg sync.WaitGroup
			wg.Go(func() {
				for range events {
					if err := w.Write(ctx, &eventqueue.Message{}); err != nil {
						return
					}
					written++
				}
			})
			synctest.Wait()
			// A client that comes now waits under the manager's lock, so that no task can begin.
			wg.Go(func() {
				if r, err := manager.CreateReader(ctx, "t"); err == nil {
					connected = true
					_ = r.Close()
				}
			})
			synctest.Wait()
			held := written < events && !connected
			t.Logf("%d of %d events are written, a second client has come: %v", written, events, connected)
			_ = stalled.Close()
			wg.Wait()
			if err := manager.Destroy(ctx, "t"); err != nil {
				t.Error(err)
			}
			if !held {
				t.Skip("the SDK's queue is not held up any more: look at it again")
			}
		})
	})
	t.Run("log", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			logs := tasklog.New(tasklog.Options{})
			l := open(t, logs, "t")
			stalled := read(t, l, 0)
			done := make(chan string, 1)
			go func() {
				appends(l, events)
				second := read(t, l, 0)
				open(t, logs, "other").Append(nil, true)
				done <- fmt.Sprint(second.Position(), l.Last(), logs.Find("other").State())
			}()
			synctest.Wait() // nobody waits for anybody
			select {
			case got := <-done:
				if got != fmt.Sprint(0, events, tasklog.Ended) {
					t.Errorf("beside a stalled client: %s", got)
				}
			default:
				t.Error("a stalled client holds up the others")
			}
			stalled.Close()
		})
	})
}
