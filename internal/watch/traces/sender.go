// Package traces sends what happened in runs as spans to an OpenTelemetry collector.
//
//	s, err := traces.Start(traces.Options{StateDir: dir, URL: "http://127.0.0.1:4318", Warn: warn})
//	defer s.Close()
//
// It reads the store of package internal/watch/runs, so no run ever waits for it: spans are sent by whichever `plimsoll serve` or `plimsoll
// watch` is there, of several by the one that holds the lock traces/lock. A run is a trace, with a span for each request to a model and each
// call of a tool, named by OpenTelemetry's conventions for generative AI and MCP. Ids come of the run's ID and the record's number: what is
// sent again is the same span. No argument of a command, no word of a conversation and no result gets into one.
//
// At most 4 MiB of spans wait, the oldest are dropped and counted. A collector that is busy or away is tried again, as late as Retry-After
// says or after 1 s up to a minute; what it took is written down in traces/sent.json. A [Sender] may be used from any goroutine.
package traces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// Dir is the sender's folder in the state directory.
	Dir      = "traces"
	lockName = "lock"
	// LookBack is the age up to which a span is still sent.
	LookBack = time.Hour
	// DefaultMaxQueue bounds the spans that wait, in bytes.
	DefaultMaxQueue = 4 << 20
	// DefaultTimeout bounds one request.
	DefaultTimeout = 10 * time.Second
	// maxBatch and maxBatchBytes bound one request.
	maxBatch      = 512
	maxBatchBytes = 1 << 20
	// closeWait bounds the time for which [Sender.Close] waits for the collector.
	closeWait = 2 * time.Second
	// saveEvery is the time between two writes of the positions while they change.
	saveEvery = 2 * time.Second
)

// Options of a [Sender].
type Options struct {
	// StateDir is the state directory, with the store of runs.
	StateDir string
	// URL is the collector's address, http or https. /v1/traces is added when it has no path.
	URL string
	// Version of this program, for the spans' resource.
	Version string
	// Warn is called once when sending begins to fail and once when it works again; it may be nil.
	Warn func(text string)
	// MaxQueue bounds the spans that wait, in bytes; 0 means DefaultMaxQueue.
	MaxQueue int
	// Timeout bounds a request; 0 means DefaultTimeout.
	Timeout time.Duration

	every   time.Duration // between looks at the store
	backoff time.Duration // after the first failure
}

// Stats counts the spans that a sender has handled since it began.
type Stats struct {
	// Sending is true when this sender is the one that sends; another process may be.
	Sending bool
	Sent    uint64
	// Dropped counts spans that found no room, got too old, or were in a refused request; Rejected those that the collector left out of a
	// request that it took.
	Dropped, Rejected uint64
	// Requests counts the requests that were made, Failures those that were not taken.
	Requests, Failures uint64
	// Queued is the number of spans that wait, QueuedBytes the memory that they take.
	Queued, QueuedBytes int
}

// Sender sends the spans of a state directory's runs.
type Sender struct {
	o        Options
	to       string
	client   *http.Client
	envelope envelope
	queue    *queue

	mu      sync.Mutex
	stats   Stats
	failing map[string]bool // what goes wrong and was told

	sent    *positions // set once the lock is held
	lock    *os.File
	stop    context.CancelFunc // of the reader
	abort   context.CancelFunc // of a request under way
	closing chan struct{}
	wg      sync.WaitGroup // of the reader
	poster  sync.WaitGroup
	once    sync.Once
}

// Start begins to send, in goroutines. The error is about the options or the state directory; a collector that does not answer is no error.
func Start(o Options) (*Sender, error) {
	to, err := endpoint(o.URL)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.StateDir, Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("what was sent of traces is written down in %s: %w", dir, err)
	}
	o.MaxQueue = cmp.Or(o.MaxQueue, DefaultMaxQueue)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	o.every = cmp.Or(o.every, time.Second)
	o.backoff = cmp.Or(o.backoff, time.Second)
	host, _ := os.Hostname()
	s := &Sender{o: o, to: to, client: newClient(o.Timeout), envelope: newEnvelope(o.Version, host), queue: newQueue(o.MaxQueue), failing: map[string]bool{}, closing: make(chan struct{})}
	reading, stop := context.WithCancel(context.Background())
	posting, abort := context.WithCancel(context.Background())
	s.stop, s.abort = stop, abort
	s.wg.Go(func() { s.readUntil(reading, dir) })
	s.poster.Go(func() { s.send(posting) })
	return s, nil
}

// Stats returns the counts so far.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.stats
	now.Queued, now.QueuedBytes = s.queue.size()
	return now
}

