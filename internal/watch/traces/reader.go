package traces

import (
	"encoding/json"
	"maps"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// readPiece is the number of bytes of a run's file are read at a time: its spans take some four times that.
const readPiece = 64 << 10

// reader turns the store of runs into spans.
type reader struct {
	s     *Sender
	store *runs.Store // nil while it cannot be opened
	// begun is LookBack before the reader began: spans that ended earlier are skipped and not counted as dropped.
	begun time.Time

	followed map[string]*followed
	finished map[string]time.Time // when runs ended that were read to their end
	version  uint64
	behind   bool // there is more to read than there was room for
}

// followed is a run whose file is read.
type followed struct {
	lines *runs.Follower
	fold  *fold // nil before the first line
	size  int64 // of the file, when it was read last
}

// newReader returns a reader that has read nothing, for a sender's store of runs.
func newReader(s *Sender) *reader {
	return &reader{s: s, begun: time.Now().Add(-LookBack), followed: map[string]*followed{}, finished: map[string]time.Time{}, behind: true}
}

// close closes the store, if it was opened.
func (r *reader) close() {
	if r.store != nil {
		_ = r.store.Close()
	}
}

// poll reads what was written to the store since the last call, as long as the queue has room for the spans.
func (r *reader) poll() {
	now := time.Now()
	if r.store == nil {
		store, err := runs.Open(r.s.o.StateDir)
		if err != nil {
			r.s.reportState(storeFails, err)
			return
		}
		r.store = store
	}
	err := r.store.Poll()
	if r.s.reportState(storeFails, err); err != nil {
		return
	}
	if n := r.s.queue.dropOlder(now.Add(-LookBack)); n > 0 {
		r.s.countDropped(n)
	}
	if !r.behind && r.store.Version() == r.version {
		return
	}
	r.version, r.behind = r.store.Version(), false
	defer r.s.queue.wake() // once, so that what comes together goes together
	seen := map[string]bool{}
	for _, run := range r.store.Live() {
		seen[run.ID] = true
		r.readRun(&run.Entry, false)
	}
	for _, e := range r.store.Ended(now.Add(-LookBack)) {
		seen[e.ID] = true
		r.readRun(&e, true)
	}
	maps.DeleteFunc(r.followed, func(id string, _ *followed) bool { return !seen[id] })
	maps.DeleteFunc(r.finished, func(_ string, at time.Time) bool { return at.Before(now.Add(-2 * LookBack)) })
}

// readRun reads the new lines of one run, and stops when the queue is half full.
func (r *reader) readRun(e *runs.Entry, ended bool) {
	if _, all := r.finished[e.ID]; all || r.s.sent.sent(e.ID, placeRun) {
		return
	}
	f := r.followed[e.ID]
	if f == nil {
		f = &followed{lines: r.store.Follow(e)}
		r.followed[e.ID] = f
	}
	if !ended && f.size == e.Bytes {
		return
	}
	for rest := true; rest; {
		if _, bytes := r.s.queue.size(); bytes > r.s.o.MaxQueue/2 {
			r.behind = true
			return
		}
		var err error
		if rest, err = f.lines.Next(readPiece, func(l runs.Line) { r.addLine(f, l) }); err != nil {
			break // it was cleaned up, or what has the name is no file of this user's
		}
	}
	f.size = e.Bytes
	if !ended {
		return
	}
	if f.fold != nil { // killed, and nobody has written its end yet
		died := e.Outcome == runs.Died
		f.fold.endRun(*e.Ended, died, e.Dropped, entryReport(e), func(s span) { r.queueSpan(f.fold, s) })
	}
	r.finished[e.ID] = *e.Ended
	delete(r.followed, e.ID)
}

// entryReport returns a report with the figures that the list has of a run, for a run without a report of its own.
func entryReport(e *runs.Entry) *journal.Report {
	return &journal.Report{ExitCode: e.ExitCode, Outcome: journal.Outcome(e.Outcome), PeakBytes: e.PeakBytes, LimitBytes: e.LimitBytes, OOMKills: e.OOMKills, MCP: e.MCP}
}

// addLine adds a line to the fold of its run, and puts the spans that end with it into the queue.
func (r *reader) addLine(f *followed, l runs.Line) {
	switch {
	case l.Header != nil && f.fold == nil:
		f.fold = newFold(l.Header, r.outermostRun(l.Header))
	case f.fold == nil:
	case l.Record != nil:
		f.fold.addRecord(l.Record, func(s span) { r.queueSpan(f.fold, s) })
	case l.End != nil:
		f.fold.endRun(l.End.Time, l.End.Died, l.End.Dropped, &l.End.Report, func(s span) { r.queueSpan(f.fold, s) })
	}
}

// outermostRun returns the ID of the outermost run around a run, its own when there is none.
func (r *reader) outermostRun(h *runs.Header) string {
	root, parent := h.ID, h.Parent
	for range 16 { // runs in runs in runs
		if parent == "" || parent == root {
			break
		}
		root, parent = parent, r.store.Parent(parent)
	}
	return root
}

// queueSpan puts a span into the queue, unless it ended before this reader began or was sent already. One older than LookBack is counted as
// dropped.
func (r *reader) queueSpan(f *fold, s span) {
	if s.end.Before(r.begun) || r.s.sent.sent(f.id, s.place) {
		return
	}
	if s.end.Before(time.Now().Add(-LookBack)) {
		r.s.countDropped(1)
		return
	}
	text, err := json.Marshal(s.spanMessage)
	if err != nil {
		r.s.countDropped(1) // a number that JSON has not
		return
	}
	if n := r.s.queue.push(queued{run: f.id, place: s.place, end: s.end, text: text}); n > 0 {
		r.s.countDropped(n)
	}
}
