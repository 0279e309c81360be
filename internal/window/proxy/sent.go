package proxy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/internal/window/promptcache"
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// conversationPrefix identifies the beginning of a conversation by the digest of its messages as the client sends them.
type conversationPrefix struct {
	scope checkpoint.Scope
	chain tokens.Digest
}

// sum returns a hash for the tables of package recent.
func (p conversationPrefix) sum() uint64 {
	return binary.LittleEndian.Uint64(p.scope[:]) ^ binary.LittleEndian.Uint64(p.chain[:])
}

// maxPrefixes bounds each of the memories of beginnings of conversations, by half.
const maxPrefixes = 1 << 13

// sentAs describes the last request with these messages whose answer was good: what the provider has read and the model has thought about.
type sentAs struct {
	digest   tokens.Digest // of all its messages
	head     tokens.Digest // of the system prompt and the tools
	messages int32
	edited   bool      // they differed from the client's
	at       time.Time // when
	tokens   int       // of input, as the provider counted them, or else by our estimate
	cached   bool      // the provider has said that it keeps the prompt
}

// lastSent returns how the conversation's last known request was sent, and how many of the client's messages it had; 0 if none is known.
// chain[i] is the digest of the messages 0..i.
func (p *Proxy) lastSent(scope checkpoint.Scope, chain []tokens.Digest) (sentAs, int) {
	s, i := p.sent.Last(len(chain), func(i int) conversationPrefix { return conversationPrefix{scope, chain[i]} })
	return s, i + 1
}

// countAnswered returns the number of leading messages that must have been sent to a model before, judged by r alone: those before the
// newest answer that a message of the client follows.
func countAnswered(r *wire.Request) int {
	i := len(r.Messages)
	back := func(models bool) {
		for i > 0 && (r.Messages[i-1].Role == wire.RoleAssistant) == models {
			i--
		}
	}
	back(true) // the client's own beginning of an answer stands behind what is new
	back(false)
	back(true)
	return i
}

// foreignReasoning returns the index of the first of the client's messages with reasoning that was made behind other messages than here:
// after what was sent before, it follows a message of the client that was never sent. It returns 0 if there is none, or if the model's
// reasoning is not bound to the messages before it.
func (t *conversation) foreignReasoning() int {
	answered := false // the client has spoken since what was sent before
	for i := t.sentBefore; i < len(t.received.Messages); i++ {
		m := &t.received.Messages[i]
		if m.Role != wire.RoleAssistant {
			answered = true
		} else if answered && slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == wire.Reasoning }) {
			if i > 0 && t.boundReasoning() {
				return i
			}
			return 0
		}
	}
	return 0
}

// noteAccepted records that the provider accepted the request, so that its messages stay as they were sent. It is called again with the
// usage u once that is known; before, u is nil.
func (t *conversation) noteAccepted(u *wire.Usage) {
	n := len(t.Tally.Chain)
	if t.request == nil || len(t.chain) == 0 || n == 0 || n != len(t.request.Messages) {
		return
	}
	s := sentAs{digest: t.Tally.Chain[n-1], head: t.Tally.HeadDigest, messages: int32(n), edited: t.edited, at: t.p.now(), tokens: t.In.Best}
	if u != nil && u.Input > 0 {
		s.tokens, s.cached = u.Input, u.CacheRead+u.CacheWrite > 0
		if !t.cut {
			t.p.caches.Answer(t.cacheKey(), t.idle, t.before.tokens, u.CacheRead)
		}
	}
	t.p.sent.Put(conversationPrefix{t.log, t.chain[len(t.chain)-1]}, s)
}

// cacheKey returns the key under which the lifetime of the provider's prompt cache is learned.
func (t *conversation) cacheKey() string { return t.upstream + "\x00" + t.model }

// moment returns what speaks for or against a compaction now: whether a new turn begins, and whether the provider's prompt cache probably
// still has the conversation. If no earlier request is known, it tells nothing about the cache.
func (t *conversation) moment() fit.Moment {
	m := fit.Moment{First: topic.FreshPrompt(t.received) >= 0}
	if t.before.at.IsZero() {
		return m
	}
	asked := t.requestedCacheTime()
	m.Warm = t.before.cached && t.p.caches.Warm(t.cacheKey(), t.idle, asked)
	m.Cold = !t.compactsItself() && t.before.cached && t.p.caches.Cold(t.cacheKey(), t.idle, asked)
	return m
}

// requestedCacheTime returns an hour if the client asks the provider to cache the prompt for one, else 0.
func (t *conversation) requestedCacheTime() time.Duration {
	for _, mark := range t.received.Marks {
		if bytes.Contains(t.received.Raw(mark), []byte(`"1h"`)) {
			return promptcache.Hour
		}
	}
	return 0
}
