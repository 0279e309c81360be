package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// queue starts requests one after the other, each waiting before the next one comes.
type queue struct {
	t      *testing.T
	ledger *Ledger
	mu     sync.Mutex
	order  []string
	claims map[string]*Claim
	errs   map[string]error
}

func newQueue(t *testing.T) *queue {
	return &queue{t: t, ledger: open(t), claims: map[string]*Claim{}, errs: map[string]error{}}
}

func (q *queue) start(ctx context.Context, name string, r Request) {
	r.ID = name
	if r.Tool == "" {
		r.Tool = "codex"
	}
	go func() {
		c, err := q.ledger.Acquire(ctx, r)
		q.mu.Lock()
		defer q.mu.Unlock()
		q.order = append(q.order, name)
		q.claims[name], q.errs[name] = c, err
	}()
	q.settle()
}

// settle lets every waiter look at the ledger a few times.
func (q *queue) settle() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

func (q *queue) admitted() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.order)
}

func (q *queue) release(name string) {
	q.t.Helper()
	q.mu.Lock()
	c := q.claims[name]
	q.mu.Unlock()
	if c == nil {
		q.t.Fatalf("%s is not admitted; admitted so far: %v", name, q.admitted())
	}
	if err := c.Release(); err != nil {
		q.t.Error(err)
	}
	q.settle()
}

func (q *queue) want(order ...string) {
	q.t.Helper()
	if got := q.admitted(); !slices.Equal(got, order) {
		q.t.Fatalf("admitted %v, want %v", got, order)
	}
}

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		r := Request{SlotsTotal: 1, Wait: Forever}
		names := []string{"a", "b", "c", "d", "e"}
		for _, name := range names {
			q.start(t.Context(), name, r)
		}
		for i, name := range names {
			q.want(names[:i+1]...)
			q.release(name)
		}
		q.want(names...)
	})
}

func TestQueueIsLeftCleanlyOnTimeAndOnCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		r := Request{SlotsTotal: 1, Wait: Forever}
		q.start(t.Context(), "a", r)
		ctx, cancel := context.WithCancel(t.Context())
		q.start(ctx, "b", r)
		r.Wait = time.Minute
		began := time.Now()
		q.start(t.Context(), "c", r)
		r.Wait = Forever
		q.start(t.Context(), "d", r)
		if list, err := q.ledger.Holders(t.Context()); err != nil || len(list) != 4 || list[1].ID != "b" || list[1].State != Waiting {
			t.Fatalf("the ledger has %+v (%v)", list, err)
		}
		cancel()
		q.settle()
		time.Sleep(time.Minute)
		q.settle()
		q.want("a", "b", "c")
		if !errors.Is(q.errs["b"], context.Canceled) {
			t.Errorf("b ended with %v", q.errs["b"])
		}
		refused, ok := errors.AsType[*Refused](q.errs["c"])
		if !ok || refused.Reason != TotalSlots || refused.Waited < time.Minute || refused.Waited > time.Since(began) {
			t.Errorf("c ended with %v", q.errs["c"])
		}
		q.release("a")
		q.want("a", "b", "c", "d")
		q.release("d")
		if list, err := q.ledger.Holders(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("the ledger still has %+v (%v)", list, err)
		}
	})
}

func TestSmallRunPassesALargeOneABoundedNumberOfTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		room := Request{MinFree: -1, Headroom: machine(4*limit.GiB, 0), Wait: Forever}
		big, small := room, room
		big.Reservation, small.Reservation = 4*limit.GiB, limit.GiB
		q.start(t.Context(), "first", small)
		q.start(t.Context(), "big", big)
		want := []string{"first"}
		previous := "first"
		for i := range MaxBypass + 3 { // each small one is there before the one before it goes
			name := "small" + string(rune('a'+i))
			q.start(t.Context(), name, small)
			if i < MaxBypass {
				want = append(want, name)
				q.want(want...)
			}
			q.release(previous)
			if i >= MaxBypass {
				break
			}
			previous = name
		}
		q.want(append(want, "big")...)
		q.release("big")
		q.want(append(want, "big", "small"+string(rune('a'+MaxBypass)))...)
	})
}

func TestRunThatHarmsNobodyPassesAsOftenAsItLikes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		room := Request{MinFree: -1, Headroom: machine(16*limit.GiB, 0), Wait: Forever, Reservation: limit.GiB}
		codex := room
		codex.SlotsPerTool = 1
		q.start(t.Context(), "holder", codex)
		q.start(t.Context(), "head", codex)
		other := room
		other.Tool = "claude"
		for range MaxBypass + 5 {
			c, err := q.ledger.Acquire(t.Context(), other)
			if err != nil {
				t.Fatalf("another tool's run is held up by a queue for codex's slot: %v", err)
			}
			if err := c.Release(); err != nil {
				t.Fatal(err)
			}
		}
		// What leaves no room for the head is counted against it, and then not let by.
		other.Reservation, other.Wait = 15*limit.GiB, 0
		for i := range MaxBypass + 1 {
			c, err := q.ledger.Acquire(t.Context(), other)
			if i == MaxBypass {
				if refused, ok := errors.AsType[*Refused](err); !ok || refused.Reason != Turn {
					t.Fatalf("the head was passed once more: %v", err)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Release(); err != nil {
				t.Fatal(err)
			}
		}
		q.release("holder")
		q.want("holder", "head")
	})
}

