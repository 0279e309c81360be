package proxy

import (
	"sync"

	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// A recentMap remembers at least the newest max of its keys and at most twice as many, in two generations: when the younger is full, the
// older is forgotten. The zero value with max set is ready; it is safe for concurrent use.
type recentMap[K comparable, V any] struct {
	mu         sync.Mutex
	max        int
	young, old map[K]V
}

func (m *recentMap[K, V]) get(k K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.young[k]
	if !ok {
		v, ok = m.old[k]
	}
	return v, ok
}

func (m *recentMap[K, V]) put(k K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.young == nil || len(m.young) >= m.max {
		m.old, m.young = m.young, map[K]V{}
	}
	m.young[k] = v
}

// prefixOf names the beginning of a conversation: the digest of its messages as the client sends them.
type prefixOf struct {
	scope checkpoint.Scope
	chain tokens.Digest
}

// maxPrefixes bounds each of the memories of beginnings of conversations, by half.
const maxPrefixes = 1 << 13

// sentAs is how a request was sent whose answer was good: what the provider has read and the model has thought about.
type sentAs struct {
	digest   tokens.Digest // of all its messages
	messages int32
	edited   bool // they were not the client's
}

// lastSent finds the longest beginning of a conversation that was a request itself, and returns of how many of the client's messages it is;
// 0 where none is known.
func (p *Proxy) lastSent(scope checkpoint.Scope, chain []tokens.Digest) (sentAs, int) {
	for i := len(chain) - 1; i >= 0; i-- {
		if s, ok := p.sent.get(prefixOf{scope, chain[i]}); ok {
			return s, i + 1
		}
	}
	return sentAs{}, 0
}

// taken notes that the request was taken as it is: from now on its messages are sent like that.
func (t *conversation) taken() {
	if t.request == nil || len(t.chain) == 0 || len(t.tally.Chain) == 0 || len(t.tally.Chain) != len(t.request.Messages) {
		return
	}
	n := len(t.tally.Chain)
	t.p.sent.put(prefixOf{t.log, t.chain[len(t.chain)-1]}, sentAs{digest: t.tally.Chain[n-1], messages: int32(n), edited: t.edited})
}
