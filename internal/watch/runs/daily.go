package runs

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// Daily writes what happens in a process that lives long: one file for each day (UTC) on which something happened. It is a
// [journal.Observer] and safe for concurrent use.
type Daily struct {
	o     Options
	head  Header
	newID func() string
	fail  func(error)

	mu       sync.Mutex
	writer   *Writer
	reporter *journal.Reporter
	ended    bool
	ending   sync.WaitGroup
}

// BeginDaily begins the first file. newID returns the ID for each later one. fail is called with the error of a file that is not complete;
// it may be nil.
func BeginDaily(o Options, h Header, newID func() string, fail func(error)) *Daily {
	if o.now == nil {
		o.now = time.Now
	}
	if fail == nil {
		fail = func(error) {}
	}
	return &Daily{o: o, head: h, newID: newID, fail: fail, writer: Begin(o, h), reporter: journal.NewReporter(h.Report)}
}

// Observe implements [journal.Observer]. On a new day it ends the file of the last one and begins another.
func (d *Daily) Observe(r journal.Record) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	if d.o.now().UTC().Format(dayForm) != d.writer.day {
		d.endSegment()
		next := d.head
		next.ID = d.newID()
		d.writer, d.reporter = Begin(d.o, next), journal.NewReporter(d.head.Report)
	}
	d.reporter.Observe(r)
	d.writer.Observe(r)
}

// endSegment ends the file of a day as one that ended well, in a goroutine, because the index may be locked. The caller holds mu.
func (d *Daily) endSegment() {
	w, report := d.writer, d.reporter.Report()
	report.Outcome = journal.OutcomeOK
	report.DurationMS = time.Since(w.began).Milliseconds()
	d.ending.Go(func() {
		if err := w.End(report); err != nil {
			d.fail(err)
		}
	})
}

// End ends the last file with this outcome, and waits until earlier files are written. Later records are dropped.
func (d *Daily) End(outcome journal.Outcome) {
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return
	}
	d.ended = true
	w, report := d.writer, d.reporter.Report()
	d.mu.Unlock()
	report.Outcome = outcome
	report.DurationMS = time.Since(w.began).Milliseconds()
	if err := w.End(report); err != nil {
		d.fail(err)
	}
	d.ending.Wait()
}
