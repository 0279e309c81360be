// Package hosts shows the hosts of a fleet to each other: their memory, their live runs, their queues, and what they spent.
//
//	end := hosts.Announce(hosts.Options{Fleet: f, Key: key, …}) // from each run, and from a daemon
//	v := hosts.Open(f, key, true)                              // for who looks
//	now := v.Now()                                             // never waits: the hosts as they said last, or since when the fleet is away
//
// Each run writes a small card below the runtime directory every five seconds. One process of the host, which holds a lock that its end gives
// to the next one, sums the cards up and writes two values: a small one about the host, which metrics watch, and its runs, which
// screens watch. Both age out within 20 s. A host whose last process ends cleanly says so; one that does not is gone.
//
// Whatever another host wrote is bounded and cleaned of control characters when it is read. Times are told by the writer's clock together with
// its present time, so that a clock that is off by an hour shifts nothing.
package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// first is the age at which a run is told of: many are over by then.
	first = time.Second
	// every is the time between two words of a host, which age out after 20 s.
	every = 5 * time.Second
	// cardAge is the age from which a card counts as left behind by a run that was killed.
	cardAge = 3 * every
	// maxCard bounds a card in bytes, and maxCards the cards that are read.
	maxCard, maxCards = 4 << 10, maxRuns
	// goodbyeTime bounds how long the end of the last run of a host waits for the fleet.
	goodbyeTime = 500 * time.Millisecond
	cardEnd     = ".run"
)

// Options of [Announce].
type Options struct {
	Fleet *fleet.Fleet
	Key   Key
	// State is the state directory, Runtime a directory of this host alone.
	State, Runtime string
	// Own follows the run of this process; nil for a daemon.
	Own *Own
}

// announcer is the part of one process in what its host tells.
type announcer struct {
	Options
	dir     string
	members *os.File // locked by all of them
	speaker *os.File // locked by the one that speaks; nil for others
	memory  *headroom.Reader
	ended   ended
}

// Announce tells the fleet of this host and of the run of this process, in the background, until end is called. end waits; for the last run
// of the host, which says goodbye to the fleet, that takes at most goodbyeTime.
func Announce(o Options) (end func()) {
	a := &announcer{Options: o, dir: filepath.Join(o.Runtime, o.Key.ID), ended: ended{size: -1}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.announceUntil(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// announceUntil writes the card of this process's run every few seconds. The one process that speaks for the host also announces the host to the
// fleet. When ctx ends it removes the card.
func (a *announcer) announceUntil(ctx context.Context) {
	if os.MkdirAll(a.dir, 0o700) != nil {
		return
	}
	var err error
	if a.members, err = openLock(filepath.Join(a.dir, "members")); err != nil {
		return
	}
	defer func() { _ = filelock.Release(a.members) }()
	_, _ = filelock.Try(a.members, filelock.Shared)
	next := time.NewTimer(first)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			a.leave()
			return
		case <-next.C:
		}
		next.Reset(every)
		a.writeCard()
		if a.isSpeaker() {
			_ = a.publish(ctx, time.Now()) // who looks says since when the fleet is away
		}
	}
}

// openLock opens a lock file, and makes it if it is missing. It takes no lock.
func openLock(path string) (*os.File, error) {
	return statefile.Open(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// isSpeaker reports whether this process speaks for its host, and then marks the file of the speaker as of now. It does from when it gets the lock
// on that file, or, without the lock, from when the one who holds it was not heard of for cardAge.
func (a *announcer) isSpeaker() bool {
	path := filepath.Join(a.dir, "speaker")
	if a.speaker == nil {
		f, err := openLock(path)
		if err != nil {
			return false
		}
		ours, err := filelock.Try(f, filelock.Exclusive)
		info, statErr := f.Stat()
		if err != nil || statErr != nil || !ours && time.Since(info.ModTime()) < cardAge {
			_ = f.Close()
			return false
		}
		a.speaker, a.memory = f, headroom.NewReader()
	}
	now := time.Now()
	return os.Chtimes(path, now, now) == nil
}

// writeCard writes the present state of this process's run to a file, for the process that speaks for the host. It does nothing without a run.
func (a *announcer) writeCard() {
	if a.Own == nil {
		return
	}
	r := a.Own.currentRun()
	if text, err := json.Marshal(r); err == nil && len(text) <= maxCard {
		_ = atomicfile.Write(a.cardPath(r.ID), text, 0o600, atomicfile.Volatile)
	}
}

// cardPath returns the file in which a run of this host describes itself.
func (a *announcer) cardPath(id string) string { return filepath.Join(a.dir, id+cardEnd) }

// readCards returns what the runs of this host say of themselves, at most maxCards. Files of runs that have not written for cardAge are removed.
func (a *announcer) readCards(now time.Time) (list []Run) {
	dir, err := os.Open(a.dir)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(4 * maxCards)
	for _, name := range names {
		if !strings.Contains(name, cardEnd) {
			continue
		}
		path := filepath.Join(a.dir, name)
		if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()).Abs() > cardAge {
			_ = os.Remove(path)
			continue
		}
		if !strings.HasSuffix(path, cardEnd) || len(list) >= maxCards {
			continue
		}
		text, err := statefile.Read(path, maxCard)
		var r Run
		if err == nil && json.Unmarshal(text, &r) == nil {
			r.sanitize()
			list = append(list, r)
		}
	}
	return list
}

// publish writes to the fleet: the load of this host, its runs, and what was spent on days that have ended.
func (a *announcer) publish(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, every-time.Second)
	defer cancel()
	h := Host{Time: now, Load: Load{Used: a.ended.today}}
	list := a.readCards(now)
	for i := range list {
		load := runLoad(&list[i], formatDay(now))
		h.add(&load)
	}
	if r, err := a.memory.Read(); err == nil {
		h.TotalBytes, h.AvailableBytes = int64(r.Capacity()), int64(r.Available(false).Physical)
	}
	value, leftOut := encodeRuns(list, now)
	h.LeftOut = leftOut
	if err := a.publishHost(ctx, h); err != nil {
		return err
	}
	if !a.hasPublished() {
		_, _ = a.speaker.WriteAt([]byte("heard\n"), 0)
	}
	_, err := a.Fleet.Bucket(fleet.Hosts).Put(ctx, a.Key.runs(), value)
	return errors.Join(err, a.publishSpent(ctx, now))
}

// publishHost writes h into the fleet's bucket of hosts, under this host's name.
func (a *announcer) publishHost(ctx context.Context, h Host) error {
	h.Name, h.ID = a.Key.Name, a.Key.ID
	about, err := json.Marshal(h)
	if err == nil {
		_, err = a.Fleet.Bucket(fleet.Hosts).Put(ctx, a.Key.host(), about)
	}
	return err
}

// hasPublished reports whether others have heard of this host, who then wait for its last word. The file keeps it for the processes after this one.
func (a *announcer) hasPublished() bool {
	info, err := a.speaker.Stat()
	return err == nil && info.Size() > 0
}

// runLoad returns the part that a running or waiting run has in the load of its host. Its use counts only if the run started today.
func runLoad(r *Run, today string) (l Load) {
	switch {
	case r.State == runs.Waiting:
		l.Waiting, l.Oldest = 1, r.Since
	case r.Kind == runs.KindRun:
		l.Running = 1
	}
	if formatDay(r.Started) == today {
		l.Used = r.Used
	}
	return l
}

// leave removes the card of this process. If it is the last one of the host, it tells the fleet, within goodbyeTime, that the host has left
// and what it spent. It gives up the lock of the speaker.
func (a *announcer) leave() {
	spent := false
	if a.Own != nil {
		r := a.Own.currentRun()
		spent = r.Tokens > 0
		_ = os.Remove(a.cardPath(r.ID))
	}
	if a.isLast() && a.isSpeaker() && (a.hasPublished() || spent) {
		now := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), goodbyeTime)
		defer cancel()
		if errors.Join(a.publishHost(ctx, Host{Time: now, Left: true}), a.publishSpent(ctx, now)) == nil {
			_ = a.speaker.Truncate(0)
		}
	}
	if a.speaker != nil {
		_ = filelock.Release(a.speaker)
	}
}

