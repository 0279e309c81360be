// Package background has summaries written while a conversation goes on, for the proxy: by the provider's own compaction (package native)
// or by a model with a key of its own. No request waits for them.
//
// There is one job a conversation and a few at once, of minutes at most. What a job holds, and its result until it is taken, is charged to
// the caller's memory; a job that finds no place is not begun. Nothing is written to disk. A provider or model that fails is left alone
// for a while by compact.SummaryBreaker, a conversation that fails by itself, and a refusal for good (native.Refused) counts for a day. Of
// each a bounded number is known. A [Jobs] may be used from any goroutine.
package background

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/native"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// The defaults of [Options], and the bounds of what is remembered.
const (
	DefaultAtOnce   = 4
	DefaultDeadline = 5 * time.Minute

	maxResults     = 64
	maxResultBytes = 8 << 20
	maxRemembered  = 512
	refusedFor     = 24 * time.Hour
)

// Memory is the budget that jobs take the bytes they hold from.
type Memory interface {
	// Take reserves n bytes, and reports whether there were as many. It never waits.
	Take(n int64) bool
	// Give releases n bytes that Take has reserved.
	Give(n int64)
}

// Options of [New]. Zero means the default.
type Options struct {
	// AtOnce is the number of jobs that run at a time, Deadline the longest one may take.
	AtOnce   int
	Deadline time.Duration
	// Memory is charged with what jobs and results hold; nil means no bound.
	Memory Memory
}

// An Answer is the outcome of one request for a summary.
type Answer struct {
	// Messages stand in place of those that the job covers, as elements of the list of messages: what a provider made. Text is a
	// summary in words: what a model wrote. One of them is set.
	Messages [][]byte
	Text     string
	// Usage is the tokens used, also beside an error.
	Usage wire.Usage
}

// bytes returns the memory that the answer holds.
func (a *Answer) bytes() (n int64) {
	n = int64(len(a.Text))
	for _, m := range a.Messages {
		n += int64(len(m))
	}
	return n
}

// A Job is a summary that is wanted.
type Job struct {
	Key  string // names the conversation and its owner
	Whom string // names who is asked: a refusal or a failure counts for all jobs with the same Whom
	// Covers is the number of the client's messages in the summary, Client the chain digest of the last of them and Sent that of the
	// last message that was sent for them.
	Covers       int
	Client, Sent tokens.Digest
	// Size is the number of bytes the job holds while it runs, with the answer.
	Size int64
	// Ask writes the summary. It must return when its context ends; then all that the job holds is free. Its error holds no text of the
	// conversation.
	Ask func(context.Context) (Answer, error)
	// Told, if not nil, is called with the outcome, from the goroutine of the job.
	Told func(Outcome)
}

// A Result is a summary that is ready.
type Result struct {
	Answer
	Covers       int
	Client, Sent tokens.Digest
	At           time.Time
}

// Refused is the outcome of a job whose asker said that it never will; the other outcomes are those of [compact.Summary].
const Refused = "refused"

// An Outcome is the end of a job.
type Outcome struct {
	Outcome string
	Took    time.Duration
	Rest    time.Duration // for which whoever was asked is not asked again
	Usage   wire.Usage
	Err     error // nil of one that was written
}

// Jobs are the summaries that are being written and those that are ready.
type Jobs struct {
	o       Options
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	busy    map[string]bool // by key
	refused remembered[time.Time]
	asked   remembered[*compact.SummaryBreaker] // by whom
	about   remembered[*compact.SummaryBreaker] // by key
	ready   remembered[Result]
	held    int64 // of ready
	closed  bool
}

// New returns Jobs. Close ends them.
func New(o Options) *Jobs {
	o.AtOnce = cmp.Or(max(o.AtOnce, 0), DefaultAtOnce)
	o.Deadline = cmp.Or(max(o.Deadline, 0), DefaultDeadline)
	ctx, end := context.WithCancel(context.Background())
	return &Jobs{o: o, ctx: ctx, end: end, busy: map[string]bool{}}
}

// Start begins a job in a goroutine and reports whether it did. It does not if a job of that key runs or its result is ready, when AtOnce
// others run or memory is short, after Close, or while job.Whom is not to be asked because of earlier failures.
func (j *Jobs) Start(job Job) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ready := j.ready.get(job.Key)
	if j.closed || ready || j.busy[job.Key] || len(j.busy) >= j.o.AtOnce || j.refusedLocked(job.Whom) {
		return false
	}
	about, asked := breakerOf(&j.about, job.Key), breakerOf(&j.asked, job.Whom)
	if !about.Try() {
		return false
	}
	if !asked.Try() {
		about.Done(compact.SummarySkipped)
		return false
	}
	if !j.reserveMemory(job.Size) {
		about.Done(compact.SummarySkipped)
		asked.Done(compact.SummarySkipped)
		return false
	}
	j.busy[job.Key] = true
	j.running.Go(func() { j.runJob(job, about, asked) })
	return true
}

// Refused reports whether whom has refused for good within the last day, so that no job asks it.
func (j *Jobs) Refused(whom string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refusedLocked(whom)
}

// refusedLocked is Refused for a caller that holds j.mu.
func (j *Jobs) refusedLocked(whom string) bool {
	until, ok := j.refused.get(whom)
	return ok && time.Now().Before(until)
}

// Running reports whether a job of that key runs.
func (j *Jobs) Running(key string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.busy[key]
}

// Ready returns the finished summary of a key; false if there is none. It stays until Take removes it or newer ones push it out.
func (j *Jobs) Ready(key string) (Result, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ready.get(key)
}

