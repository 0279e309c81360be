package agent

import (
	"context"
	"fmt"
	"sync"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of the conversations that are kept in memory.
const (
	memorySessions = 64
	memoryBytes    = 16 * limit.MiB
	memorySession  = 4 * limit.MiB
)

// memory is the [Conversations] of an agent whose options name none. The conversations are lost when the process ends.
type memory struct {
	agent   string
	journal *journal.Journal

	mu       sync.Mutex
	sessions map[string]*memoryConversation
	bytes    int64
	uses     uint64
}

// memoryConversation is one session. The agent lets only one query at a time write it.
type memoryConversation struct {
	m        *memory
	name     string
	messages []Message
	bytes    int64
	open     int
	used     uint64
}

func newMemory(agent string, j *journal.Journal) *memory {
	return &memory{agent: agent, journal: j, sessions: map[string]*memoryConversation{}}
}

// Open implements [Conversations].
func (m *memory) Open(_ context.Context, session string, existing bool) (Conversation, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[session]
	if s == nil {
		if existing {
			return nil, fmt.Errorf("%w: %q; it never was, or %d newer ones took its place", ErrNoSession, session, memorySessions)
		}
		s = &memoryConversation{m: m, name: session}
		m.sessions[session] = s
	}
	s.open++
	m.uses++
	s.used = m.uses
	m.evict()
	return s, nil
}

// evict drops sessions that no query has open, the least recently used first, until the rest is within its bounds. The caller holds the
// lock.
func (m *memory) evict() {
	for len(m.sessions) > memorySessions || m.bytes > int64(memoryBytes) {
		var oldest *memoryConversation
		for _, s := range m.sessions {
			if s.open == 0 && (oldest == nil || s.used < oldest.used) {
				oldest = s
			}
		}
		if oldest == nil {
			return // each is in use: they are bounded by MaxQueries, and by memorySession each
		}
		delete(m.sessions, oldest.name)
		m.bytes -= oldest.bytes
		if m.journal != nil {
			m.journal.Append(journal.AgentForgot{Agent: clip(m.agent), Bytes: oldest.bytes})
		}
	}
}

// Messages implements [Conversation].
func (s *memoryConversation) Messages() []Message {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.messages[:len(s.messages):len(s.messages)]
}

// Append implements [Conversation].
func (s *memoryConversation) Append(ms ...Message) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.set(append(s.messages, ms...), s.bytes+sizeOf(ms))
}

// Replace implements [Conversation].
func (s *memoryConversation) Replace(ms []Message) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.set(append([]Message(nil), ms...), sizeOf(ms))
}

// set replaces the messages and counts their size. Other sessions may be evicted to make room. Messages over the bound of a session are an
// [ErrSessionFull].
func (s *memoryConversation) set(ms []Message, bytes int64) error {
	if bytes > int64(memorySession) {
		return fmt.Errorf("%w: %d bytes, and %d is the most", ErrSessionFull, bytes, memorySession)
	}
	s.m.bytes += bytes - s.bytes
	s.messages, s.bytes = ms, bytes
	s.m.evict()
	return nil
}

// Close implements [Conversation]. A session without messages is removed.
func (s *memoryConversation) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.open--
	if s.open == 0 && len(s.messages) == 0 {
		delete(s.m.sessions, s.name)
	}
	s.m.evict()
	return nil
}

// unstored is the conversation of a query without a session. It stores nothing.
type unstored struct{}

func (unstored) Messages() []Message     { return nil }
func (unstored) Append(...Message) error { return nil }
func (unstored) Replace([]Message) error { return nil }
func (unstored) Close() error            { return nil }
