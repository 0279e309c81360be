package agent

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

// ahead returns the number of queries of the session before t, the running one included.
func (l sessionQueues) ahead(session string, t *ticket) int {
	for i, other := range l[session] {
		if other == t {
			return i
		}
	}
	return 0
}
