package agent

import (
	"context"
	"errors"
	"time"
)

// ErrNoSession means that a session that was to be continued does not exist: it never did, or was removed as the oldest of too many.
var ErrNoSession = errors.New("no such session")

// ErrSessionFull means that a conversation has reached its bound in bytes. The agent then leaves out old messages and tries again with
// [Conversation].Replace.
var ErrSessionFull = errors.New("the conversation is full")

// Conversations stores messages by session. Package conversation does it on disk; nil in [Options] keeps them in memory, within bounds. A
// session is open for one query at a time.
type Conversations interface {
	// Open opens a session. If there is none of that name it creates it, or returns an [ErrNoSession] if existing is set.
	Open(ctx context.Context, session string, existing bool) (Conversation, error)
}

// Conversation is an open session.
type Conversation interface {
	// Messages returns the messages, the oldest first. Some may be missing, such as results when a process died.
	Messages() []Message
	// Append adds messages. When it returns nil, a store on disk has them even if this process dies. At the bound it may return an
	// [ErrSessionFull].
	Append(ms ...Message) error
	// Replace replaces all messages at once. If it fails, the store keeps those that it had.
	Replace(ms []Message) error
	// Close ends the use of the session by its query.
	Close() error
}

// sessionQueues holds the queries of each session in the order in which they came. The first of a session runs, the others wait. The
// agent's lock guards it.
type sessionQueues map[string][]*ticket

// ticket is the place of a query in the queue of its session. turn is closed when the query may run.
type ticket struct{ turn chan struct{} }

// join adds a query to its session's queue and returns its ticket, or nil when maxWaiting queries wait already.
func (l sessionQueues) join(session string, maxWaiting int) *ticket {
	queue := l[session]
	if len(queue) > maxWaiting {
		return nil
	}
	t := &ticket{turn: make(chan struct{})}
	if len(queue) == 0 {
		close(t.turn)
	}
	l[session] = append(queue, t)
	return t
}

// leave removes a query from the queue, wherever it stands. If it was the first, the next one may run.
func (l sessionQueues) leave(session string, t *ticket) {
	queue := l[session]
	for i, other := range queue {
		if other != t {
			continue
		}
		rest := append(queue[:i:i], queue[i+1:]...)
		if len(rest) == 0 {
			delete(l, session)
			return
		}
		l[session] = rest
		if i == 0 {
			close(rest[0].turn)
		}
		return
	}
}

// ahead returns the number of queries of the session before t, the running one included; 0 if t is not in the queue.
func (l sessionQueues) ahead(session string, t *ticket) int {
	for i, other := range l[session] {
		if other == t {
			return i
		}
	}
	return 0
}

// A Keeper gets the messages of sessions as they are appended. Keep is called by the goroutine of a query, which waits for it, so it should
// return at once. session is "" for a query without one. place counts the messages that the store had when the query began and those
// appended since, so a session that was shortened continues with a smaller place. The messages must not be changed.
type Keeper interface {
	Keep(session string, place int, at time.Time, ms []Message)
}

// passToKeeper passes appended messages to Options.Keeper, if there is one, with their place in the conversation. The system prompt is
// never passed.
func (r *Run) passToKeeper(ms []Message) {
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

// question returns the query's question, followed by what Options.Recaller knows about it. It may wait for the Recaller.
func (r *Run) question() string {
	if r.a.o.Recaller == nil {
		return r.q.Text
	}
	if known := r.a.o.Recaller.Recall(r.ctx, r.q.Session, r.q.Text, r.state.list()); known != "" {
		return r.q.Text + "\n\n" + known
	}
	return r.q.Text
}
