package server

// This file decides which events of a stream are kept for a client that comes back, and for how long. The caller of every
// function holds the session's mutex.

const (
	// maxEnded bounds the ended streams of a session that are kept for a client that comes back.
	maxEnded = 32
	// maxUnread bounds the events that wait for a client that has no stream open yet.
	maxUnread = 64
)

// reserve reports whether there is room for n more bytes, and counts them. To make room it drops events that were already written. A stream
// without a reader gets a quarter of its session's share.
func (st *stream) reserve(n int64) bool {
	s := st.s
	share := s.h.o.MaxStoredSession
	if st.reader == nil {
		if !st.resumable || len(st.events)-st.next >= maxUnread {
			return false
		}
		share /= 4
	}
	for s.stored+n > share {
		if !s.dropOldest(st) {
			return false
		}
	}
	for s.h.stored.used.Add(n) > s.h.stored.max {
		s.h.stored.used.Add(-n)
		if !s.dropOldest(st) {
			return false
		}
	}
	s.stored += n
	return true
}

// dropOldest drops the session's oldest ended stream, or else the oldest event that was written on st. It returns false if there is neither.
func (s *session) dropOldest(st *stream) bool {
	if len(s.ended) > 0 {
		s.ended[0].discard()
		s.ended = s.ended[1:]
		return true
	}
	if st.next > 0 {
		st.dropFirst()
		return true
	}
	return false
}

// dropFirst drops the oldest event of the stream, and subtracts it from the counts of stored bytes.
func (st *stream) dropFirst() {
	s, n := st.s, int64(len(st.events[0].data))
	if st.next > 0 {
		st.next--
		s.kept -= n
		s.h.stored.kept.Add(-n)
	}
	s.stored -= n
	s.h.stored.used.Add(-n)
	st.events[0] = event{}
	st.events = st.events[1:]
}

// markWritten records that the next event was written to the client. With keep, it is kept in case the client asks for it again; such events take
// at most half of the bounds.
func (st *stream) markWritten(keep bool) {
	s := st.s
	n := int64(len(st.events[st.next].data))
	st.next++
	s.kept += n
	s.h.stored.kept.Add(n)
	if !keep || !st.resumable {
		for st.next > 0 {
			st.dropFirst()
		}
		return
	}
	for st.next > 0 && (s.kept > s.h.o.MaxStoredSession/2 || s.h.stored.kept.Load() > s.h.stored.max/2) {
		if !s.dropOldest(st) {
			return
		}
	}
}

// dropIfDone drops a stream that has ended and is of no more use. It is kept for a client that left before it had everything, if that knows an
// event id to resume with.
func (st *stream) dropIfDone() {
	s := st.s
	if st.done && st.abandoned {
		delete(s.streams, st.n)
	}
	if !st.done || st.abandoned || st.reader != nil {
		return
	}
	if !st.resumable || !st.primed {
		st.discard()
		return
	}
	s.ended = append(s.ended, st)
	if len(s.ended) > maxEnded {
		s.ended[0].discard()
		s.ended = s.ended[1:]
	}
}

// discard drops all events and wakes the reader, which then ends. The stream cannot be resumed any more.
func (st *stream) discard() {
	if st.abandoned {
		return
	}
	st.abandoned = true
	for len(st.events) > 0 {
		st.dropFirst()
	}
	st.events = nil
	if st.done || st.s.ctx.Err() != nil {
		delete(st.s.streams, st.n)
	}
	st.signal()
}
