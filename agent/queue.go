package agent

// lines let the queries of one session through one after the other, in the order in which
// they came. They are guarded by the agent's lock.
type lines map[string][]*place

// place is a query in the line of its session. The first one runs.
type place struct{ turn chan struct{} }

// join puts a query at the end of the line; nil when most wait already.
func (l lines) join(session string, most int) *place {
	line := l[session]
	if len(line) > most {
		return nil
	}
	p := &place{turn: make(chan struct{})}
	if len(line) == 0 {
		close(p.turn)
	}
	l[session] = append(line, p)
	return p
}

// leave takes a query out, wherever it is, and lets the next one run.
func (l lines) leave(session string, p *place) {
	line := l[session]
	for i, other := range line {
		if other != p {
			continue
		}
		rest := append(line[:i:i], line[i+1:]...)
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

// before is how many queries are ahead of p.
func (l lines) before(session string, p *place) int {
	for i, other := range l[session] {
		if other == p {
			return i
		}
	}
	return 0
}
