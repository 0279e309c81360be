package agent

import "time"

// A Keeper gets the messages of sessions as they are appended. Keep is called by the goroutine of a query, which waits for it, so it should
// return at once. session is "" for a query without one. place counts the messages that the store had when the query began and those
// appended since, so a session that was shortened continues with a smaller place. The messages must not be changed.
type Keeper interface {
	Keep(session string, place int, at time.Time, ms []Message)
}

// keep passes appended messages to the Keeper, if there is one. The system prompt is not a message and is never passed.
func (r *Run) keep(ms []Message) {
	k := r.a.o.Keeper
	if k == nil || len(ms) == 0 {
		return
	}
	k.Keep(r.q.Session, r.place, time.Now(), ms)
	r.place += len(ms)
}
