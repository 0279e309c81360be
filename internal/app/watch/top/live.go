package top

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Live is the [Source] of the present state. It implements [Controls].
type Live struct {
	minFree   limit.Bytes // 0 means what package headroom takes
	countSwap bool

	mu       sync.Mutex
	store    *runs.Store
	ledger   *admission.Ledger
	noLedger error
	holders  map[string]admission.Holder
	cpu      map[string]cpuReading
	now      func() time.Time
	core     *core.Core
	ask      func() // the engines, soon
	price    price
	hosts    view // nil where there is no fleet
}

// cpuReading is the processor time of a run at the last look, and whether the run was stopped when that was last checked.
type cpuReading struct {
	at      time.Time
	used    time.Duration
	percent float64
	idle    bool // it has used nothing since the look before
	untold  bool // this system does not count it for a group: the run's own samples tell
	paused  bool
	asked   time.Time
}

// askPaused is the time between two checks whether an idle run is stopped; after a pause from here it is checked at once.
const askPaused = 3 * time.Second

// lookUntold is the time between two readings of the processor time where none could be read: with cgroup v1 that may be true of only one
// of a run's groups.
const lookUntold = 10 * time.Second

// lookIdle is the time between two readings of the processor time of a run that used none at the last one.
const lookIdle = 2500 * time.Millisecond

// maxLook bounds one look at the ledger, which another process may hold.
const maxLook = 2 * time.Second

// Open opens the store and the ledger. Without a ledger it still shows what the runs have written.
func Open(c *core.Core) (*Live, error) {
	store, err := watch.Open(c)
	if err != nil {
		return nil, err
	}
	l := &Live{store: store, holders: map[string]admission.Holder{}, cpu: map[string]cpuReading{}, now: time.Now, core: c, ask: submit.Asker(c), price: priceOf(c)}
	told := map[string]bool{} // each look has the same ones
	l.ledger, l.noLedger = c.OpenLedger(func(w admission.Warning) {
		if !told[w.Text] && len(told) < maxWarnings {
			told[w.Text] = true
			c.Warn(w.Text)
		}
	})
	if l.noLedger != nil {
		l.ledger = nil
	}
	if s, err := c.Config.For(""); err == nil {
		l.minFree, l.countSwap = minFreeOf(s), s.CountSwap
		if v := watch.OpenHosts(c, s, true); v != nil {
			l.hosts = v
		}
	}
	return l, nil
}

// minFreeOf returns what is to stay free by the settings, 0 for auto.
func minFreeOf(s config.Settings) limit.Bytes {
	if s.MinFree == config.Auto {
		return 0
	}
	return s.MinFree
}

