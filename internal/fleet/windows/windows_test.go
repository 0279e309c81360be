package windows_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/windows"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

const secret = "0123456789abcdef0123456789abcdef"

// warnings collects what a user is told.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) warn(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}

func open(t *testing.T, url, secret string) (*windows.Logs, *fleet.Fleet, *warnings) {
	t.Helper()
	f, w := fleet.New(fleet.Options{URL: url}), &warnings{}
	l, err := windows.Open(t.Context(), f, windows.Options{Secret: secret, Warn: w.warn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close(); f.Close() })
	return l, f, w
}

// What one replica writes another one with the same secret reads, and nobody else.
func TestSealed(t *testing.T) {
	s := natsserver.Start(t)
	a, f, _ := open(t, s.URL, secret)
	b, _, told := open(t, s.URL, secret)
	other, _, othersTold := open(t, s.URL, strings.Repeat("another secret", 3))
	name := a.Name("log", "a conversation of anthropic")
	if name != b.Name("log", "a conversation of anthropic") || name == a.Name("sent", "a conversation of anthropic") || name == other.Name("log", "a conversation of anthropic") {
		t.Error("the names do not depend on the kind and the secret")
	}
	if value, revision, err := b.Get(t.Context(), name); value != nil || revision != 0 || err != nil {
		t.Fatal(value, revision, err)
	}
	words := []byte("the words of a conversation")
	first, err := a.Put(t.Context(), name, words, 0)
	if err != nil || first == 0 {
		t.Fatal(first, err)
	}
	if next, err := b.Put(t.Context(), name, words, 0); next != 0 || err != nil {
		t.Error("a second one was taken for the first:", next, err)
	}
	if value, revision, err := b.Get(t.Context(), name); !bytes.Equal(value, words) || revision != first || err != nil {
		t.Errorf("%q %d %v", value, revision, err)
	}
	raw, err := f.Bucket(fleet.Windows).Get(t.Context(), name)
	if err != nil || bytes.Contains(raw.Value, []byte("words")) || strings.Contains(raw.Key, "anthropic") {
		t.Errorf("the store has %q under %q, %v", raw.Value, raw.Key, err)
	}
	if value, revision, err := other.Get(t.Context(), name); value != nil || revision != first || err != nil || len(othersTold.all()) != 1 {
		t.Errorf("another secret reads %q %d %v, told %q", value, revision, err, othersTold.all())
	}
	// A value in the place of another one is no value.
	elsewhere := a.Name("log", "another conversation")
	if _, err := f.Bucket(fleet.Windows).Put(t.Context(), elsewhere, raw.Value); err != nil {
		t.Fatal(err)
	}
	if value, revision, err := b.Get(t.Context(), elsewhere); value != nil || revision == 0 || err != nil {
		t.Errorf("%q %d %v", value, revision, err)
	}
	if list := told.all(); len(list) != 1 || !strings.Contains(list[0], "sealed with another token") {
		t.Errorf("told %q", list)
	}
	// An empty value is one.
	if _, err := a.Put(t.Context(), a.Name("log", "empty"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if value, _, err := b.Get(t.Context(), a.Name("log", "empty")); value == nil || len(value) != 0 || err != nil {
		t.Errorf("%v %v", value, err)
	}
}

func TestNoSecret(t *testing.T) {
	for _, short := range []string{"", "123456789012345"} {
		if _, err := windows.Open(t.Context(), nil, windows.Options{Secret: short}); !errors.Is(err, windows.ErrNoSecret) {
			t.Error(err)
		}
	}
}

// While the store is away every call fails, one warning says so, and it is used again once it is back.
func TestAway(t *testing.T) {
	s := natsserver.Start(t)
	l, _, told := open(t, s.URL, secret)
	name := l.Name("log", "c")
	if _, err := l.Put(t.Context(), name, []byte("1"), 0); err != nil || len(told.all()) != 0 {
		t.Fatal(err, told.all())
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.Get(gone, name); err == nil || len(told.all()) != 0 {
		t.Errorf("a client that left is taken for a store that is away: %v %q", err, told.all())
	}
	for range 2 {
		s.Kill()
		for range 5 {
			if _, _, err := l.Get(t.Context(), name); err == nil {
				t.Error("a store that is away answers")
			}
		}
		s.Start()
		wait.Until(t, "the store is used again", func() bool {
			value, _, err := l.Get(t.Context(), name)
			return err == nil && string(value) == "1"
		})
	}
	if list := told.all(); len(list) != 1 || !strings.Contains(list[0], s.URL) {
		t.Errorf("told %q", list)
	}
}
