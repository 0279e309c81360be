package rate

import (
	"context"
	"hash/fnv"
	"net/http"
	"sync"
	"time"
)

// A Share joins the runs of a host: they know together what providers let through, and their requests wait in one queue.
type Share struct {
	store *store
	mu    sync.Mutex
	lines map[string]*line

	team   Team // nil for a host of its own
	ending context.Context
	end    context.CancelFunc
	asking sync.WaitGroup
}

// Open returns the share whose files are in dir, which is created when it is needed; with "" the share is this process's alone. warn is
// called once, if the files cannot be used.
func Open(dir string, warn func(error)) *Share {
	return &Share{store: newStore(dir, warn), lines: map[string]*line{}}
}

// Close withdraws this process from the queues. The Share must not be used any more.
func (s *Share) Close() {
	if s.team != nil {
		s.end()
		s.asking.Wait()
	}
	s.store.close()
}

// Digest returns a name for a credential that does not reveal it: the same for all processes of this host, and different on other hosts
// unless [Share.Join] was called.
func (s *Share) Digest(credential string) string { return s.store.digest(credential) }

// fresh is the time for which a process goes by a look at a table without another.
const fresh = int64(time.Second)

// maxLines bounds the tables that a process knows.
const maxLines = 256

// A line is one queue: this process's knowledge about one table.
type line struct {
	share *Share
	name  string
	files sync.Mutex // held while own or the file is changed
	own   table      // used where there are no files

	mu      sync.Mutex
	seen    table // as it was last seen, with what answers have said since; without runs and tickets
	queue   bool  // somebody waited then
	at      int64 // when that was
	written int64 // when answers were last told to the others
	sent    int   // requests that were let through since and are not told
}

// hashRun returns the number by which tables name a run.
func hashRun(run string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(run))
	return h.Sum64()
}

// line returns the queue for a key, a new one if there is none. If there are too many, it first forgets all.
func (s *Share) line(key string) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[key]
	if l == nil {
		if len(s.lines) >= maxLines {
			clear(s.lines)
		}
		l = &line{share: s, name: key}
		s.lines[key] = l
	}
	return l
}

// now returns the time in nanoseconds since 1970.
func (l *line) now() int64 { return l.share.store.now().UnixNano() }

// change calls f with the table, under its lock: with the one that all processes share, or, without files, with its own.
func (l *line) change(f func(t *table, now int64)) {
	l.files.Lock()
	defer l.files.Unlock()
	st := l.share.store
	do := func(t *table) {
		now := l.now()
		t.advance(now)
		l.mu.Lock()
		t.countSent(l.sent)
		l.sent = 0
		l.mu.Unlock()
		f(t, now)
		l.askTeam(t, now)
		l.remember(t, now)
		l.written = now
	}
	if st.usable() {
		var t table
		err := st.markAlive()
		if err == nil {
			err = st.change(l.name, &t, func(t *table) {
				t.dropDead(l.now(), st.isAlive)
				do(t)
			})
		}
		if err == nil {
			return
		}
		st.recordFailure(err)
	}
	do(&l.own)
}

// remember keeps a copy of what tryPass needs of a table.
func (l *line) remember(t *table, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue, l.at = t.countWaiting() > 0, now
	l.seen.paused, l.seen.until, l.seen.refused, l.seen.newest, l.seen.buckets = t.paused, t.until, t.refused, t.newest, t.buckets
}

// tryPass lets a request pass without counting it in the shared table, if a moment ago there was plenty of room. It then counts the request
// in this process, for the next change of the table, and returns true. It returns false if its copy of the table is too old, somebody
// waits, or the provider has asked for a pause.
func (l *line) tryPass(sizes *[units]float64, now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now < l.at || now-l.at > fresh || l.queue || now < l.seen.until || !l.seen.hasPlenty(sizes) {
		return false
	}
	l.sent++
	return true
}

