package scripted

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/window/wire"
)

// cacheTTL is the time that a prefix of a prompt stays in the cache after it was read last:
// platform.claude.com, "Prompt caching"; OpenAI names 5 to 10 minutes.
const cacheTTL = 5 * time.Minute

const longCacheTTL = time.Hour // of a cache_control with "ttl": "1h"

// A prefix is one that a request has: everything up to the end of a segment.
type prefix struct {
	key    digest
	tokens int // up to there
}

// cached finds the longest prefix of a request that is in the cache, and how much the answer will
// write. A Messages request that marks something caches up to its last mark; one that marks
// nothing is cached whole, as OpenAI's and Google's are, or with Options.Marked not at all.
// Nothing is written until the answer is there.
func (p *Provider) cached(r *Request, list []prefix, lastMark int, ttl time.Duration) {
	marks := r.Dialect == wire.Messages || r.Dialect == wire.Converse
	marked := marks && lastMark >= 0
	switch {
	case marked:
		list = list[:lastMark+1]
	case marks && p.o.Marked:
		list = nil
	}
	now := p.o.Now()
	for _, e := range list {
		if !p.prefix.contains(e.key, now) {
			break
		}
		r.Cached = e.tokens
	}
	if marked {
		r.Written = list[len(list)-1].tokens - r.Cached
	}
	r.prefixes, r.ttl = list, max(ttl, cacheTTL)
}

// remember puts the prefixes of an answered request into the cache, or keeps them there.
func (p *Provider) remember(r *Request) {
	for _, e := range r.prefixes {
		p.prefix.add(e.key, p.o.Now().Add(r.ttl))
	}
}

// prefixes are digests of prefixes and when they go, bounded.
type prefixes struct {
	mu    sync.Mutex
	known map[digest]time.Time
}

const maxPrefixes = 1 << 18

func (p *prefixes) contains(key digest, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now.Before(p.known[key])
}

func (p *prefixes) add(key digest, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPrefixes {
		p.known = map[digest]time.Time{}
	}
	p.known[key] = until
}
