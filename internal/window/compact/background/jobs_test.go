package background_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact/background"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/window/wire"
)

// memory counts what is held.
type memory struct {
	all  int64
	held atomic.Int64
}

func (m *memory) Take(n int64) bool {
	if m.held.Add(n) > m.all {
		m.held.Add(-n)
		return false
	}
	return true
}
func (m *memory) Give(n int64) { m.held.Add(-n) }

// bench is Jobs with all that was told of them, in a bubble.
type bench struct {
	*background.Jobs
	mu   sync.Mutex
	told []background.Outcome
	mem  *memory
}

func newBench(o background.Options) *bench {
	b := &bench{mem: &memory{all: 100 << 20}}
	o.Memory = b.mem
	b.Jobs = background.New(o)
	return b
}

func (b *bench) Start(job background.Job) bool {
	job.Told = func(out background.Outcome) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.told = append(b.told, out)
	}
	return b.Jobs.Start(job)
}

func (b *bench) last() string {
	if len(b.told) == 0 {
		return ""
	}
	return b.told[len(b.told)-1].Outcome
}

func says(text string, err error) func(context.Context) (background.Answer, error) {
	return func(context.Context) (background.Answer, error) {
		if err != nil {
			return background.Answer{Usage: wire.Usage{Input: 7}}, err
		}
		return background.Answer{Messages: [][]byte{[]byte(text)}, Usage: wire.Usage{Input: 7, Output: 3}}, nil
	}
}

func after(d time.Duration, text string) func(context.Context) (background.Answer, error) {
	return func(ctx context.Context) (background.Answer, error) {
		select {
		case <-ctx.Done():
			return background.Answer{}, ctx.Err()
		case <-time.After(d):
			return says(text, nil)(ctx)
		}
	}
}

// A result waits until it is taken, and all that was held for it is given back.
func TestAResultWaitsUntilItIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(background.Options{})
		defer b.Close()
		job := background.Job{Key: "a", Whom: "w", Covers: 5, Client: [16]byte{1}, Sent: [16]byte{2}, Size: 1000, Ask: after(time.Minute, "block")}
		if !b.Start(job) || b.Start(job) || !b.Running("a") {
			t.Fatal("one job is begun, and not a second one of the conversation")
		}
		if _, ok := b.Ready("a"); ok || b.mem.held.Load() != 1000 {
			t.Error("ready before it was written, or it holds nothing")
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if b.Start(job) || b.Running("a") {
			t.Error("one that is ready is written anew")
		}
		r, ok := b.Ready("a")
		if !ok || string(r.Messages[0]) != "block" || r.Covers != 5 || r.Client[0] != 1 || r.Sent[0] != 2 || r.Usage.Output != 3 {
			t.Errorf("%v %+v", ok, r)
		}
		if o := b.told[0]; len(b.told) != 1 || o.Outcome != "written" || o.Took != time.Minute || o.Usage.Input != 7 || o.Err != nil {
			t.Errorf("%+v", b.told)
		}
		if _, ok := b.Take("a"); !ok || b.mem.held.Load() != 0 {
			t.Errorf("%d bytes are still held", b.mem.held.Load())
		}
		if _, ok := b.Ready("a"); ok || !b.Start(job) {
			t.Error("the next one cannot be begun")
		}
	})
}

func TestJobsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(background.Options{AtOnce: 2, Deadline: 10 * time.Second})
		defer b.Close()
		hang := func(key string, size int64) bool {
			return b.Start(background.Job{Key: key, Whom: "w" + key, Size: size, Ask: after(time.Hour, "x")})
		}
		if hang("big", b.mem.all+1) {
			t.Error("a job is begun that has no memory")
		}
		if !hang("a", 1) || !hang("b", 1) || hang("c", 1) {
			t.Error("more than two at once, or fewer")
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if b.last() != "timed_out" || len(b.told) != 2 || b.mem.held.Load() != 0 {
			t.Errorf("%+v", b.told)
		}
		if hang("a", 1) || b.Start(background.Job{Key: "d", Whom: "wa", Ask: says("x", nil)}) {
			t.Error("one that hung is asked again at once")
		}
		if !hang("c", 1) {
			t.Error("another one cannot be asked")
		}
		time.Sleep(11 * time.Second)
		// What is ready is bounded too; the oldest goes.
		for i := range 100 {
			key := fmt.Sprint(i)
			if !b.Start(background.Job{Key: key, Whom: "good", Ask: says("text", nil)}) {
				t.Fatal(key)
			}
			synctest.Wait()
		}
		if _, ok := b.Ready("0"); ok {
			t.Error("all of 100 results are kept")
		}
		if _, ok := b.Ready("99"); !ok || b.mem.held.Load() != 64*4 {
			t.Errorf("%d bytes are held", b.mem.held.Load())
		}
	})
}

