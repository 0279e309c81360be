package agent

import (
	"context"
	"time"
)

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

// A Recaller knows what was said in earlier conversations. It is asked once for each question, and what it returns, "" for nothing, stands
// behind the question from then on. earlier are the messages of the session before it; they must not be changed. A query waits for it.
type Recaller interface {
	Recall(ctx context.Context, session, question string, earlier []Message) string
}

// question returns the query's question, with what is recalled for it.
func (r *Run) question() string {
	if r.a.o.Recaller == nil {
		return r.q.Text
	}
	if known := r.a.o.Recaller.Recall(r.ctx, r.q.Session, r.q.Text, r.state.list()); known != "" {
		return r.q.Text + "\n\n" + known
	}
	return r.q.Text
}
