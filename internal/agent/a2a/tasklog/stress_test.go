package tasklog_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/limit"
)

// A thousand appends beside fifty readers: each gets every number once, as an event or in a
// gap, in order.
func TestReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	const events, readers = 1000, 50
	logs := newLogs(tasklog.Options{MaxEvents: 64})
	l := open(t, logs.Logs, "t")
	var wg sync.WaitGroup
	for i := range readers {
		r := read(t, l, 0)
		wg.Go(func() {
			defer r.Close()
			next := uint64(1)
			for {
				rec, gap, err := r.Next(t.Context())
				switch {
				case errors.Is(err, io.EOF):
					if next != events+1 {
						t.Errorf("reader %d ended before %d", i, next)
					}
					return
				case err != nil:
					t.Errorf("reader %d: %v", i, err)
					return
				case gap.Count() > 0:
					if gap.From != next {
						t.Errorf("reader %d has the gap %+v, wants %d", i, gap, next)
					}
					next = gap.To + 1
				default:
					if rec.Seq != next || binary.BigEndian.Uint64(rec.Payload) != next {
						t.Errorf("reader %d has %d with %x, wants %d", i, rec.Seq, rec.Payload, next)
					}
					next = rec.Seq + 1
				}
				if i%5 == 0 && next%7 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for range events {
		l.Publish(func(seq uint64) ([]byte, bool) {
			return binary.BigEndian.AppendUint64(nil, seq), seq == events
		})
	}
	wg.Wait()
	if s := logs.Stats(); s.Readers != 0 || s.Missed != 0 || s.Appended != events {
		t.Errorf("counts %+v", s)
	}
	logs.expect(t)
}

// Clients that come, take a snapshot and go on have the task as it is, whenever they come.
func TestSnapshotAndEventsFitTogether(t *testing.T) {
	t.Parallel()
	const writers, each, clients = 4, 250, 8
	l := open(t, newLogs(tasklog.Options{MaxEvents: 16}).Logs, "t")
	task := 0 // the sum of all events; the log's order is its only lock
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			sum := 0
			r, err := l.Subscribe(func(uint64) { sum = task })
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			for {
				rec, gap, err := r.Next(t.Context())
				switch {
				case errors.Is(err, io.EOF):
					if want := writers * each; sum != want {
						t.Errorf("a client has %d, want %d", sum, want)
					}
					return
				case err != nil:
					t.Error(err)
					return
				case gap.Count() > 0:
					if err := r.Snapshot(func(uint64) { sum = task }); err != nil {
						t.Error(err)
						return
					}
				case !rec.Terminal:
					sum++
				}
			}
		})
	}
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range each {
				l.Publish(func(uint64) ([]byte, bool) { task++; return []byte("+1"), false })
			}
		})
	}
	writing.Wait()
	l.Append(nil, true)
	wg.Wait()
}

// Clients come and go while events are made and logs are removed: every event is accounted
// for, once.
func TestComingAndGoing(t *testing.T) {
	t.Parallel()
	logs := newLogs(tasklog.Options{MaxEvents: 8, MaxLogs: 6, MaxTotal: 4 * limit.KiB})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 50 {
				l, err := logs.Open(fmt.Sprint(w, i), 0)
				if err != nil {
					t.Error(err)
					return
				}
				var readers sync.WaitGroup
				for range 2 {
					readers.Go(func() {
						for range 5 {
							r, err := l.Subscribe(nil)
							if err != nil {
								if !errors.Is(err, tasklog.ErrRemoved) {
									t.Error(err)
								}
								return
							}
							_, _, _ = r.Next(t.Context())
							r.Close()
						}
					})
				}
				for k := range 30 {
					l.Append(make([]byte, 10*k), false)
				}
				l.Append(nil, true)
				l.Append(nil, false)
				readers.Wait()
				if i%3 == 0 {
					logs.Remove(l.Task())
				}
			}
		})
	}
	wg.Wait()
	s := logs.Stats()
	if s.Appended != 4*50*31 || s.Late != 4*50 || s.Readers != 0 || s.Logs > 6 || s.Bytes > int64(4*limit.KiB) || s.Dropped > s.Missed {
		t.Errorf("counts %+v", s)
	}
	logs.Close()
	if s := logs.Stats(); s.Bytes != 0 || s.Logs != 0 {
		t.Errorf("after the end %+v", s)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Memory is what the bounds say: readers that do not read weigh next to nothing, and what
// was let go is let go.
func TestMemoryOfLogs(t *testing.T) {
	const readers, tasks = 10_000, 200
	before := heap()
	logs := tasklog.New(tasklog.Options{MaxReaders: readers, MaxBytes: 256 * limit.KiB, MaxTotal: 4 * limit.MiB})
	l := open(t, logs, "read")
	stalled := make([]*tasklog.Reader, readers)
	for i := range stalled {
		stalled[i] = read(t, l, 0)
	}
	l.Append(nil, false)
	if got := int64(heap()) - int64(before); got > readers*64 {
		t.Errorf("%d readers take %d bytes, want at most 64 each", readers, got)
	}
	for i := range tasks { // 1 MiB each
		one := open(t, logs, fmt.Sprint(i))
		for range 1024 {
			one.Append(make([]byte, 1024), false)
		}
	}
	if got := int64(heap()) - int64(before); got > 6<<20 {
		t.Errorf("%d tasks of a MiB take %d bytes beside a bound of 4 MiB", tasks, got)
	}
	runtime.KeepAlive(stalled)
	runtime.KeepAlive(logs)
}
