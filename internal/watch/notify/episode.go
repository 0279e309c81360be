package notify

import (
	"cmp"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// nameWait bounds the time that a kill that the kernel has counted may stay without a name: the process is named a moment later, and where
// it was the command itself, the run ends.
const nameWait = 5 * time.Second

// episode is the record of the notices given about one run.
type episode struct {
	told map[Cause]bool
	// kids, ooms and kills are the counts from before anybody looked.
	kids, ooms, kills int
	// loops is the number of times that it repeated itself and somebody was told, or nobody looked yet.
	loops int64
	// spent holds the line that was told of each limit of what it may spend.
	spent map[string]string
	// waits is true when it was seen waiting.
	waits bool
	// unnamed is the time since which a kill has been counted that nobody has named.
	unnamed time.Time
}

// newEpisode returns the episode of a run of which all is news.
func newEpisode() *episode { return &episode{told: map[Cause]bool{}, spent: map[string]string{}} }

// newEpisodeSince returns the episode of a run that was running already at now: nothing that has happened to it so far will be told.
func newEpisodeSince(now time.Time, r *runs.Run) *episode {
	p := newEpisode()
	p.update(now, r)
	delete(p.told, ChildKilled) // the next one is news
	p.kids, p.ooms, p.kills, p.unnamed = r.KilledChildren, r.OOMKills, len(r.Kills), time.Time{}
	p.loops = r.Window.Loops
	return p
}

// update returns the notices about a run as it is now: each cause is told once, but each loop by itself. Of a run that only the index has, r
// has only the entry.
func (p *episode) update(now time.Time, r *runs.Run) []Notice {
	var out []Notice
	tell := func(c Cause, what string, waited time.Duration) {
		if p.told[c] {
			return
		}
		p.told[c] = true
		n := newNotice(c, &r.Entry, now, what)
		n.WaitedMS = waited.Milliseconds()
		out = append(out, n)
	}
	if waits := now.Sub(r.Started); r.Outcome == runs.Waiting && waits >= LongWait {
		tell(Waiting, r.Reason+", for "+printable.Duration(waits), waits)
	}
	p.waits = p.waits || r.Outcome == runs.Waiting
	if waited := p.waitTime(r); waited >= TurnAfter {
		tell(Turn, "got its turn after "+printable.Duration(waited), waited)
	}
	if r.Forgotten != "" {
		tell(Forgotten, "when it started, "+r.Forgotten, 0)
	}
	if what, ok := p.childKilled(now, r); ok {
		tell(ChildKilled, what, 0)
	}
	if r.Window.Loops > p.loops {
		p.loops = r.Window.Loops
		delete(p.told, Loop)
		tell(Loop, "the agent repeats itself: "+r.Window.Loop, 0)
	}
	for _, l := range runs.SpendLimits(r.Report.Limits) {
		if l.Reached == "" || p.spent[l.Name] == l.Reached {
			continue
		}
		p.spent[l.Name] = l.Reached
		delete(p.told, Spend)
		text := runs.FormatSpent(l) + " are used (" + l.Name + ")"
		if l.Reached == journal.LineHard {
			text += "; its requests are refused until that is raised"
		}
		tell(Spend, text, 0)
	}
	switch r.Outcome {
	case string(journal.OutcomeOOM):
		tell(OOM, r.Reason+resumeHint(r), 0)
	case string(journal.OutcomeLimit):
		tell(Limit, cmp.Or(r.Reason, "ended at a limit")+resumeHint(r), 0)
	case string(journal.OutcomeRefused):
		tell(Refused, r.Reason, 0)
	case runs.Died:
		tell(Died, r.Reason, 0)
	}
	return out
}

// resumeHint returns the way to take up the session of a run that was ended, as far as its report is known; "" if none is.
func resumeHint(r *runs.Run) string {
	if r.Report.Resume == "" {
		return ""
	}
	return "; to go on: " + r.Report.Resume
}

// childKilled returns words about a process of the run that was killed for memory since the last notice. It waits for its name, at most
// nameWait; ok is false until then, and if none was killed.
func (p *episode) childKilled(now time.Time, r *runs.Run) (what string, ok bool) {
	for _, k := range r.Kills[min(p.kills, len(r.Kills)):] {
		if k.Child {
			return killText(&k), true
		}
	}
	switch {
	case r.KilledChildren > p.kids:
		return cmp.Or(r.Reason, "a process of it was killed for memory"), true
	case r.OOMKills <= p.ooms || r.Outcome == string(journal.OutcomeOOM):
		return "", false
	case r.Ended != nil:
		return "a process of it was killed for memory", true
	case p.unnamed.IsZero():
		p.unnamed = now
	}
	return "a process of it was killed for memory", now.Sub(p.unnamed) >= nameWait
}

// waitTime returns the time that a run waited for admission, 0 if it waits still or did not wait. For a run that began and ended between two looks it
// is computed from the index.
func (p *episode) waitTime(r *runs.Run) time.Duration {
	if r.Admission != nil {
		return r.Admission.Waited
	}
	if !p.waits || r.Ended == nil {
		return 0
	}
	switch r.Outcome {
	case string(journal.OutcomeOK), string(journal.OutcomeFailed), string(journal.OutcomeOOM), string(journal.OutcomeLimit):
		return r.Ended.Sub(r.Started) - time.Duration(r.DurationMS)*time.Millisecond
	}
	return 0
}

// Own gives notice of the run of this process. It is a [journal.Observer]; nothing it does makes its caller wait.
type Own struct {
	sender *Sender

	mu     sync.Mutex
	run    *runs.Run
	told   *episode
	timers [2]*time.Timer // of a long wait, and of a kill without a name
	closed bool
}

// NewOwn begins to look at a run.
func NewOwn(s *Sender, h runs.Header) *Own {
	h.Started = time.Now().UTC()
	return &Own{sender: s, run: runs.Follow(h), told: newEpisode()}
}

// Observe implements [journal.Observer]. Events from which no notice can come are left out: the run is kept elsewhere.
func (o *Own) Observe(rec journal.Record) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	switch e := rec.Event.(type) {
	case journal.Waiting:
		o.scheduleLook(&o.timers[0], LongWait)
	case journal.OOMKills:
		o.scheduleLook(&o.timers[1], nameWait)
	case journal.ToolServer:
		if e.State != "killed" {
			return
		}
	case journal.Admitted, journal.Refused, journal.RunStarted, journal.ChildKilled, journal.OOMDKills, journal.WindowLoop, journal.LimitReached, journal.Forgotten, journal.RunEnded:
	default:
		return
	}
	o.run.Observe(rec)
	o.giveNotices()
}

// scheduleLook looks at the run once more after a time, even if nothing happens until then. A timer in t that is running already stays.
func (o *Own) scheduleLook(t **time.Timer, after time.Duration) {
	if *t != nil {
		return
	}
	*t = time.AfterFunc(after+10*time.Millisecond, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		*t = nil
		if !o.closed {
			o.giveNotices()
		}
	})
}

// giveNotices gives the notices about what has happened in the run since the last call. The caller holds o.mu.
func (o *Own) giveNotices() {
	for _, n := range o.told.update(time.Now(), o.run) {
		o.sender.Give(n)
	}
}

// Close stops the notices, and waits at most wait for those that are being sent.
func (o *Own) Close(wait time.Duration) {
	o.mu.Lock()
	o.closed = true
	for _, t := range o.timers {
		if t != nil {
			t.Stop()
		}
	}
	o.mu.Unlock()
	o.sender.Close(wait)
}
