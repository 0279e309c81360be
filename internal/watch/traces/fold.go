package traces

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// Bounds of what is held of one run.
const (
	maxOpen      = 256 // requests without an answer
	maxChatNotes = 16  // events of one request
	maxRunNotes  = 64  // events of the run
)

// Places of spans that no record closes, behind all that records do.
const (
	placeOpen = math.MaxUint64 - 1 // requests that had no answer when the run ended
	placeRun  = math.MaxUint64     // the run itself
)

// span is a span with the place in its run up to which it was read.
type span struct {
	place uint64
	end   time.Time
	spanMessage
}

// fold turns the lines of one run into spans, as they come.
type fold struct {
	id     string
	head   *runs.Header
	whole  ids  // of the run's own span, or of that of the run that this one is in
	own    bool // the run has a span of its own
	traced bool // its spans are in one trace
	parent string

	open     map[uint64]*request // requests to models, by number
	provider string
	model    string
	in, out  int64 // tokens
	cached   int64
	requests int64
	calls    int64
	made     int64 // compactions
	notes    []eventMessage
	ended    bool
}

// request is a request to a model that has no answer yet.
type request struct {
	seq   uint64
	at    time.Time
	sent  *journal.WindowRequest // nil before it is known
	notes []eventMessage
	made  bool // room was made in it
}

// newFold returns the fold of a run with this header. root is the ID of the outermost run around it: its own when there is none.
func newFold(h *runs.Header, root string) *fold {
	f := &fold{id: h.ID, head: h, open: map[uint64]*request{}}
	switch h.Kind {
	case runs.KindServe, runs.KindGateway:
		if h.Parent != "" { // a part of what its run does
			f.traced, f.whole = true, ids{runTraceID(root), spanID(h.Parent, runSpan)}
		}
	default:
		f.own, f.traced, f.whole = true, true, ids{runTraceID(root), spanID(h.ID, runSpan)}
		f.parent = h.Parent
	}
	return f
}

// addRecord takes in a record and calls give with each span that ends with it.
func (f *fold) addRecord(r *journal.Record, give func(span)) {
	switch e := r.Event.(type) {
	case journal.WindowRequest:
		if e.Request != 0 {
			q := f.openRequest(e.Request, r)
			q.sent, q.seq, q.at = &e, r.Seq, r.Time
		}
	case journal.WindowCompacted:
		f.addCompaction(r, &e)
	case journal.WindowOverflow:
		var a attributes
		a.addText("plimsoll.window.overflow.action", e.Action)
		a.addKnown("plimsoll.window.limit_tokens", e.LimitTokens)
		f.addRequestEvent(e.Request, r, "plimsoll.window.overflow", a)
	case journal.WindowResponse:
		give(f.chatSpan(r, &e))
	case journal.WindowRefused:
		if e.Request != 0 { // a request to a model that Plimsoll answered itself
			give(f.refusedSpan(r, &e))
		}
	case journal.ToolCalled:
		give(f.callSpan(r, &e))
	case journal.ToolRefused:
		give(f.refusedCallSpan(r, &e))
	case journal.AgentQueryEnded:
		give(f.querySpan(r, &e))
	case journal.ChildKilled:
		var a attributes
		a.addText("process.executable.name", e.Name)
		a.addKnown("plimsoll.memory.bytes", e.Bytes)
		a.addText("plimsoll.killed_by", e.By)
		f.addRunEvent(r.Time, "plimsoll.child_killed", a)
	case journal.LimitReached:
		var a attributes
		a.addText("plimsoll.limit.name", e.Name)
		a.addText("plimsoll.limit.action", e.Did)
		f.addRunEvent(r.Time, "plimsoll.limit_reached", a)
	case journal.MemoryRaised:
		var a attributes
		a.addKnown("plimsoll.memory.limit", e.ToBytes)
		a.addText("plimsoll.memory.raised_for", e.Why)
		f.addRunEvent(r.Time, "plimsoll.memory_raised", a)
	case journal.OOMDKills:
		f.addRunEvent(r.Time, "plimsoll.oomd_kill", nil)
	}
}