// readTable reads the table into t without locking it. It returns false if that is not possible now.
func (l *line) readTable(t *table) bool {
	st := l.share.store
	if !st.usable() {
		l.files.Lock()
		defer l.files.Unlock()
		*t = l.own
		t.runs, t.tickets = append([]service(nil), t.runs...), append([]ticket(nil), t.tickets...)
		t.advance(l.now())
		return true
	}
	ok, err := st.readTable(l.name, t)
	if err != nil {
		st.recordFailure(err)
		return false
	}
	if !ok {
		*t = table{}
	}
	return ok
}

// An Ask is a request that is to go to a provider.
type Ask struct {
	Key    string // what its provider counts together: of [Share.Digest]
	Run    string // the run, or whoever else is to have a fair share
	People bool   // a person waits for the answer
	Since  time.Time
	// Patience is the time after Since at which the request goes in any case.
	Patience time.Duration
	// Input and Output are its tokens, as far as they can be known.
	Input, Output int
	// Waits is called now and then while the request waits; nil is nobody.
	Waits func(Wait)
}

// A Wait says why a request waits: so much is left of an allowance, or of the pause that the provider asked for.
type Wait struct {
	Unit        Unit
	Left, Limit float64 // 0 where the provider has named no allowance
	Pause       time.Duration
}

// A Turn is a request that may go. One of Answered, Refused and Leave ends it.
type Turn struct {
	line *line
	id   uint64 // of its ticket; 0 where it need not be counted
	sent int64
	// Waited says that it stood in the queue, Forced that it goes though it is not its turn: what it is told is for its client.
	Waited, Forced bool
}

// sizes returns how much of each unit the request takes.
func (a *Ask) sizes() [units]float64 {
	in, out := float64(max(a.Input, 0)), float64(max(a.Output, 0))
	return [units]float64{Requests: 1, Tokens: in + out, Input: in, Output: out}
}

// Wait waits until the request may be sent: not at all if no allowance is known to be short, else until its turn, and at most for its
// patience. If the wait would be longer than that anyway it returns at once, because the provider can then refuse in its own words. The
// error is the context's.
func (s *Share) Wait(ctx context.Context, a Ask) (*Turn, error) {
	l, sizes := s.line(a.Key), a.sizes()
	now := l.now()
	if l.tryPass(&sizes, now) {
		return &Turn{line: l, sent: now}, nil
	}
	var t table
	if l.readTable(&t); len(t.tickets) == 0 || t.countWaiting() == 0 {
		t.advance(now)
		l.remember(&t, now)
		if l.tryPass(&sizes, now) {
			return &Turn{line: l, sent: now}, nil
		}
	}
	return s.waitInQueue(ctx, l, a, sizes)
}

// Answered ends the turn of a request that the provider accepted, with the headers of the answer.
func (t *Turn) Answered(h http.Header) {
	l, now := t.line, t.line.now()
	said, told := readHeaders(h, time.Unix(0, now))
	if t.id == 0 {
		if !told || !l.recordUncounted(&said, t.sent, now) {
			return
		}
	}
	l.change(func(x *table, now int64) {
		x.drop(t.id)
		x.recordAnswer(&said, t.sent, now)
		x.grant(now)
	})
}

// recordUncounted records the answer to a request that was not counted in the table, and reports whether others should be told.
func (l *line) recordUncounted(s *said, sent, now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.recordAnswer(s, sent, now)
	return now-l.written > fresh || now < l.written || !l.seen.hasPlenty(&[units]float64{1, 1, 1, 1})
}

// Refused ends the turn of a request that the provider refused with r.
func (t *Turn) Refused(status int, h http.Header, r Refusal) {
	t.line.change(func(x *table, now int64) {
		said, _ := readHeaders(h, time.Unix(0, now))
		x.drop(t.id)
		if !r.Final {
			x.recordRefusal(&said, r, status == http.StatusTooManyRequests, t.sent, now)
		}
		x.grant(now)
	})
}

// Leave ends the turn of a request that got no answer.
func (t *Turn) Leave() {
	if t.id != 0 {
		t.line.change(func(x *table, now int64) {
			x.drop(t.id)
			x.grant(now)
		})
	}
}
