package pressure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	mib = limit.MiB
	gib = limit.GiB
)

// testLines are those of a host of 16 GiB: soft 819 MiB, hard 409 MiB.
var testLines = LinesFor(16*gib/20, 16*gib)

// host is a machine in a bubble of fake time: its memory, its runs, and the ledger that
// their real watches share.
type host struct {
	t         *testing.T
	mu        sync.Mutex
	inEpisode time.Time
	reading   Reading
	reads     int
	readErr   error
	runs      map[string]*guest
	log       []string
	refuse    error // what Publish answers
}

// guest is one run of the host.
type guest struct {
	host     *host
	holder   Holder
	children []Child
	frozen   bool
	stopped  map[int]bool
	heldFrom time.Time     // since when anything of it is held
	longest  time.Duration // the longest hold
	ran      time.Duration // how long it was let run, between holds
	freeFrom time.Time
	said     []string
	stop     func()
}

func newHost(t *testing.T) *host {
	h := &host{t: t, inEpisode: time.Now(), reading: Reading{Total: 8 * gib, Physical: 8 * gib, BoundBy: "host"}, runs: map[string]*guest{}}
	t.Cleanup(func() {
		for _, g := range h.runs {
			if g.stop != nil {
				g.stop()
			}
		}
		for id, g := range h.runs {
			if g.stop != nil && (g.frozen || len(g.stopped) > 0) {
				t.Errorf("%s was left frozen=%v stopped=%v at its end", id, g.frozen, g.stopped)
			}
		}
	})
	return h
}

// add starts a run that uses current of its reservation of 1 GiB, admitted after all
// before it, with a watch unless mode is "".
func (h *host) add(id string, mode Mode, current limit.Bytes, children ...limit.Bytes) *guest {
	g := &guest{host: h, stopped: map[int]bool{}, freeFrom: time.Now()}
	g.holder = Holder{
		ID: id, Since: h.inEpisode.Add(time.Duration(len(h.runs)) * time.Minute), Reservation: gib, Current: current,
		State: State{Mode: mode},
	}
	for i, bytes := range children {
		g.children = append(g.children, Child{PID: 100*(len(h.runs)+1) + i, Name: fmt.Sprintf("%s-%d", id, i), Bytes: bytes})
	}
	h.mu.Lock()
	h.runs[id] = g
	h.mu.Unlock()
	return g
}

// watch starts the watches of the runs named, or of all.
func (h *host) watch(ids ...string) {
	if ids == nil {
		ids = slices.Sorted(maps.Keys(h.runs))
	}
	for _, id := range ids {
		g := h.runs[id]
		g.stop = Start(Options{
			Mode: g.holder.State.Mode, Self: id, Lines: testLines, Read: h.read, Run: g, Peers: g, Note: g.note,
		})
	}
}

func (h *host) read() (Reading, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reads++
	return h.reading, h.readErr
}

func (h *host) memory(total limit.Bytes) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reading.Total, h.reading.Physical = total, total
}

func (g *guest) note(e Event) {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	line := fmt.Sprintf("%s %s", g.holder.ID, e.Kind)
	if e.Child.Name != "" {
		line += " " + e.Child.Name
	}
	if e.Peer != "" {
		line += " " + e.Peer
	}
	if e.Err != nil {
		line += " failed"
	}
	g.host.log = append(g.host.log, line)
	if e.Say {
		g.said = append(g.said, string(e.Kind))
	}
}

// happened takes what was done since the last call, "ID KIND …" each.
func (h *host) happened() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := strings.Join(h.log, ", ")
	h.log = nil
	return s
}

// after lets time pass and compares what was done in it.
func (h *host) after(d time.Duration, want string) {
	h.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	if got := h.happened(); got != want {
		h.t.Errorf("%s into it: %q, want %q", time.Since(h.inEpisode), got, want)
	}
}

// The guest as a [Run].

func (g *guest) LargestChild() (c Child, ok bool) {
	for _, each := range g.children {
		if each.Bytes > c.Bytes {
			c = each
		}
	}
	return c, c.Bytes > 0
}

func (g *guest) heldSince() {
	if g.heldFrom.IsZero() {
		g.heldFrom = time.Now()
		g.ran += time.Since(g.freeFrom)
	}
}

func (g *guest) free() {
	if !g.frozen && len(g.stopped) == 0 && !g.heldFrom.IsZero() {
		g.longest = max(g.longest, time.Since(g.heldFrom))
		g.heldFrom, g.freeFrom = time.Time{}, time.Now()
	}
}

func (g *guest) StopChild(c Child) error {
	g.stopped[c.PID] = true
	g.heldSince()
	return nil
}

func (g *guest) ContinueChild(c Child) error {
	delete(g.stopped, c.PID)
	g.free()
	return nil
}

func (g *guest) KillChild(c Child) error {
	if g.frozen {
		return errors.New("frozen")
	}
	g.children = slices.DeleteFunc(g.children, func(o Child) bool { return o.PID == c.PID })
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	g.holder.Current -= c.Bytes
	return nil
}

func (g *guest) Freeze(on bool) error {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	if g.frozen = on; on {
		g.heldSince()
	} else {
		g.free()
	}
	return nil
}

func (g *guest) Frozen() bool {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	return g.frozen
}

// The guest as its view of the ledger.

func (g *guest) Holders(context.Context) ([]Holder, error) {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	var list []Holder
	for _, id := range slices.Sorted(maps.Keys(g.host.runs)) {
		h := g.host.runs[id].holder
		h.State.Stopped = slices.Clone(h.State.Stopped)
		list = append(list, h)
	}
	return list, nil
}

func (g *guest) Publish(s State) error {
	g.host.mu.Lock()
	defer g.host.mu.Unlock()
	if g.host.refuse != nil {
		return g.host.refuse
	}
	// As in a file: without the monotonic clock.
	for _, at := range []*time.Time{&s.Frozen, &s.StoppedSince, &s.Acted, &s.Rests} {
		*at = at.Round(0)
	}
	g.holder.State = s
	return nil
}

func (g *guest) Thaw(h Holder) error {
	return g.host.runs[h.ID].Freeze(false)
}
