package compact

import (
	"context"
	"errors"
	"sync"
	"time"
)

// The outcomes of a [Summary].
const (
	SummaryWritten  = "written"
	SummaryFailed   = "failed"    // the summarizer failed, or what it wrote is no summary
	SummaryTimedOut = "timed_out" // it took longer than Options.SummaryTimeout
	SummarySkipped  = "skipped"   // it was not asked: it failed a moment ago
)

// A Summary is the outcome of one attempt to get a summary from a model.
type Summary struct {
	Outcome string
	Took    time.Duration
	// Rest is the time for which the summarizer is not asked from now on; 0 when it goes on being asked.
	Rest time.Duration
	Err  error // nil of one that was written; it holds no text of the conversation
}

// How long a summarizer that fails is left alone: every compaction would wait for it otherwise, up to 20 seconds with a
// request in hand. One that hangs costs the most and is left alone at once, one that fails is asked a second time.
const (
	summaryFailures = 2
	firstRest       = time.Minute
	longestRest     = 30 * time.Minute
)

// errResting means that the summarizer was not asked, because it failed a moment ago.
var errResting = errors.New("compact: the model that writes summaries failed a moment ago and is left alone for a while")

// A SummaryBreaker keeps a summarizer that hangs or fails from being asked: for a minute, and for twice as long after each failure that
// follows, up to half an hour. After that one compaction tries it. Compactors with the same summarizer share one. The zero value is ready;
// it is safe for concurrent use.
type SummaryBreaker struct {
	mu       sync.Mutex
	failures int // in a row
	rest     time.Duration
	until    time.Time
	trying   bool // one compaction asks, the others do without
}

// Try reports whether the summarizer may be asked; if so, the caller calls Done afterwards.
func (b *SummaryBreaker) Try() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.rest == 0:
		return true
	case b.trying || time.Now().Before(b.until):
		return false
	}
	b.trying = true
	return true
}

// Done records the outcome of asking, one of those of a [Summary], and returns for how long the summarizer is not to be asked now, or 0.
func (b *SummaryBreaker) Done(outcome string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch outcome {
	case SummaryWritten:
		b.failures, b.rest = 0, 0
		return 0
	case SummarySkipped:
		return 0
	}
	b.failures++
	if outcome != SummaryTimedOut && b.failures < summaryFailures && b.rest == 0 {
		return 0
	}
	b.rest = min(max(2*b.rest, firstRest), longestRest)
	b.until = time.Now().Add(b.rest)
	return b.rest
}

// askSummarizer calls ask with a time limit and reports the outcome. It returns ask's error, or errResting without calling it while the
// summarizer is not to be asked.
func (w *work) askSummarizer(ask func(context.Context) error) error {
	if !w.c.o.Breaker.Try() {
		w.c.reportSummary(Summary{Outcome: SummarySkipped, Err: errResting})
		return errResting
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(w.ctx, w.c.o.SummaryTimeout)
	defer cancel()
	err := ask(ctx)
	s := Summary{Outcome: SummaryWritten, Took: time.Since(began), Err: err}
	switch {
	case err == nil:
	case w.ctx.Err() != nil:
		s.Outcome = SummarySkipped // nobody waits for it any more; that says nothing about the summarizer
	case ctx.Err() != nil:
		s.Outcome = SummaryTimedOut
	default:
		s.Outcome = SummaryFailed
	}
	s.Rest = w.c.o.Breaker.Done(s.Outcome)
	w.c.reportSummary(s)
	return err
}

// reportSummary passes s to Options.Summaries, if that is set.
func (c *Compactor) reportSummary(s Summary) {
	if c.o.Summaries != nil {
		c.o.Summaries(s)
	}
}
