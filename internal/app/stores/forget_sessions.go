package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

const (
	// forgottenWords stands in the place of words that were forgotten.
	forgottenWords = "[forgotten]"
	// sessionWait limits the wait for a session that is in use.
	sessionWait = 3 * time.Second
)

// forgetTasks removes the tasks of an agent over A2A that hold the words, or with dry lists them.
func forgetTasks(_ context.Context, dir string, match memory.Match, dry bool) (places []memory.Place, err error) {
	names, err := tasklog.Forget(dir, match.Finder().In, dry)
	for _, name := range names {
		places = append(places, memory.Place{Name: agentName(dir) + "/" + name, Action: memory.Removed})
	}
	return places, err
}

// agentName returns the name of the agent that a folder of sessions or tasks belongs to.
func agentName(dir string) string { return filepath.Base(filepath.Dir(dir)) }

// maxSessionFile bounds what is read of one file of a conversation, in bytes.
const maxSessionFile = 256 << 20

// filesHolding returns the names of the files in a folder that hold the words. The error joins those of files that could not be read; the names of
// the others are returned nevertheless.
func filesHolding(dir string, words *memory.Finder) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		text, readErr := statefile.Read(filepath.Join(dir, e.Name()), maxSessionFile)
		if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
			err = errors.Join(err, readErr)
		}
		if words.In(text) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// forgetSessions replaces the words in all conversations of an agent, and removes files that still hold them and belong to no session. With dry
// it only lists them.
func forgetSessions(ctx context.Context, dir string, match memory.Match, dry bool) (places []memory.Place, err error) {
	words := match.Finder()
	before, err := filesHolding(dir, words)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	if dry {
		for _, name := range before {
			places = append(places, memory.Place{Name: agentName(dir) + "/" + name, Action: memory.Blotted})
		}
		return places, nil
	}
	store, err := conversation.Open(conversation.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	sessions, err := store.List()
	for _, s := range sessions {
		changed, oneErr := forgetSession(ctx, store, s.Session, words)
		if changed {
			places = append(places, memory.Place{Name: agentName(dir) + "/" + s.Session, Action: memory.Blotted})
		}
		err = errors.Join(err, oneErr)
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return places, err
	}
	// What is damaged, half written or too old to be opened is of no session any more.
	left, err := filesHolding(dir, words)
	for _, name := range left {
		if removeErr := os.Remove(filepath.Join(dir, name)); removeErr != nil && !errors.Is(removeErr, os.ErrNotExist) {
			err = errors.Join(err, removeErr)
			continue
		}
		places = append(places, memory.Place{Name: agentName(dir) + "/" + name, Action: memory.Removed})
	}
	return places, err
}

// forgetSession replaces the words in a conversation. changed is false, without an error, if the conversation does not exist or does not hold
// them.
func forgetSession(ctx context.Context, store *conversation.Store, session string, words *memory.Finder) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, sessionWait)
	defer cancel()
	c, err := store.Open(ctx, session, true)
	if errors.Is(err, agent.ErrNoSession) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%w: end who uses it, and forget again", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ms := slices.Clone(c.Messages())
	for i := range ms {
		changed = forgetMessage(&ms[i], words) || changed
	}
	if !changed {
		return false, nil
	}
	return true, c.Replace(ms)
}

// forgetMessage takes the words out of a message, and reports whether it held any. The arguments of a call that hold them become "{}", and opaque
// data that holds them is dropped whole.
func forgetMessage(m *agent.Message, words *memory.Finder) (changed bool) {
	if words.In([]byte(m.Text)) {
		m.Text, changed = redact(m.Text, words), true
	}
	if len(m.Opaque) > 0 && words.In(m.Opaque) {
		m.Opaque, changed = nil, true
	}
	calls := slices.Clone(m.Calls)
	for i := range calls {
		if words.In([]byte(calls[i].Arguments)) {
			calls[i].Arguments, changed = "{}", true
		}
	}
	m.Calls = calls
	return changed
}

// redact puts forgottenWords in the place of each of the words.
func redact(text string, words *memory.Finder) string {
	var b strings.Builder
	for at := 0; ; {
		start, end, ok := words.Next([]byte(text), at)
		if !ok {
			b.WriteString(text[at:])
			return b.String()
		}
		b.WriteString(text[at:start])
		b.WriteString(forgottenWords)
		at = end
	}
}
