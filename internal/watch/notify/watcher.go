package notify

import (
	"context"
	"errors"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

const (
	// pollEvery is the usual time between two readings of the store, adoptEvery between two passes that end runs whose writer was killed.
	pollEvery  = time.Second
	adoptEvery = time.Minute
	// overlap is the time back to which the index is looked through for runs that have ended: their lines come a moment after their ends.
	overlap = time.Minute
	// maxEnded bounds the runs that are remembered as told.
	maxEnded = 8192
)

// WatchOptions are the settings of [Watch].
type WatchOptions struct {
	// StateDir holds the store of runs.
	StateDir string
	// Sender gives the notices. ID names its way: runs that give notices by the same are left to themselves.
	Sender *Sender
	ID     string
	// Hold reports whether no other process gives notices by the same way; nil is always so. It is called with each look, from one
	// goroutine. While it is false nothing is told, and what happens then is not told later.
	Hold func() bool
	// Warn is called with what goes wrong with the store, once until it is right again; nil drops it.
	Warn func(error)
	// Every is the time between two looks; 0 is a second.
	Every time.Duration
}

// Watch gives notice of all runs of this user, from now on, until ctx ends. The error is that of opening the store; later ones go to Warn.
func Watch(ctx context.Context, o WatchOptions) error {
	if o.Hold == nil {
		o.Hold = func() bool { return true }
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	store, err := runs.Open(o.StateDir)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	w := &watcher{o: o, store: store, live: map[string]*episode{}, ended: map[string]time.Time{}}
	if o.Every == 0 {
		o.Every = pollEvery
	}
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	var adopted time.Time
	wrong := false
	for {
		var failed error
		now := time.Now()
		if now.Sub(adopted) >= adoptEvery || now.Before(adopted) {
			failed, adopted = runs.Adopt(o.StateDir, now), now
		}
		if err := store.Poll(); err != nil {
			failed = errors.Join(failed, err)
		} else {
			w.holds = o.Hold()
			w.sendNew(now)
		}
		if failed != nil && !wrong {
			o.Warn(failed)
		}
		wrong = failed != nil
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// watcher is the state of [Watch]: the runs it knows.
type watcher struct {
	o     WatchOptions
	store *runs.Store
	live  map[string]*episode  // of runs that live
	ended map[string]time.Time // when runs were last seen of which all is told
	begun bool
	holds bool
}

// sendNew sends notices about what has happened since the last call. The first call sends none.
func (w *watcher) sendNew(now time.Time) {
	lives := map[string]bool{}
	for _, r := range w.store.Live() {
		lives[r.ID] = true
		p := w.live[r.ID]
		switch {
		case p != nil:
		case w.begun:
			p = newEpisode()
		default:
			p = newEpisodeSince(now, r)
		}
		w.live[r.ID] = p
		w.giveUnlessOther(p.update(now, r), &r.Entry)
	}
	since := now.Add(-overlap)
	for _, e := range w.store.Ended(since) {
		w.addEnded(now, e)
	}
	for id := range w.live { // what ended long before anybody noticed, as a run that was killed in a quiet hour
		if lives[id] {
			continue
		}
		if e, err := w.store.Find(id); err == nil && e.Ended != nil {
			w.addEnded(now, e)
		}
		delete(w.live, id)
	}
	for id, seen := range w.ended {
		if now.Sub(seen) > 2*overlap {
			delete(w.ended, id)
		}
	}
	w.begun = true
}

// addEnded sends the notices about a run that has ended, once for each run.
func (w *watcher) addEnded(now time.Time, e runs.Entry) {
	_, told := w.ended[e.ID]
	if told || len(w.ended) < maxEnded {
		w.ended[e.ID] = now
	}
	p := w.live[e.ID]
	delete(w.live, e.ID)
	switch {
	case told, !w.begun:
		return
	case p == nil && len(w.ended) >= maxEnded: // it could not be told apart from one that was told
		return
	case p == nil:
		p = newEpisode()
	}
	w.giveUnlessOther(p.update(now, &runs.Run{Entry: e}), &e)
}

// giveUnlessOther gives the notices to the sender, unless another process gives them: the run itself, or the one that holds the lock.
func (w *watcher) giveUnlessOther(list []Notice, e *runs.Entry) {
	for _, n := range list {
		if !w.holds || e.Notifies == Nobody {
			return
		}
		if n.Cause == Died || e.Notifies == "" || e.Notifies != w.o.ID {
			w.o.Sender.Give(n)
		}
	}
}