// openRequest returns the open request with this number, a new one when there is none. When too many are open the oldest is dropped.
func (f *fold) openRequest(number uint64, r *journal.Record) *request {
	if q := f.open[number]; q != nil {
		return q
	}
	if len(f.open) >= maxOpen {
		oldest := uint64(math.MaxUint64)
		for n := range f.open {
			oldest = min(oldest, n)
		}
		delete(f.open, oldest)
	}
	q := &request{seq: r.Seq, at: r.Time}
	f.open[number] = q
	return q
}

// closeRequest removes the open request with this number and returns it; an empty one if there is none.
func (f *fold) closeRequest(number uint64) *request {
	q := f.open[number]
	delete(f.open, number)
	if q == nil {
		q = &request{}
	}
	return q
}

// addCompaction counts a compaction, and adds an event to its request.
func (f *fold) addCompaction(r *journal.Record, e *journal.WindowCompacted) {
	f.made++
	var a attributes
	a.addText("plimsoll.window.reason", e.Reason)
	a.addText("plimsoll.window.boundary", e.Boundary)
	a.addNumber("plimsoll.window.before_tokens", e.Before)
	a.addNumber("plimsoll.window.after_tokens", e.After)
	a.addNumber("plimsoll.window.cut_bytes", e.CutBytes)
	a.addNumber("plimsoll.window.messages", int64(e.Messages))
	if e.Request != 0 {
		f.openRequest(e.Request, r).made = true
	}
	f.addRequestEvent(e.Request, r, "plimsoll.window.compacted", a)
}

// addRequestEvent adds an event to the request with this number, or to the run when that is 0. Beyond the bounds events are dropped.
func (f *fold) addRequestEvent(number uint64, r *journal.Record, name string, a attributes) {
	if number == 0 {
		f.addRunEvent(r.Time, name, a)
		return
	}
	if q := f.openRequest(number, r); len(q.notes) < maxChatNotes {
		q.notes = append(q.notes, eventMessage{r.Time.UnixNano(), name, a})
	}
}

// addRunEvent adds an event to the span of the run, unless that has maxRunNotes already.
func (f *fold) addRunEvent(at time.Time, name string, a attributes) {
	if len(f.notes) < maxRunNotes {
		f.notes = append(f.notes, eventMessage{at.UnixNano(), name, a})
	}
}

// newSpan returns a span that ends with a record. seq is the number from which its ID is made; place is the sequence number up to which the
// run's file has been read then.
func (f *fold) newSpan(place, seq uint64, name string, kind int, start, end time.Time) span {
	s := span{place: place, end: end}
	i := ids{f.whole.trace, spanID(f.id, seq)}
	if f.traced {
		s.ParentID = f.whole.spanHex()
	} else {
		i.trace = requestTraceID(f.id, seq)
	}
	if start.After(end) {
		start = end
	}
	s.TraceID, s.SpanID, s.Name, s.Kind, s.Start, s.End = i.traceHex(), i.spanHex(), name, kind, start.UnixNano(), end.UnixNano()
	return s
}

// setFailed marks a span as failed; kind is its error.type.
func (s *span) setFailed(kind string) {
	s.Attributes.addText("error.type", kind)
	s.Status = &statusMessage{statusError}
}

// spanName returns a span's name: the operation, and its object where that is known.
func spanName(operation, what string) string {
	if what = cleanText(what); what == "" {
		return operation
	}
	return operation + " " + what
}

// endRun calls give with the remaining spans when the run has ended: those of requests without an answer, and that of the run itself. died says that
// its writer was killed, and r is its report. Further calls do nothing.
func (f *fold) endRun(at time.Time, died bool, dropped int64, r *journal.Report, give func(span)) {
	if f.ended {
		return
	}
	f.ended = true
	for _, number := range slices.Sorted(maps.Keys(f.open)) {
		if q := f.open[number]; q.sent != nil {
			give(f.unansweredSpan(q, at))
		}
	}
	if f.own {
		give(f.wholeRunSpan(at, died, dropped, r))
	}
}
