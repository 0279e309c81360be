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

// findCached finds the longest prefix of a request that is in the cache, and notes in r what is read from it and what the answer will write.
// A Messages request with cache marks is cached up to the last mark; one without marks is cached whole, as OpenAI's and Google's are, or with
// Options.Marked not at all. The cache changes only when the request is answered.
func (p *Provider) findCached(r *Request, list []prefix, lastMark int, ttl time.Duration) {
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

// add remembers a prefix until a time. If there are too many, all others are forgotten.
func (p *prefixes) add(key digest, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxPrefixes {
		p.known = map[digest]time.Time{}
	}
	p.known[key] = until
}
