package client

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// noiseCounter counts bytes that a server sent and that are not a message for any client. It writes at most one event a second of each
// kind.
type noiseCounter struct {
	server  string
	journal *journal.Journal
	mu      sync.Mutex
	bytes   map[string]int64
	last    map[string]time.Time
}

func newNoise(server string, j *journal.Journal) *noiseCounter {
	return &noiseCounter{server: server, journal: j, bytes: map[string]int64{}, last: map[string]time.Time{}}
}

func (n *noiseCounter) add(what string, bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.bytes[what] += bytes
	if now := time.Now(); now.Sub(n.last[what]) >= time.Second {
		n.last[what] = now
		n.report(what)
	}
}

// report writes the event for one kind and resets its count. The caller holds n.mu.
func (n *noiseCounter) report(what string) {
	if n.journal != nil {
		n.journal.Append(journal.ToolNoise{Server: n.server, What: what, Bytes: n.bytes[what]})
	}
	delete(n.bytes, what)
}

// flush reports all counts that have not been reported yet.
func (n *noiseCounter) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for what := range n.bytes {
		n.report(what)
	}
}
