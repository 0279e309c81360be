package memories

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/memory"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
)

// elsewhere are the other stores of this user that may hold the words of a record.
func elsewhere(state string) []memory.Elsewhere {
	return []memory.Elsewhere{windowElsewhere{filepath.Join(state, "window", "conversations")}, agentsElsewhere{filepath.Join(state, "agents")}}
}

// windowElsewhere forgets what compactions cut, what they made of it, and what was added to prompts.
type windowElsewhere struct{ dir string }

// Forget implements [memory.Elsewhere].
func (w windowElsewhere) Forget(_ context.Context, match memory.Match) (int, error) {
	if _, err := os.Stat(w.dir); errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	store, err := checkpoint.Open(checkpoint.Options{Dir: w.dir})
	if err != nil {
		return 0, err
	}
	return store.Forget(match.In)
}

// agentsElsewhere forgets in the conversations of our own agents: the words go, the rest of a conversation stays.
type agentsElsewhere struct{ dir string }

// forgottenWords stands in the place of words that were forgotten.
const forgottenWords = "[forgotten]"

// Forget implements [memory.Elsewhere].
func (a agentsElsewhere) Forget(ctx context.Context, match memory.Match) (n int, err error) {
	dirs, _ := filepath.Glob(filepath.Join(a.dir, "*", "conversations"))
	for _, dir := range dirs {
		m, oneErr := forgetIn(ctx, dir, match)
		n, err = n+m, errors.Join(err, oneErr)
	}
	return n, err
}

func forgetIn(ctx context.Context, dir string, match memory.Match) (n int, err error) {
	store, err := conversation.Open(conversation.Options{Dir: dir})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	sessions, err := store.List()
	if err != nil {
		return 0, err
	}
	for _, s := range sessions {
		c, openErr := store.Open(ctx, s.Session, true)
		if errors.Is(openErr, agent.ErrNoSession) {
			continue
		}
		if openErr != nil {
			err = errors.Join(err, openErr)
			continue
		}
		ms := slices.Clone(c.Messages())
		changed := false
		for i := range ms {
			changed = forgetMessage(&ms[i], match) || changed
		}
		if changed {
			if replaceErr := c.Replace(ms); replaceErr != nil {
				err = errors.Join(err, replaceErr)
			} else {
				n++
			}
		}
		err = errors.Join(err, c.Close())
	}
	return n, err
}

// forgetMessage takes the words out of a message.
func forgetMessage(m *agent.Message, match memory.Match) (changed bool) {
	for _, t := range match.Texts {
		if t != "" && strings.Contains(m.Text, t) {
			m.Text, changed = strings.ReplaceAll(m.Text, t, forgottenWords), true
		}
	}
	if len(m.Opaque) > 0 && match.In(m.Opaque) {
		m.Opaque, changed = nil, true
	}
	calls := slices.Clone(m.Calls)
	for i := range calls {
		if match.In([]byte(calls[i].Arguments)) {
			calls[i].Arguments, changed = "{}", true
		}
	}
	m.Calls = calls
	return changed
}
