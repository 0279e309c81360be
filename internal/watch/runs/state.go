package runs

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// States of a run that lives, beside [Running], which is at work, and [Waiting], which stands in the queue.
const (
	// YourTurn waits for its user: the newest answer of a model ended the turn, and nothing was asked since.
	YourTurn = "waits_for_you"
	// Idle has shown no sign of use for a while: no request, no input at its terminal, no processor time. Its supervisor says so with
	// [journal.RunIdle], and with [journal.RunWoke] when that is over.
	Idle = "idle"
)

// DescribeState puts a state, or an outcome, into the words that a person reads.
func DescribeState(state string) string {
	if state == YourTurn {
		return "waits for you"
	}
	return state
}

// Condition returns the state of a run that lives, else its outcome.
func (e *Entry) Condition() string { return cmp.Or(e.State, e.Outcome) }

// use tells what a run is at, by its records.
type use struct {
	turn turn
	idle time.Time // since when it is idle; zero while it is used
}

// observe takes a record into account: whose turn it is, and since when the run is idle.
func (u *use) observe(r *journal.Record) {
	u.turn.observe(r)
	switch e := r.Event.(type) {
	case journal.RunIdle:
		u.idle = r.Time.Add(-e.For)
	case journal.RunWoke, journal.WindowRequest, journal.AgentQueryStarted:
		u.idle = time.Time{}
	}
}

// currentState returns the state of a run that has started, and when it began. talks is false for a run that has no user who is asked, and
// answers.
func (u *use) currentState(talks bool) (state string, since time.Time) {
	switch yours := u.turn.userTurnSince(); {
	case !u.idle.IsZero():
		return Idle, u.idle
	case talks && !yours.IsZero():
		return YourTurn, yours
	}
	return Running, time.Time{}
}

// writeTo writes the state into a sample, so that a reader of the last sample does not need the lines before it.
func (u *use) writeTo(s *Sample, began time.Time) {
	s.IdleMS, s.TurnMS = 0, 0
	switch yours := u.turn.userTurnSince(); {
	case !u.idle.IsZero():
		s.IdleMS = max(1, u.idle.Sub(began).Milliseconds())
	case !yours.IsZero():
		s.TurnMS = max(1, yours.Sub(began).Milliseconds())
	}
}

// readFrom takes the state from a sample, in place of all that was observed before.
func (u *use) readFrom(s *Sample, began time.Time) {
	*u = use{}
	if s.IdleMS > 0 {
		u.idle = began.Add(time.Duration(s.IdleMS) * time.Millisecond)
	}
	if s.TurnMS > 0 {
		u.turn.ended = began.Add(time.Duration(s.TurnMS) * time.Millisecond)
	}
}

// turn tells whose turn it is in a run: that of the model and its tools, or the user's.
type turn struct {
	ended time.Time       // when an answer ended the turn; zero while a tool is to be run
	asked map[uint64]bool // the requests that have no answer yet, by their numbers
}

// maxAsked bounds the requests without an answer; with more nothing is known of whose turn it is until the next ones.
const maxAsked = 256

// observe takes a record into account. A request that failed changes nothing: the client tries again, or has given up and leaves it to the
// user.
func (t *turn) observe(r *journal.Record) {
	switch e := r.Event.(type) {
	case journal.WindowRequest:
		if t.asked == nil || len(t.asked) >= maxAsked {
			t.asked = map[uint64]bool{}
		}
		t.asked[e.Request] = true
	case journal.WindowRefused:
		delete(t.asked, e.Request)
	case journal.WindowResponse:
		delete(t.asked, e.Request)
		switch {
		case e.EndsTurn:
			t.ended = r.Time
		case e.Status/100 == 2 && e.Ended == "complete":
			t.ended = time.Time{}
		}
	case journal.AgentQueryStarted:
		t.ended = time.Time{}
	case journal.AgentQueryEnded:
		t.ended = r.Time
	}
}

