package agent

import (
	"context"
	"errors"
)

// ErrNoSession means that a session that was to be continued does not exist: it never did, or was removed as the oldest of too many.
var ErrNoSession = errors.New("no such session")

// ErrSessionFull means that a conversation has reached its bound in bytes. The agent then leaves out old messages and tries again with
// [Conversation].Replace.
var ErrSessionFull = errors.New("the conversation is full")

// Conversations stores messages by session. Package conversation does it on disk; nil in [Options] keeps them in memory, within bounds. A
// session is open for one query at a time.
type Conversations interface {
	// Open opens a session. If there is none of that name it creates it, or returns an [ErrNoSession] if existing is set.
	Open(ctx context.Context, session string, existing bool) (Conversation, error)
}

// Conversation is an open session.
type Conversation interface {
	// Messages returns the messages, the oldest first. Some may be missing, such as results when a process died.
	Messages() []Message
	// Append adds messages. When it returns nil, a store on disk has them even if this process dies. At the bound it may return an
	// [ErrSessionFull].
	Append(ms ...Message) error
	// Replace replaces all messages at once. If it fails, the store keeps those that it had.
	Replace(ms []Message) error
	// Close ends the use of the session by its query.
	Close() error
}
