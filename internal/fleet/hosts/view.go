package hosts

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
)

const (
	// maxHosts bounds the hosts that are held, maxHeld their runs; of hosts beyond that only the sums are.
	maxHosts, maxHeld = 4096, 200_000
	// silent is the time without a word after which a host is gone: what it said last has aged out by then.
	silent = 22 * time.Second
	// goneFor is the time for which a host that is gone is told of.
	goneFor = 15 * time.Minute
	// again is the pause before the next attempt while the fleet is away.
	again = 2 * time.Second
)

// Now is the fleet as it is known now. Nothing in it is changed later.
type Now struct {
	// Hosts are the others, by label. Own is this one as it told the others, nil while nothing runs here.
	Hosts []*Host
	Own   *Host
	// Gone are those that have fallen silent without a last word, the newest first. Their Time is that of the last word.
	Gone []*Host
	// Ready is true once all that there is was read.
	Ready bool
	// Away says why the fleet cannot be reached, nil while it can; since when is in Since.
	Away  error
	Since time.Time
	// LeftOut counts hosts for which there is no room, and those whose runs are not held.
	LeftOut int
}

// TotalLoad returns what the other hosts carry together.
func (n *Now) TotalLoad() (l Load) {
	for _, h := range n.Hosts {
		l.add(&h.Load)
	}
	return l
}

// View follows the hosts of a fleet. Its methods may be called from any goroutine, and none waits for the network.
type View struct {
	fleet *fleet.Fleet
	own   Key
	runs  bool
	end   context.CancelFunc
	ended chan struct{}

	mu      sync.Mutex
	hosts   map[string]*Host // by the key of the host
	gone    map[string]*Host
	held    int             // runs
	leftOut map[string]bool // hosts without room, and without room for their runs
	now     Now
	shown   sync.Once
	ready   chan struct{} // closed once there is something to show
}

// newView returns a view that follows nothing yet.
func newView(f *fleet.Fleet, own Key, runs bool) *View {
	return &View{
		fleet: f, own: own, runs: runs, hosts: map[string]*Host{}, gone: map[string]*Host{}, leftOut: map[string]bool{},
		ended: make(chan struct{}), ready: make(chan struct{}),
	}
}

// Open begins to follow the other hosts, with their runs or without. Its owner closes it.
func Open(f *fleet.Fleet, own Key, runs bool) *View {
	v := newView(f, own, runs)
	ctx, end := context.WithCancel(context.Background())
	v.end = end
	go v.follow(ctx)
	return v
}

// Close ends the view. It may be called on nil.
func (v *View) Close() {
	if v != nil {
		v.end()
		<-v.ended
	}
}

// Wait waits until there is something to show, or it is known that the fleet is away, or the context ends.
func (v *View) Wait(ctx context.Context) {
	select {
	case <-v.ready:
	case <-ctx.Done():
	}
}

// Now returns copies of the known hosts, the own one, those that have gone, and how many are left out. While the fleet is away only that is
// returned, as anything older may not hold any more.
func (v *View) Now() Now {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dropSilent(time.Now())
	if v.now.Away != nil { // what the others said last may not hold any more
		return Now{Away: v.now.Away, Since: v.now.Since}
	}
	now := v.now
	if now.Own != nil && (now.Own.Left || time.Since(now.Own.Time) > silent) {
		now.Own = nil
	}
	now.Hosts = copyLabelled(v.hosts)
	slices.SortFunc(now.Hosts, func(a, b *Host) int { return cmp.Or(strings.Compare(a.Label, b.Label), strings.Compare(a.ID, b.ID)) })
	now.Gone = copyLabelled(v.gone)
	slices.SortFunc(now.Gone, func(a, b *Host) int { return cmp.Or(b.Time.Compare(a.Time), strings.Compare(a.ID, b.ID)) })
	now.LeftOut = len(v.leftOut)
	return now
}

// copyLabelled returns copies of hosts with labels: the name, and a part of the ID if several have that name or it is empty.
func copyLabelled(hosts map[string]*Host) []*Host {
	named := map[string]int{}
	for _, h := range hosts {
		named[h.Name]++
	}
	list := make([]*Host, 0, len(hosts))
	for _, h := range hosts {
		one := *h
		if one.Label = h.Name; named[h.Name] > 1 || h.Name == "" {
			one.Label += "~" + h.ID[:min(4, len(h.ID))]
		}
		list = append(list, &one)
	}
	return list
}