func TestRunWithoutWaitDoesNotTakeWhatTheQueueIsAboutToGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		r := Request{SlotsTotal: 1, Wait: Forever}
		q.start(t.Context(), "a", r)
		q.start(t.Context(), "b", r)
		if err := q.claims["a"].Release(); err != nil {
			t.Fatal(err)
		}
		r.Wait, r.Tool = 0, "codex"
		_, err := q.ledger.Acquire(t.Context(), r) // before b has looked, or just after
		refused, ok := errors.AsType[*Refused](err)
		if !ok || refused.Reason == Turn && refused.Ahead != 1 {
			t.Errorf("got %v, want to be told that another one waits", err)
		}
		q.settle()
		q.want("a", "b")
	})
}

// What the head needs is used by something that is no run of ours: waiting for runs to end
// would never help it, so those behind it go on, one at a time.
func TestHeadThatNoRunCanMakeRoomForDoesNotStopTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		room := Request{MinFree: -1, Headroom: machine(4*limit.GiB, 0), Wait: Forever}
		big, small := room, room
		big.Reservation, small.Reservation, small.Wait, small.Tool = 10*limit.GiB, limit.GiB, 0, "codex"
		ctx, cancel := context.WithCancel(t.Context())
		q.start(ctx, "big", big)
		for range MaxBypass + 5 {
			c, err := q.ledger.Acquire(t.Context(), small)
			if err != nil {
				t.Fatal(err)
			}
			second, err := q.ledger.Acquire(t.Context(), small)
			if err == nil { // while the big one has been passed less often
				err = second.Release()
			} else if refused, ok := errors.AsType[*Refused](err); ok && refused.Reason == Turn {
				err = nil
			}
			if err := errors.Join(err, c.Release()); err != nil {
				t.Fatal(err)
			}
		}
		last, err := q.ledger.Acquire(t.Context(), small)
		if err != nil {
			t.Fatal(err)
		}
		_, err = q.ledger.Acquire(t.Context(), small)
		if refused, ok := errors.AsType[*Refused](err); !ok || refused.Reason != Turn {
			t.Errorf("a second one beside it: %v", err)
		}
		if err := last.Release(); err != nil {
			t.Fatal(err)
		}
		cancel()
		q.settle()
		q.want("big")
	})
}

func TestProgressTellsPositionAndReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		var seen []Progress
		r := Request{SlotsTotal: 1, Wait: Forever}
		q.start(t.Context(), "a", r)
		q.start(t.Context(), "b", r)
		r.Progress = func(p Progress) { seen = append(seen, p) }
		q.start(t.Context(), "c", r)
		q.release("a")
		q.release("b")
		q.want("a", "b", "c")
		if len(seen) < 2 || seen[0].Position != 2 || seen[0].Of != 2 || seen[0].Reason != TotalSlots {
			t.Fatalf("progress: %+v", seen)
		}
		if last := seen[len(seen)-1]; last.Position != 1 || last.Of != 1 || last.For <= 0 {
			t.Errorf("the last progress: %+v", last)
		}
	})
}

// A waiter that has been stopped when its turn comes must not hold up those behind it,
// and gets its turn when it is continued.
func TestStoppedWaiterIsPassedAndKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t)
		stopped := &acquisition{
			ledger: q.ledger, began: time.Now(), tried: map[string]time.Time{},
			request: Request{Tool: "codex", ID: "stopped", SlotsTotal: 1, Wait: Forever},
		}
		r := Request{SlotsTotal: 1, Wait: Forever}
		q.start(t.Context(), "a", r)
		if _, err := stopped.decideOnce(t.Context()); err != nil { // queued, and looks no more
			t.Fatal(err)
		}
		q.start(t.Context(), "b", r)
		q.start(t.Context(), "c", r)
		q.release("a")
		q.want("a")
		time.Sleep(turnMissed)
		q.settle()
		q.want("a", "b")
		if s, err := stopped.decideOnce(t.Context()); err != nil || s.admitted || s.verdict.position != 1 {
			t.Fatalf("continued, it is at %+v (%v)", s.verdict, err)
		}
		if err := q.claims["b"].Release(); err != nil {
			t.Fatal(err)
		}
		if s, err := stopped.decideOnce(t.Context()); err != nil || !s.admitted {
			t.Fatalf("it does not get its turn: %+v (%v)", s.verdict, err)
		}
		q.settle()
		q.want("a", "b")
		if err := stopped.claim.Release(); err != nil {
			t.Fatal(err)
		}
		q.settle()
		q.want("a", "b", "c")
	})
}

func TestQueueIsBounded(t *testing.T) {
	l := open(t)
	acquire(t, l, Request{})
	err := l.withLock(t.Context(), func(b *book) error {
		for i := range MaxWaiters {
			e := b.newEntry(Request{ID: "w" + string(rune('a'+i%26)) + time.Duration(i).String(), Tool: "x"})
			e.State = Waiting
			b.file.Ticket++
			b.addEntry(e)
		}
		waiting := b.waiters()
		if len(waiting) != MaxWaiters {
			t.Errorf("%d wait", len(waiting))
		}
		a := &acquisition{ledger: l, request: Request{Tool: "x", SlotsTotal: 1, Wait: Forever}, tried: map[string]time.Time{}}
		v := b.decide(b.newEntry(a.request), waiting, a.request, false)
		if v.admit || v.reason != Turn || v.position != MaxWaiters+1 {
			t.Errorf("verdict %+v", v)
		}
		b.changed = false
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
