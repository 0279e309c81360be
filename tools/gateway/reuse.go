package gateway

import "time"

// maxReuse bounds the calls of one session that are remembered.
const maxReuse = 32

// reuseTable remembers which kept result answered which call. The zero value is ready.
//
// Only the first repeat of a call is answered from the spool. Who asks a second time within
// the window polls, and goes on getting fresh results until the window has passed in quiet.
type reuseTable struct {
	calls map[digest]*reusable
	// writes counts the beginnings and ends of calls that may change something: a result is
	// only kept when there was none while it was made.
	writes uint64
}

type reusable struct {
	handle string
	at     time.Time // when the result was complete; zero while there is none
	asked  time.Time // the last time the call was made
	polled bool
}

// take reports whether a call made now may be answered from the spool, and records the call.
func (t *reuseTable) take(d digest, window time.Duration, now time.Time) (handle string, age time.Duration, ok bool) {
	r := t.calls[d]
	if r == nil {
		return "", 0, false
	}
	quiet := now.Sub(r.asked) > window && now.Sub(r.at) > window
	again := r.polled && !quiet
	r.asked, r.polled = now, !quiet
	if r.handle == "" || again || now.Sub(r.at) > window {
		return "", 0, false
	}
	return r.handle, now.Sub(r.at), true
}

// keep remembers a result of a call that was made when there had been so many writes.
func (t *reuseTable) keep(d digest, handle string, writes uint64, now time.Time) {
	if writes != t.writes {
		return
	}
	if t.calls == nil {
		t.calls = map[digest]*reusable{}
	}
	r := t.calls[d]
	if r == nil {
		t.makeRoom()
		r = &reusable{asked: now}
		t.calls[d] = r
	}
	r.handle, r.at = handle, now
}

// drop forgets a result that can no longer be read.
func (t *reuseTable) drop(d digest) {
	if r := t.calls[d]; r != nil {
		r.handle = ""
	}
}

// clear forgets all results: something may have changed them.
func (t *reuseTable) clear() {
	t.writes++
	for _, r := range t.calls {
		r.handle = ""
	}
}

func (t *reuseTable) makeRoom() {
	if len(t.calls) < maxReuse {
		return
	}
	var oldest digest
	var at time.Time
	for d, r := range t.calls {
		if at.IsZero() || r.asked.Before(at) {
			oldest, at = d, r.asked
		}
	}
	delete(t.calls, oldest)
}
