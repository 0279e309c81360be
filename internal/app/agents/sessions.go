package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
)

// Session describes a conversation that an agent has stored.
type Session struct {
	Agent    string    `json:"agent"`
	Session  string    `json:"session"`
	Title    string    `json:"title"` // the beginning of its first question
	Messages int       `json:"messages"`
	Bytes    int64     `json:"bytes"`
	Updated  time.Time `json:"updated"`
}

// agentStore opens the conversations of an agent; nil if it has stored none.
func agentStore(app *core.Core, name string) (*conversation.Store, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "agents", config.SafeName(name), "conversations")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return conversation.Open(conversation.Options{Dir: dir, Log: app.Log()})
}

// Sessions returns the conversations of an agent, the last used one first. name is as in [AgentOptions].
func Sessions(app *core.Core, name string) (out []Session, err error) {
	c, err := configuredAgent(app, AgentOptions{Name: name})
	if err != nil {
		return nil, err
	}
	s, err := agentStore(app, c.Name)
	if s == nil || err != nil {
		return []Session{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	list, err := s.List()
	out = make([]Session, 0, len(list))
	for _, i := range list {
		out = append(out, Session{Agent: c.Name, Session: i.Session, Title: i.Title, Messages: i.Messages, Bytes: int64(i.Bytes), Updated: i.Updated})
	}
	return out, err
}

// removeWait bounds the wait of RemoveSession for others that use the session.
const removeWait = 5 * time.Second

// RemoveSession removes a conversation of an agent. A missing one is an error.
func RemoveSession(ctx context.Context, app *core.Core, name, session string) (err error) {
	c, err := configuredAgent(app, AgentOptions{Name: name})
	if err != nil {
		return err
	}
	s, err := agentStore(app, c.Name)
	if err != nil {
		return err
	}
	missing := fmt.Errorf("agent %s keeps no session %q; plimsoll agent sessions %s lists them", c.Name, printable.Text(session), c.Name)
	if s == nil {
		return missing
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, removeWait)
	defer cancel()
	if err := s.Remove(ctx, session); errors.Is(err, agent.ErrNoSession) {
		return missing
	} else if err != nil {
		return fmt.Errorf("remove the session: %w", err)
	}
	return nil
}