// Close implements [Source].
func (l *Live) Close() error {
	if l.hosts != nil {
		l.hosts.Close()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.store.Close()
}

// Run implements [Source].
func (l *Live) Run(_ context.Context, id string) (*runs.Run, error) {
	if err := elsewhere(id); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.store.Poll(); err != nil {
		return nil, err
	}
	return l.store.Run(id)
}

// Read implements [Source].
func (l *Live) Read(ctx context.Context, want Want) (Snapshot, error) {
	if l.hosts != nil && want.Wait {
		looks, cancel := context.WithTimeout(ctx, maxLook)
		l.hosts.Wait(looks)
		cancel()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.ask()
	snap := Snapshot{Host: Host{Time: now, Waiting: []Waiter{}}, Runs: []Row{}}
	if err := l.store.Poll(); err != nil {
		return snap, err
	}
	holders, err := l.readLedger(ctx)
	if err != nil {
		snap.Host.Unread = "who holds memory: " + err.Error()
	}
	l.readHost(&snap.Host)

	rows := newRowSet(l.store.Live(), now, l.price)
	for _, h := range holders {
		if h.State == admission.Waiting {
			snap.Host.Waiting = append(snap.Host.Waiting, Waiter{
				ID: h.ID, Tool: h.Tool, Project: h.Project, Position: len(snap.Host.Waiting) + 1,
				AsksBytes: int64(h.Reservation), Since: h.Since,
			})
		} else if h.Parent == "" {
			snap.Host.ReservedBytes += int64(h.Reservation)
		}
		r := rows.addHolder(h, now)
		if h.State == admission.Waiting {
			r.Position = len(snap.Host.Waiting)
		}
		l.addLive(r, h, now)
		if tree := want.tree(h.ID); tree || want.Orphans {
			readProcesses(r, h, tree)
		}
	}
	for id := range l.cpu { // of runs that have ended
		if rows.byID[id] == nil {
			delete(l.cpu, id)
		}
	}
	snap.Runs = rows.list()
	for i := range snap.Runs {
		switch r := &snap.Runs[i]; r.State {
		case runs.Idle:
			if r.Parent == "" { // what is inside another run is in its memory
				snap.Host.IdleBytes += r.MemoryBytes
			}
			fallthrough
		case runs.Running, runs.YourTurn, Paused:
			snap.Host.Running++
		}
	}
	for _, e := range l.store.Ended(now.Add(-Keep)) {
		if e.Kind == runs.KindGateway && e.Parent != "" {
			continue // a part of a run, which has it in its own row
		}
		snap.Runs = append(snap.Runs, rowOf(&e, now, l.price))
	}
	var others []Row
	snap.Host.Fleet, others = l.otherHosts(want, now)
	snap.Runs = append(snap.Runs, others...)
	return snap, nil
}

// readLedger returns the runs in the ledger, and stores them for [Live.Pause] and the other controls.
func (l *Live) readLedger(ctx context.Context) ([]admission.Holder, error) {
	if l.ledger == nil {
		return nil, l.noLedger
	}
	ctx, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	list, err := l.ledger.Holders(ctx)
	if err != nil {
		return nil, err
	}
	clear(l.holders)
	for _, h := range list {
		l.holders[h.ID] = h
	}
	return list, nil
}

// readHost sets the memory and the pressure of this host in h. If the memory cannot be read, h.Unread says so and neither is set.
func (l *Live) readHost(h *Host) {
	reading, err := headroom.Read(headroom.Source{})
	if err != nil {
		h.Unread = joinWords(h.Unread, "the memory of this host: "+err.Error())
		return
	}
	room := reading.Available(l.countSwap)
	h.TotalBytes, h.AvailableBytes, h.BoundBy = int64(reading.Capacity()), int64(room.Total), room.BoundBy
	h.SwapFreeBytes = int64(reading.SwapFree)
	h.MinFreeBytes = int64(cmp.Or(max(0, l.minFree), headroom.MinFree(reading.Capacity())))
	p := headroom.ReadPressure(headroom.Source{})
	if p.Memory == nil && p.IO == nil {
		return
	}
	h.Pressure = &Pressure{}
	if p.Memory != nil {
		h.Pressure.MemorySome, h.Pressure.MemoryFull = p.Memory.Some.Avg10, p.Memory.Full.Avg10
	}
	if p.IO != nil {
		h.Pressure.IOSome = p.IO.Some.Avg10
	}
}

// addLive adds to a row what only the operating system knows: memory now, processor use, and whether the run is stopped.
func (l *Live) addLive(r *Row, h admission.Holder, now time.Time) {
	if h.Current > 0 {
		r.MemoryBytes = int64(h.Current)
		r.PeakBytes = max(r.PeakBytes, r.MemoryBytes)
	}
	if h.User != "" || h.State != admission.Holding {
		return
	}
	if l.paused(h, now, l.readCPU(r, h, now)) {
		r.State, r.Reason = Paused, "all its processes are stopped; c lets them go on"
		if remains, ok := holder.Remains(h); ok && !remains.Frozen.IsZero() {
			r.Reason = "stopped because this host is short of memory"
		}
	}
}

// readCPU sets the processor use of a run in its row. It reads it at most every quarter of a second, less often for an idle run, and shows
// the last value in between. more is true if the run has used the processor since the last reading.
func (l *Live) readCPU(r *Row, h admission.Holder, now time.Time) (more bool) {
	last, seen := l.cpu[h.ID]
	pause := time.Second / 4 // anything shorter is too short to divide by
	switch {
	case last.untold:
		pause = lookUntold
	case last.idle:
		pause = lookIdle
	}
	if seen && now.Sub(last.at) < pause {
		if !last.untold {
			r.CPUPercent = last.percent
		}
		return false
	}
	used, ok := holder.CPUTime(h)
	next := last
	next.at, next.used, next.percent, next.idle, next.untold = now, used, r.CPUPercent, false, !ok
	if ok && seen && !last.untold && used >= last.used {
		next.percent = 100 * float64(used-last.used) / float64(now.Sub(last.at))
		next.idle = used == last.used
		r.CPUPercent = next.percent
	}
	l.cpu[h.ID] = next
	return seen && used > last.used
}

// paused reports whether a run is stopped. works is true when it has used the processor since the last look, which makes a check needless. A run
// that was not stopped is checked only every askPaused, and is taken to go on in between.
func (l *Live) paused(h admission.Holder, now time.Time, works bool) bool {
	last, seen := l.cpu[h.ID]
	if seen && !works && !last.paused && now.Sub(last.asked) < askPaused {
		return false
	}
	last.paused = !works && holder.Paused(h)
	if last.asked = now; seen {
		l.cpu[h.ID] = last
	}
	return last.paused
}

// askAgain makes the next look check whether a run is stopped.
func (l *Live) askAgain(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, seen := l.cpu[id]; seen {
		last.asked = time.Time{}
		l.cpu[id] = last
	}
}

// errNoClaim is wrapped by the error about a run that can't be paused, ended or raised from here.
var errNoClaim = errors.New("only what runs under plimsoll run can be paused and ended from here")

// claim returns the holder of a run as it was at the last look. It is an error if the run had no claim then, or is on another host.
func (l *Live) claim(id string) (admission.Holder, error) {
	if err := elsewhere(id); err != nil {
		return admission.Holder{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	h, ok := l.holders[id]
	if !ok {
		return h, fmt.Errorf("%s: %w", id, errNoClaim)
	}
	return h, nil
}

// Pause implements [Controls].
func (l *Live) Pause(id string) (note string, err error) {
	h, err := l.claim(id)
	if err != nil {
		return "", err
	}
	bySignal, err := holder.Pause(h)
	l.askAgain(id)
	if err != nil {
		return "", err
	}
	note = "paused " + h.ID + ": it keeps its memory and its reservation, and its time limits run on; c lets it go on"
	if bySignal {
		note = "paused " + h.ID + " with SIGSTOP (no freezer): its terminal goes back to the shell; c lets it go on"
	}
	return note, nil
}

// Continue implements [Controls].
func (l *Live) Continue(id string) (note string, err error) {
	h, err := l.claim(id)
	if err != nil {
		return "", err
	}
	return h.ID + " goes on", holder.Continue(h)
}

// End implements [Controls]. If id is a job that no run of this host has, its engine is asked to end it.
func (l *Live) End(id string) (note string, err error) {
	h, err := l.claim(id)
	if err != nil && jobs.CheckID(id) == nil {
		if r, noJob := submit.Cancel(context.Background(), l.core, id); noJob == nil {
			return "asked " + r.Engine + " to end " + id, nil
		}
	}
	if err != nil {
		return "", err
	}
	return "asked " + h.ID + " to end by SIGTERM; once more kills what stays", holder.End(h)
}

// joinWords joins two texts with "; ", which is left out if a is empty.
func joinWords(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
