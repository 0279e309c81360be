package agent

import "time"

// A Keeper is given what is said in sessions. Keep is called by the goroutine of a query, which waits: it returns at once. place is
// the position of the first of the messages in the session, from 0; the messages must not be changed.
type Keeper interface {
	Keep(session string, place int, at time.Time, ms []Message)
}

// keep gives what was appended. The system prompt is no message, and so never given.
func (r *Run) keep(ms []Message) {
	k := r.a.o.Keeper
	if k == nil || len(ms) == 0 {
		return
	}
	k.Keep(r.q.Session, r.place, time.Now(), ms)
	r.place += len(ms)
}
