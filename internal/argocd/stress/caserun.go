package stress

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	// maxErrorsInRow is the number of errors in a row that end a case: the server is gone.
	maxErrorsInRow = 10
	// samplePause is the pause between two looks at the memory.
	samplePause = 20 * time.Millisecond
	// parts is the number of parts of a case whose memory is compared.
	parts = 10
)

// caseRun is one test case while it runs.
type caseRun struct {
	target Target
	o      Options

	mu       sync.Mutex
	times    []time.Duration
	errors   int
	inRow    int
	largest  int
	problem  string // the first
	notes    []string
	skipped  bool
	peak     int64
	memory   [parts]struct{ sum, n int64 }
	unseen   string // why memory is not known
	halted   bool
	division atomic.Int32 // which part it is in
}

// callTool makes one call, and notes how long it took and how large the answer was. A failed call and an answer that is too large are noted
// as errors; ok is true if the answer is good for more tests. It makes no call after the case has been given up.
func (c *caseRun) callTool(ctx context.Context, tool string, args map[string]any) (Answer, bool) {
	if c.isFinished(ctx) {
		return Answer{}, false
	}
	if c.o.Instance != "" {
		args["instance"] = c.o.Instance
	}
	begin := time.Now()
	a, err := c.target.Call(ctx, tool, args)
	took := time.Since(begin)
	if a.Bytes == 0 {
		a.Bytes = len(a.Text)
	}
	c.mu.Lock()
	c.times = append(c.times, took)
	c.largest = max(c.largest, a.Bytes)
	c.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return a, false
	case err != nil:
		c.noteError("%s: %v", tool, err)
		return a, false
	case a.Bytes > int(c.o.MaxResponse):
		c.noteError("%s: an answer of %d bytes on the wire, over %d", tool, a.Bytes, int(c.o.MaxResponse))
		return a, false
	}
	return a, true
}

// noteSuccess counts the last answer as correct.
func (c *caseRun) noteSuccess() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inRow = 0
}

// noteError counts an error and notes the first. After maxErrorsInRow in a row the case is given up.
func (c *caseRun) noteError(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errors++
	c.inRow++
	if c.problem == "" {
		c.problem = shorten(fmt.Sprintf(format, args...))
	}
	if c.inRow >= maxErrorsInRow {
		c.halted = true
	}
}

// isFinished reports whether the case should stop.
func (c *caseRun) isFinished(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.halted || ctx.Err() != nil
}

// note adds to what is said of the case, skip says why it cannot be played.
func (c *caseRun) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

func (c *caseRun) skipCase(format string, args ...any) {
	c.note(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.skipped = true
}

// sampleMemory samples the server's memory in a goroutine until stop is called, and once more then.
func (c *caseRun) sampleMemory() (stop func()) {
	if c.target.Memory == nil {
		return func() {}
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(samplePause)
		defer t.Stop()
		for {
			c.sampleNow()
			select {
			case <-end:
				return
			case <-t.C:
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		c.sampleNow()
	}
}

// sampleNow takes one sample of the server's memory, for the part of the case that is running now. Without a Target.Memory it does nothing.
func (c *caseRun) sampleNow() {
	if c.target.Memory == nil {
		return
	}
	n, err := c.target.Memory()
	part := c.division.Load()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.unseen = shorten(err.Error())
		return
	}
	c.peak = max(c.peak, n)
	c.memory[part].sum += n
	c.memory[part].n++
}

// reportDone reports how much of the case is done.
func (c *caseRun) reportDone(done, all int) {
	part := int32(min(parts-1, done*parts/max(1, all)))
	if c.division.Swap(part) != part {
		c.sampleNow() // so that also a short part has been looked at
	}
}

// memoryMeans compares the mean memory of the second part with that of the last; the first part fills caches and pools. ok is false if it was not
// measured.
func (c *caseRun) memoryMeans() (from, to int64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, b := c.memory[1], c.memory[parts-1]
	if a.n == 0 || b.n == 0 {
		return 0, 0, false
	}
	return a.sum / a.n, b.sum / b.n, true
}

// summary returns the row of the case in the report, with the problems first. Memory above Options.MaxMemory makes it not OK.
func (c *caseRun) summary(name string) Row {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.times)
	r := Row{
		Case: name, Requests: len(c.times), Errors: c.errors, P50: quantile(c.times, 50), P95: quantile(c.times, 95),
		PeakBytes: c.peak, MaxResponse: c.largest, Skipped: c.skipped && c.errors == 0, OK: c.errors == 0,
	}
	notes := c.notes
	if c.problem != "" {
		notes = append([]string{c.problem}, notes...)
	}
	if c.halted {
		notes = append(notes, fmt.Sprintf("given up after %d errors in a row", maxErrorsInRow))
	}
	if maxBytes := c.o.MaxMemory; maxBytes > 0 && c.peak > int64(maxBytes) {
		r.OK = false
		notes = append(notes, fmt.Sprintf("RssAnon %s is over %s", limit.Bytes(c.peak).Human(), maxBytes.Human()))
	}
	if c.unseen != "" {
		notes = append(notes, "memory was not seen: "+c.unseen)
	}
	for i, n := range notes {
		if i > 0 {
			r.Note += "; "
		}
		r.Note += n
	}
	return r
}

// quantile returns a quantile of what is sorted, nearest rank.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

// shorten shortens what a server said to what fits into a table.
func shorten(s string) string {
	return limit.ShortRunes(s, 161)
}