// isLast reports whether no other process of this host tells the fleet of a run. If it returns true, it holds the lock alone. Of two that end
// at the same moment one is the last: the first try of each gives up its own lock.
func (a *announcer) isLast() bool {
	for range 2 {
		if alone, err := filelock.Try(a.members, filelock.Exclusive); err == nil && alone {
			return true
		}
		filelock.Unlock(a.members)
		time.Sleep(time.Millisecond)
	}
	return false
}

// Own follows the run of this process. It is a [journal.Observer].
type Own struct {
	mu   sync.Mutex
	run  *runs.Run
	peak int64
}

// Follow begins to follow a run.
func Follow(h runs.Header, pid int) *Own {
	h.Started, h.PID = time.Now().UTC(), pid
	return &Own{run: runs.Follow(h)}
}

// keptRequests is more than a look at the window needs.
const keptRequests = 16

// Observe implements [journal.Observer]. It follows the present state of the run only: the records themselves are stored elsewhere, and old
// ones are dropped here.
func (o *Own) Observe(r journal.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.run.Observe(r)
	o.run.Records = o.run.Records[:0]
	if n := len(o.run.Context); n > 2*keptRequests {
		o.run.Context = append(o.run.Context[:0], o.run.Context[n-keptRequests:]...)
	}
}

// Sample takes the present use of the run.
func (o *Own) Sample(s runs.Sample) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.run.Samples = append(o.run.Samples[:0], s)
	o.peak = max(o.peak, s.Charged, s.Working)
}

// currentRun returns the present state of the run in the form that other hosts get, with long texts shortened.
func (o *Own) currentRun() Run {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, s := &o.run.Entry, o.run.NewestSample()
	out := Run{
		ID: r.ID, Kind: r.Kind, Parent: r.Parent, Tool: limit.Short(r.Tool, maxName), Variant: limit.Short(r.Variant, maxName), Project: limit.Short(r.Project, maxName),
		PID: r.PID, State: r.Condition(), Since: r.StateSince, Reason: limit.Short(r.Reason, maxReason), Started: r.Started,
		Memory: s.Memory(), Peak: max(o.peak, r.PeakBytes), Limit: r.LimitBytes, Reservation: r.ReservationBytes, CPUMS: s.CPUMS, Processes: s.Processes,
		Compactions: r.Rooms(), Kills: r.Killed(),
	}
	if out.State == runs.Waiting {
		out.Since = cmp.Or(r.StateSince, r.Started)
	}
	if c := o.run.FullestRequest(time.Now()); c.Tokens > 0 {
		out.WindowTokens, out.WindowLimit = c.Tokens, c.Limit
	}
	for i := range r.Usage {
		out.add(&r.Usage[i])
	}
	return out
}
