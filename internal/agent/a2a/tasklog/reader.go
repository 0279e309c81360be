package tasklog

import (
	"context"
	"io"
)

// Reader is a client's position in a log. One goroutine at a time may use it.
type Reader struct {
	log    *Log
	pos    uint64 // the number read last
	closed bool
}

// Read returns a reader that begins behind the event with the number after; 0 is the beginning. Its errors are [ErrAhead] for a number not
// reached yet, [ErrReaders] for too many readers, and [ErrRemoved].
func (l *Log) Read(after uint64) (*Reader, error) {
	r, err := l.addReader(func(last uint64) (uint64, error) {
		if after > last {
			return 0, ErrAhead
		}
		return after, nil
	})
	l.journalNotices()
	return r, err
}

// Subscribe returns a reader that begins behind the newest event. Before, it calls snapshot, unless nil, with the number of that event
// while nothing can be appended: so the task that snapshot sees and the events of the reader fit together. snapshot must be quick and must
// not call the log.
func (l *Log) Subscribe(snapshot func(last uint64)) (*Reader, error) {
	r, err := l.subscribe(snapshot)
	l.journalNotices()
	return r, err
}

// subscribe returns a reader after the newest event. While no event can be published, it calls snapshot, unless nil, with that event's
// number.
func (l *Log) subscribe(snapshot func(last uint64)) (*Reader, error) {
	l.order.Lock()
	defer l.order.Unlock()
	r, err := l.addReader(func(last uint64) (uint64, error) { return last, nil })
	if err != nil || snapshot == nil {
		return r, err
	}
	done := false
	defer func() {
		if !done { // a panic: its caller gets no reader to close
			r.Close()
		}
	}()
	snapshot(r.pos)
	done = true
	return r, nil
}

// addReader returns a reader after the event whose number where returns; where is called with the number of the newest event. It counts the
// reader and ends an episode without readers.
func (l *Log) addReader(where func(last uint64) (uint64, error)) (*Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		return nil, ErrRemoved
	}
	pos, err := where(l.last)
	if err != nil {
		return nil, err
	}
	if l.readers >= l.set.options.MaxReaders {
		l.stats.Refused++
		l.set.counts.readersRefused.Add(1)
		return nil, ErrReaders
	}
	l.readers++
	l.heard = true
	l.set.counts.readers.Add(1)
	if l.episode.open && l.episode.why == Unread {
		l.endEpisode()
	}
	return &Reader{log: l, pos: pos}, nil
}

// Position returns the number of the event that was read last.
func (r *Reader) Position() uint64 { return r.pos }

// Snapshot moves the reader behind the newest event, and calls f with its number as [Log.Subscribe] does. Call it after a [Gap].
func (r *Reader) Snapshot(f func(last uint64)) error {
	l := r.log
	l.order.Lock()
	defer l.order.Unlock()
	l.mu.Lock()
	last, gone := l.last, l.removed || r.closed
	l.mu.Unlock()
	if gone {
		return ErrRemoved
	}
	r.pos = last
	if f != nil {
		f(last)
	}
	return nil
}

// Next waits for the next event. It returns a record, or a gap of numbers whose events are no longer kept, or an error: that of ctx,
// [ErrRemoved], or io.EOF when the task has ended and all of it was read.
func (r *Reader) Next(ctx context.Context) (Record, Gap, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Record{}, Gap{}, err
		}
		rec, gap, wait, err := r.tryNext()
		if wait == nil {
			return rec, gap, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
}

// tryNext is Next without waiting. If there is nothing to read, it returns a channel that is closed as soon as there may be; otherwise the
// channel is nil.
func (r *Reader) tryNext() (Record, Gap, <-chan struct{}, error) {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed || r.closed {
		return Record{}, Gap{}, nil, ErrRemoved
	}
	to := l.last // without a record, all numbers up to here are gone
	rec := l.ring.findAfter(r.pos)
	if rec != nil {
		to = rec.Seq - 1
	}
	switch {
	case r.pos < to:
		gap := Gap{From: r.pos + 1, To: to}
		r.pos = to
		l.set.counts.gaps.Add(1)
		return Record{}, gap, nil, nil
	case rec != nil:
		r.pos = rec.Seq
		return *rec, Gap{}, nil, nil
	case l.ended:
		return Record{}, Gap{}, nil, io.EOF
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return Record{}, Gap{}, l.wake, nil
}

// Close ends the reader and frees its slot. It may be called twice, but not while Next runs.
func (r *Reader) Close() {
	l := r.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	l.readers--
	l.set.counts.readers.Add(-1)
}