// Close sends the spans that wait, for at most two seconds, and stores the positions. Close of a nil Sender does nothing.
func (s *Sender) Close() error {
	if s == nil {
		return nil
	}
	var err error
	s.once.Do(func() {
		s.stop()
		timer := time.AfterFunc(closeWait, s.abort)
		s.wg.Wait()
		close(s.closing)
		s.poster.Wait()
		timer.Stop()
		s.abort()
		s.client.CloseIdleConnections()
		if s.lock != nil {
			err = errors.Join(s.sent.save(time.Now().Add(-2*LookBack)), filelock.Release(s.lock))
		}
	})
	return err
}

// readUntil polls the store until ctx ends, once this process has the lock, and saves the positions from time to time.
func (s *Sender) readUntil(ctx context.Context, dir string) {
	tick := time.NewTicker(s.o.every)
	defer tick.Stop()
	var r *reader
	defer func() {
		if r != nil {
			r.poll() // what came since the last time
			r.close()
		}
	}()
	for saved := time.Now(); ; {
		if r == nil && s.tryLock(dir) {
			r = newReader(s)
		}
		if r != nil {
			r.poll()
			if time.Since(saved) >= saveEvery {
				saved = time.Now()
				s.reportState(positionsFail, s.sent.save(saved.Add(-2*LookBack)))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tryLock tries to take the lock of the one process that sends, and reports whether it has it. With the lock it loads the positions.
func (s *Sender) tryLock(dir string) bool {
	f, err := statefile.Open(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		s.reportState(lockFails, err)
		return false
	}
	if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
		_ = f.Close()
		s.reportState(lockFails, err)
		return false
	}
	sent, err := loadPositions(dir, s.to)
	if err != nil {
		s.o.Warn("traces of the last hour may be sent again: " + err.Error())
	}
	s.lock, s.sent = f, sent
	s.mu.Lock()
	s.stats.Sending = true
	s.mu.Unlock()
	return true
}

// send sends the spans that wait, until the sender is closed or ctx ends.
func (s *Sender) send(ctx context.Context) {
	for {
		select {
		case <-s.queue.more:
			if !s.drain(ctx) {
				return
			}
		case <-s.closing:
			s.drain(ctx)
			return
		}
	}
}

// drain sends until no span waits. It returns false when the sender was closed before that.
func (s *Sender) drain(ctx context.Context) bool {
	wait := s.o.backoff
	for {
		batch, from := s.queue.peek(maxBatch, maxBatchBytes)
		if len(batch) == 0 {
			return true
		}
		out := post(ctx, s.client, s.to, s.envelope.body(batch), time.Now)
		if ctx.Err() != nil {
			return false // whether it was taken is not known, and it may be sent again
		}
		s.count(batch, out)
		if !out.again {
			s.queue.removeSent(from, len(batch))
			s.sent.advance(batch)
			wait = s.o.backoff
			continue
		}
		pause := time.NewTimer(max(wait, out.wait))
		wait = min(2*wait, time.Minute)
		select {
		case <-pause.C:
		case <-s.closing:
			pause.Stop()
			return false // it is sent when somebody starts again
		}
	}
}

// count adds the outcome of a request to the counts.
func (s *Sender) count(batch []queued, out outcome) {
	n := uint64(len(batch))
	s.mu.Lock()
	s.stats.Requests++
	switch {
	case out.again:
		s.stats.Failures++
	case out.why != nil && out.rejected == 0:
		s.stats.Failures++
		s.stats.Dropped += n
	default:
		rejected := min(uint64(out.rejected), n)
		s.stats.Rejected += rejected
		s.stats.Sent += n - rejected
	}
	s.mu.Unlock()
	s.reportState(collectorFails, out.why)
}

// What can go wrong.
const (
	collectorFails = "collector"
	storeFails     = "store"
	lockFails      = "lock"
	positionsFail  = "positions"
)

// reportState warns when a part of the sending begins to fail, with why as the reason, and once more when it works again, which why nil says.
func (s *Sender) reportState(part string, why error) {
	s.mu.Lock()
	changed := s.failing[part] != (why != nil)
	s.failing[part] = why != nil
	lost := s.stats.Dropped
	s.mu.Unlock()
	if !changed {
		return
	}
	switch {
	case part == collectorFails && why == nil:
		s.o.Warn(fmt.Sprintf("traces are taken by %s again; %d spans were dropped since the start", s.to, lost))
	case part == collectorFails:
		s.o.Warn(fmt.Sprintf("traces are not taken by %s: %v. What can be sent later waits, at most an hour and %s; runs are none the worse for it", s.to, why, limit.Bytes(s.o.MaxQueue).Human()))
	case part == positionsFail && why != nil:
		s.o.Warn(fmt.Sprintf("what was sent of traces cannot be written down, so after a restart it is sent again: %v", why))
	case why != nil:
		s.o.Warn(fmt.Sprintf("traces cannot be sent now: %v", why))
	}
}

// countDropped counts n spans that are not sent.
func (s *Sender) countDropped(n int) {
	s.mu.Lock()
	s.stats.Dropped += uint64(n)
	s.mu.Unlock()
}
