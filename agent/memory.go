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

// memory is the [Conversations] of an agent that was given none. They end with the process.
type memory struct {
	agent   string
	journal *journal.Journal

	mu       sync.Mutex
	sessions map[string]*remembered
	bytes    int64
	uses     uint64
}

// remembered is a session. One query writes it at a time: the agent sees to that.
type remembered struct {
	m        *memory
	name     string
	messages []Message
	bytes    int64
	open     int
	used     uint64
}

func newMemory(agent string, j *journal.Journal) *memory {
	return &memory{agent: agent, journal: j, sessions: map[string]*remembered{}}
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
		s = &remembered{m: m, name: session}
		m.sessions[session] = s
	}
	s.open++
	m.uses++
	s.used = m.uses
	m.room()
	return s, nil
}

// room drops sessions that nobody writes, the one used longest ago first; the lock is held.
func (m *memory) room() {
	for len(m.sessions) > memorySessions || m.bytes > int64(memoryBytes) {
		var oldest *remembered
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
func (s *remembered) Messages() []Message {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.messages[:len(s.messages):len(s.messages)]
}

// Append implements [Conversation].
func (s *remembered) Append(ms ...Message) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.set(append(s.messages, ms...), s.bytes+sizeOf(ms))
}

// Replace implements [Conversation].
func (s *remembered) Replace(ms []Message) error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return s.set(append([]Message(nil), ms...), sizeOf(ms))
}

func (s *remembered) set(ms []Message, bytes int64) error {
	if bytes > int64(memorySession) {
		return fmt.Errorf("%w: %d bytes, and %d is the most", ErrSessionFull, bytes, memorySession)
	}
	s.m.bytes += bytes - s.bytes
	s.messages, s.bytes = ms, bytes
	s.m.room()
	return nil
}

// Close implements [Conversation]. A session in which nothing was said is none.
func (s *remembered) Close() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.open--
	if s.open == 0 && len(s.messages) == 0 {
		delete(s.m.sessions, s.name)
	}
	s.m.room()
	return nil
}

// unkept is the conversation of a query without a session.
type unkept struct{}

func (unkept) Messages() []Message     { return nil }
func (unkept) Append(...Message) error { return nil }
func (unkept) Replace([]Message) error { return nil }
func (unkept) Close() error            { return nil }