// dropSilent moves hosts that were silent for too long to those that are gone, and forgets those that are gone for long. Right after the fleet is
// back no host counts as silent.
func (v *View) dropSilent(now time.Time) {
	for key, h := range v.hosts {
		if v.now.Away == nil && now.Sub(h.Time) > silent && now.Sub(v.now.Since) > silent {
			v.dropHost(key)
			if v.gone[key] = h; len(v.gone) > maxHosts {
				delete(v.gone, key)
			}
		}
	}
	for key, h := range v.gone {
		if now.Sub(h.Time) > goneFor {
			delete(v.gone, key)
		}
	}
}

// dropHost forgets a host.
func (v *View) dropHost(key string) {
	if h := v.hosts[key]; h != nil {
		v.held -= len(h.Runs)
		delete(v.hosts, key)
	}
	delete(v.leftOut, key)
}

// follow watches the bucket and records what hosts publish, until ctx ends. If the fleet does not answer, it notes that and tries again
// after a pause.
func (v *View) follow(ctx context.Context) {
	defer close(v.ended)
	pattern := "host.>"
	if v.runs {
		pattern = ">"
	}
	for {
		err := v.fleet.Bucket(fleet.Hosts).Watch(ctx, pattern, func(e fleet.Entry, ready bool) {
			v.setAnswer(nil, ready)
			if !ready {
				v.storeValue(e, time.Now())
			}
		})
		if ctx.Err() != nil {
			return
		}
		v.setAnswer(err, false)
		select {
		case <-ctx.Done():
			return
		case <-time.After(again):
		}
	}
}

// setAnswer records whether the fleet answers, err being why not, and since when. ready says that all present values were read. The first call with
// an error or with ready wakes those that wait for the view.
func (v *View) setAnswer(err error, ready bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now.Since.IsZero() || (err == nil) != (v.now.Away == nil) {
		v.now.Since = time.Now()
	}
	v.now.Away, v.now.Ready = err, err == nil && (ready || v.now.Ready)
	if err != nil || ready {
		v.shown.Do(func() { close(v.ready) })
	}
}

// storeValue stores one value of the bucket: the state of a host, or its runs. A host that says it has left is removed; hosts and runs beyond the
// bounds are left out and counted.
func (v *View) storeValue(e fleet.Entry, now time.Time) {
	kind, id, ok := strings.Cut(e.Key, ".")
	if !ok || e.Gone { // one that has aged out is gone when it is silent
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.hosts[id]
	switch {
	case kind == "runs" && before != nil:
		list, told, err := decodeRuns(e.Value, now)
		if err != nil {
			return
		}
		setCPU(before, list, told)
		delete(v.leftOut, id)
		if v.held-len(before.Runs)+len(list) > maxHeld {
			list, v.leftOut[id] = nil, true
		}
		h := *before
		v.held += len(list) - len(before.Runs)
		h.Runs, h.told = list, told
		v.hosts[id] = &h
	case kind == "host":
		h, err := decodeHost(e.Value, now)
		switch {
		case err != nil:
		case id == strings.TrimPrefix(v.own.host(), "host."):
			v.now.Own = h
		case h.Left:
			v.dropHost(id)
			delete(v.gone, id)
		case before == nil && len(v.hosts) >= maxHosts:
			if len(v.leftOut) < maxHosts {
				v.leftOut[id] = true
			}
		default:
			if before != nil {
				h.Runs, h.told = before.Runs, before.told
			}
			delete(v.gone, id)
			v.hosts[id] = h
		}
	}
}

// setCPU sets the CPU use of each run, in percent, since the host's message before; -1 if the run was not in that.
func setCPU(before *Host, list []Run, told time.Time) {
	took := told.Sub(before.told)
	was := make(map[string]int64, len(before.Runs))
	for i := range before.Runs {
		was[before.Runs[i].ID] = before.Runs[i].CPUMS
	}
	for i := range list {
		r := &list[i]
		r.CPU = -1
		if used, seen := was[r.ID]; seen && r.CPUMS >= used && took > 0 {
			r.CPU = 100 * float64(r.CPUMS-used) / float64(took.Milliseconds()+1)
		}
	}
}