// A result that gets no memory drives out none of those that are ready.
func TestAResultWithoutMemoryDrivesOutNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(background.Options{})
		defer b.Close()
		for i := range 64 {
			b.Start(background.Job{Key: fmt.Sprint(i), Whom: "good", Ask: says("text", nil)})
			synctest.Wait()
		}
		b.mem.all = b.mem.held.Load()
		b.Start(background.Job{Key: "late", Whom: "good", Ask: says("longer text", nil)})
		synctest.Wait()
		if _, ok := b.Ready("late"); ok {
			t.Error("a result is kept that has no memory")
		}
		if _, ok := b.Ready("0"); !ok {
			t.Error("the oldest result went for one that was not kept")
		}
	})
}

// A refusal for good is never asked again within a day, one that passes later and later, and one that is about a conversation
// leaves the others alone.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		err            error
		outcome        string
		again, another []time.Duration // after which the same conversation and another one may ask again
	}{
		"for good":     {&native.Refused{Status: 400, Why: "x"}, "refused", []time.Duration{24 * time.Hour}, []time.Duration{24 * time.Hour}},
		"unavailable":  {&native.Unavailable{Status: 529}, "failed", []time.Duration{0, time.Minute, 2 * time.Minute}, []time.Duration{0, time.Minute, 2 * time.Minute}},
		"malformed":    {errors.New("x"), "failed", []time.Duration{0, time.Minute}, []time.Duration{0, time.Minute}},
		"conversation": {&native.NoSummary{Why: "x"}, "failed", []time.Duration{time.Minute, 2 * time.Minute}, []time.Duration{0, 0, 0}},
		"unsuited":     {&native.Unsuited{Why: "x"}, "failed", []time.Duration{time.Minute}, []time.Duration{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			for another, pauses := range map[bool][]time.Duration{false: c.again, true: c.another} {
				synctest.Test(t, func(t *testing.T) {
					b := newBench(background.Options{})
					defer b.Close()
					n := 0
					ask := func() bool {
						n++
						key := "a"
						if another {
							key = fmt.Sprint(n)
						}
						ok := b.Start(background.Job{Key: key, Whom: "w", Size: 5, Ask: says("", c.err)})
						synctest.Wait()
						return ok
					}
					if !ask() || b.last() != c.outcome || b.told[0].Usage.Input != 7 || b.mem.held.Load() != 0 {
						t.Fatalf("%+v", b.told)
					}
					if b.Refused("w") != (c.outcome == "refused") {
						t.Error("what is known of the refusal")
					}
					for _, pause := range pauses {
						if pause > 0 {
							time.Sleep(pause - time.Second)
							if ask() {
								t.Errorf("asked again before %v", pause)
							}
							time.Sleep(2 * time.Second)
						}
						if !ask() {
							t.Errorf("not asked again after %v", pause)
						}
					}
				})
			}
		})
	}
}

// Close ends what runs, and that is nobody's failure.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(background.Options{})
		b.Start(background.Job{Key: "a", Whom: "w", Size: 9, Ask: after(time.Hour, "x")})
		b.Close()
		if b.last() != "skipped" || b.mem.held.Load() != 0 || b.Start(background.Job{Key: "b", Ask: says("x", nil)}) {
			t.Errorf("%+v", b.told)
		}
	})
}
