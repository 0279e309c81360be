// Package promptcache knows for how long providers keep the beginning of a prompt, from what they say of it in their answers.
//
//	idle := clock.Seen(conversation, now)            // how long the conversation was quiet
//	if lives.Cold(model, idle, mark) { … }           // the prefix is written anew with this request, whatever is done to it
//	lives.Answer(model, idle, before, cacheRead)     // what the provider read of it, learned from
//
// A cut while the cache is warm costs that the prefix is written again, a cut after it has expired costs nothing more. What tells the two
// apart is the clock since the last request: an answer that read nothing from the cache has just written it.
//
// A [Lifetimes] is safe for concurrent use and bounded; it forgets what was not used for long.
package promptcache

import (
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/recent"
)

const (
	// Usual is the lifetime of a cache until something else is known: Anthropic's default (docs "prompt caching", 2026-11), and the least
	// that OpenAI gives ("5 to 10 minutes of inactivity", docs "prompt caching", 2026-11). Every use begins it anew at both.
	Usual = 5 * time.Minute
	// Hour is the lifetime that a client may ask for (Anthropic, cache_control with ttl "1h").
	Hour = time.Hour
	// longest is more than any provider keeps a prompt (OpenAI's extended retention: 24 h).
	longest = 24 * time.Hour
	// shortest is less than any provider keeps one.
	shortest = time.Minute
	// maxModels bounds the models that are known, by half.
	maxModels = 128
)

// A life bounds the lifetime of one model's cache.
type life struct {
	alive time.Duration // the longest pause after which it was read
	dead  time.Duration // the shortest pause after which it was not; 0 for none
}

// Lifetimes holds the lifetimes of models' caches, as they were observed. The zero value is ready.
type Lifetimes struct {
	mu     sync.Mutex
	models recent.Map[string, life]
}

// Cold reports whether the cache of a conversation that was quiet for idle has certainly expired. There is a margin, because clocks differ.
// asked is the lifetime that the client asked for; 0 for none.
func (l *Lifetimes) Cold(model string, idle, asked time.Duration) bool {
	lives := l.lifetimeOf(model, asked)
	return idle > lives+max(lives/5, 30*time.Second)
}

// Warm reports whether the cache of a conversation that was quiet for idle is probably still there. Between Warm and Cold nothing is known.
func (l *Lifetimes) Warm(model string, idle, asked time.Duration) bool {
	return idle < l.lifetimeOf(model, asked)*4/5
}

// lifetimeOf returns how long a cached prompt of a model probably lives. asked is the lifetime that the client asked for, 0 for none.
func (l *Lifetimes) lifetimeOf(model string, asked time.Duration) time.Duration {
	l.mu.Lock()
	k, _ := l.models.Get(model)
	l.mu.Unlock()
	lives := max(k.alive, max(Usual, asked))
	if k.dead > 0 && k.dead < lives && asked == 0 {
		lives = max(k.dead, k.alive)
	}
	return min(max(lives, shortest), longest)
}

// Answer learns from how much a provider read of its cache after a pause: read of the before tokens that were sent with the last request
// and again, unchanged, with this one. Pauses below a minute teach nothing.
func (l *Lifetimes) Answer(model string, idle time.Duration, before, read int) {
	if idle < shortest || idle > longest || before <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k, _ := l.models.Get(model)
	switch {
	case read >= before/2:
		k.alive = max(k.alive, idle)
		if k.dead <= k.alive { // it was an eviction, and no rule
			k.dead = 0
		}
	case read < before/10:
		if k.dead == 0 || idle < k.dead {
			k.dead = idle
		}
		if k.alive >= idle { // it lives shorter now
			k.alive = 0
		}
	default:
		return
	}
	l.models.Max = maxModels
	l.models.Put(model, k)
}
