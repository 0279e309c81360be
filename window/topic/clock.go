package topic

import (
	"sync"
	"time"
)

// maxConversations bounds each of the two generations of a [Clock].
const maxConversations = 2048

// A Clock knows how long conversations were quiet. It remembers the newest 2,048 at least and twice as many at most, and may be used
// from many goroutines. The zero value is ready.
type Clock struct {
	mu         sync.Mutex
	young, old map[string]time.Time
}

// Seen notes a request of a conversation, and returns how long there had been none; 0 for a conversation that is not known.
func (c *Clock) Seen(conversation string, now time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.young[conversation]
	if !ok {
		last, ok = c.old[conversation]
	}
	if c.young == nil || len(c.young) >= maxConversations {
		c.old, c.young = c.young, map[string]time.Time{}
	}
	c.young[conversation] = now
	if !ok {
		return 0
	}
	return max(0, now.Sub(last))
}
