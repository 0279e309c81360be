package agent

import (
	"context"
	"errors"
)

// ErrNoSession reports that a session that was to be gone on with is not there: it never was,
// or was the oldest when there were too many.
var ErrNoSession = errors.New("no such session")

// ErrSessionFull reports that a conversation takes no more: its bound in bytes is reached.
// The loop then leaves out old messages, and tries again with [Conversation].Replace.
var ErrSessionFull = errors.New("the conversation is full")

// Conversations keeps what was said, by session. Package conversation keeps it on disk; nil
// in [Options] keeps it in memory, within bounds. A session is one query's at a time.
type Conversations interface {
	// Open begins to write a session, and creates it unless that must not be.
	Open(ctx context.Context, session string, existing bool) (Conversation, error)
}

// Conversation is an open session.
type Conversation interface {
	// Messages returns the conversation, oldest message first. It may have holes: a process may have died.
	Messages() []Message
	// Append adds messages. When it returns they survive the death of this process.
	Append(ms ...Message) error
	// Replace puts others in the place of all messages, at once.
	Replace(ms []Message) error
	Close() error
}