// Take removes and returns the finished summary of a key; false if there is none.
func (j *Jobs) Take(key string) (Result, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	r, ok := j.ready.remove(key)
	if ok {
		j.freeResult(&r)
	}
	return r, ok
}

// Close ends all jobs and waits for them. What they were about to deliver is lost.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.end()
	j.running.Wait()
}

// runJob does a job within the deadline, records the outcome for the breakers, stores the summary for Take, and calls job.Told.
func (j *Jobs) runJob(job Job, about, asked *compact.SummaryBreaker) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(j.ctx, j.o.Deadline)
	defer cancel()
	answer, err := job.Ask(ctx)
	if err == nil && len(answer.Messages) == 0 && answer.Text == "" {
		err = &native.NoSummary{Why: "it is empty"}
	}
	o := Outcome{Outcome: compact.SummaryWritten, Took: time.Since(began), Usage: answer.Usage, Err: err}
	ofKey, ofWhom := compact.SummaryWritten, compact.SummaryWritten
	_, refused := errors.AsType[*native.Refused](err)
	_, none := errors.AsType[*native.NoSummary](err)
	_, unsuited := errors.AsType[*native.Unsuited](err)
	switch {
	case err == nil:
	case j.ctx.Err() != nil: // that says nothing about anybody
		o.Outcome, ofKey, ofWhom = compact.SummarySkipped, compact.SummarySkipped, compact.SummarySkipped
	case refused:
		o.Outcome, o.Rest, ofKey, ofWhom = Refused, refusedFor, compact.SummarySkipped, compact.SummarySkipped
	case none, unsuited: // whoever was asked is well; the next request of the conversation would hear the same
		o.Outcome, ofKey, ofWhom = compact.SummaryFailed, compact.SummaryTimedOut, compact.SummaryWritten
		if unsuited {
			ofWhom = compact.SummarySkipped // nobody was asked
		}
	case ctx.Err() != nil:
		o.Outcome, ofKey, ofWhom = compact.SummaryTimedOut, compact.SummarySkipped, compact.SummaryTimedOut
	default:
		o.Outcome, ofKey, ofWhom = compact.SummaryFailed, compact.SummarySkipped, compact.SummaryFailed
	}
	j.mu.Lock()
	delete(j.busy, job.Key)
	j.freeMemory(job.Size)
	if refused {
		j.refused.put(job.Whom, time.Now().Add(refusedFor), maxRemembered)
	}
	about.Done(ofKey)
	if rest := asked.Done(ofWhom); rest > 0 {
		o.Rest = rest
	}
	if err == nil && !j.closed {
		j.keepResult(job, answer)
	}
	j.mu.Unlock()
	if job.Told != nil {
		job.Told(o)
	}
}

// keepResult stores a result for Take, in the place of an older one of its key, and drops the oldest others when there are too many. If
// there is no memory for it, it is lost. The caller has the lock.
func (j *Jobs) keepResult(job Job, answer Answer) {
	r := Result{Answer: answer, Covers: job.Covers, Client: job.Client, Sent: job.Sent, At: time.Now()}
	n := answer.bytes()
	if !j.reserveMemory(n) {
		return
	}
	for len(j.ready.order) > 0 && (len(j.ready.order) >= maxResults || j.held+n > maxResultBytes) {
		old, _ := j.ready.remove(j.ready.order[0])
		j.freeResult(&old)
	}
	j.held += n
	j.ready.put(job.Key, r, maxResults)
}

// freeResult gives back the memory of a result that was removed. The caller holds j.mu.
func (j *Jobs) freeResult(r *Result) {
	n := r.bytes()
	j.held -= n
	j.freeMemory(n)
}

// reserveMemory takes n bytes from Options.Memory and reports whether there were as many; true without such a bound.
func (j *Jobs) reserveMemory(n int64) bool { return j.o.Memory == nil || n <= 0 || j.o.Memory.Take(n) }

// freeMemory gives n bytes back to Options.Memory.
func (j *Jobs) freeMemory(n int64) {
	if j.o.Memory != nil && n > 0 {
		j.o.Memory.Give(n)
	}
}

// breakerOf returns the breaker stored under a name; it stores a new one if there is none.
func breakerOf(breakers *remembered[*compact.SummaryBreaker], name string) *compact.SummaryBreaker {
	b, ok := breakers.get(name)
	if !ok {
		b = &compact.SummaryBreaker{}
		breakers.put(name, b, maxRemembered)
	}
	return b
}

// A remembered is a map of bounded size that forgets its oldest entries. The zero value is empty.
type remembered[V any] struct {
	of    map[string]V
	order []string // keys, the oldest first
}

// get returns the value of a key; false if there is none.
func (m *remembered[V]) get(key string) (V, bool) {
	v, ok := m.of[key]
	return v, ok
}

// put stores v under a key as the newest value. Beyond most values the oldest are dropped.
func (m *remembered[V]) put(key string, v V, most int) {
	m.remove(key)
	for len(m.order) >= most {
		m.remove(m.order[0])
	}
	if m.of == nil {
		m.of = map[string]V{}
	}
	m.of[key] = v
	m.order = append(m.order, key)
}

// remove removes and returns the value of a key; false if there is none.
func (m *remembered[V]) remove(key string) (V, bool) {
	v, ok := m.of[key]
	if ok {
		delete(m.of, key)
		m.order = slices.DeleteFunc(m.order, func(k string) bool { return k == key })
	}
	return v, ok
}