// userTurnSince returns since when the user has the turn; the zero time when they do not.
func (t *turn) userTurnSince() time.Time {
	if len(t.asked) > 0 {
		return time.Time{}
	}
	return t.ended
}

// hasUser reports whether runs of a kind have a user who is asked, and answers.
func hasUser(kind string) bool { return kind == KindRun || kind == KindChat }

// Requests follows the requests to models of a run as they are made. It is a [journal.Observer], and safe for concurrent use.
type Requests struct {
	mu   sync.Mutex
	made int64
	turn turn
}

// Observe implements [journal.Observer]: it counts requests and follows whose turn it is.
func (q *Requests) Observe(r journal.Record) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := r.Event.(journal.WindowRequest); ok {
		q.made++
	}
	q.turn.observe(&r)
}

// Count returns the number of requests so far, and whether the answer to one is under way.
func (q *Requests) Count() (n int64, underWay bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.made, len(q.turn.asked) > 0
}

// IdleRun is an idle run with the memory that it holds, in bytes.
type IdleRun struct {
	ID, Tool, Project string
	PID               int // of its plimsoll
	Bytes             int64
	Since             time.Time
}

// AsIdle returns the run of an entry as an idle run that holds so many bytes.
func (e *Entry) AsIdle(bytes int64) IdleRun {
	return IdleRun{ID: e.ID, Tool: e.Tool, Project: e.Project, PID: e.PID, Bytes: bytes, Since: e.StateSince}
}

// Forgotten are idle runs that together hold much of the machine's memory, the largest first.
type Forgotten struct {
	Runs  []IdleRun
	Bytes int64
	// Total is the memory of the machine.
	Total int64
}

// SumIdle sums up idle runs; much reports whether they hold more than a quarter of total.
func SumIdle(list []IdleRun, total int64) (f Forgotten, much bool) {
	f = Forgotten{Runs: slices.Clone(list), Total: total}
	sorting.StableBy(f.Runs, func(a, b IdleRun) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, r := range f.Runs {
		f.Bytes += r.Bytes
	}
	return f, total > 0 && f.Bytes > total/4
}

// IDs returns those of the runs, at most 64.
func (f Forgotten) IDs() (list []string) {
	for _, r := range f.Runs[:min(len(f.Runs), maxForgotten)] {
		list = append(list, r.ID)
	}
	return list
}

const (
	maxForgotten = 64
	// maxNamed bounds the runs that a sentence names.
	maxNamed = 3
)

// Sentence tells a person which runs these are, what they hold, since when, and how to end one.
func (f Forgotten) Sentence(now time.Time) string {
	var names []string
	for _, r := range f.Runs[:min(len(f.Runs), maxNamed)] {
		names = append(names, fmt.Sprintf("%s in %s (%s, idle for %s: kill %d)", printable.Name(r.Tool), printable.Name(r.Project), limit.Bytes(r.Bytes).Human(),
			printable.Duration(max(0, now.Sub(r.Since))), r.PID))
	}
	if more := len(f.Runs) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s %s, %d %% of this machine's memory: %s; plimsoll top shows them, and --idle-max ends such by itself",
		limit.Count(len(f.Runs), "idle run"), map[bool]string{true: "holds", false: "hold"}[len(f.Runs) == 1]+" "+limit.Bytes(f.Bytes).Human(),
		100*f.Bytes/max(f.Total, 1), strings.Join(names, ", "))
}

// toldFile has the IDs of the runs that somebody was told of, a line each.
const toldFile = "forgotten"

// WasTold reports whether the user was told of all these runs before. If not, it notes them in the state directory as told.
func (f Forgotten) WasTold(stateDir string) bool {
	path := filepath.Join(stateDir, toldFile)
	text, _ := statefile.Read(path, 64<<10)
	before := strings.Fields(string(text))
	ids := f.IDs()
	if !slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(before, id) }) {
		return true
	}
	_ = atomicfile.Write(path, []byte(strings.Join(ids, "\n")+"\n"), 0o600, atomicfile.Volatile) // at worst it is told once more
	return false
}
