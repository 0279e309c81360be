package memories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
	"github.com/plimsoll/plimsoll/internal/shellwords"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Pins is the profile with its state.
type Pins struct {
	// Path is the file to edit.
	Path string `json:"path"`
	// Bytes is the size of the text in force, of at most Max.
	Bytes int `json:"bytes"`
	Max   int `json:"max_bytes"`
	// Entries are in force since Confirmed, which is nil when that is not known.
	Entries   []Pin      `json:"entries"`
	Confirmed *time.Time `json:"confirmed,omitempty"`
	// Pending reports whether the file was edited since; Draft is its text then.
	Pending bool   `json:"pending"`
	Draft   string `json:"draft,omitempty"`
	// Problem is the reason why the file cannot be confirmed.
	Problem string `json:"problem,omitempty"`
}

// Pin is an entry of the profile.
type Pin struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Bytes int    `json:"bytes"`
}

// Pins returns the profile. If its draft cannot be read, the reason is in Problem, and there is no error.
func (m *Memory) Pins() (Pins, error) {
	text, err := m.Profile.InForce()
	if err != nil {
		return Pins{}, err
	}
	p := Pins{Path: m.Profile.Path(), Bytes: len(text), Max: int(notes.MaxProfile), Entries: []Pin{}}
	for _, e := range notes.Entries(text) {
		p.Entries = append(p.Entries, Pin{e.ID, e.Text, e.Bytes})
	}
	if at, err := m.Profile.ConfirmedAt(); err == nil && !at.IsZero() {
		p.Confirmed = &at
	}
	draft, err := m.Profile.Draft()
	if err != nil {
		p.Pending, p.Problem = true, err.Error()
		return p, nil
	}
	if draft != text {
		p.Pending, p.Draft = true, draft
	}
	return p, nil
}

// findRecord returns the record with an id; ok is false when there is none, or it cannot be read. It is an error if the record was forgotten.
func (m *Memory) findRecord(ctx context.Context, id string) (memory.Record, bool, error) {
	if strings.ContainsAny(id, " \t\n") {
		return memory.Record{}, false, nil
	}
	found, err := m.Store.Get(ctx, id, 0)
	switch {
	case err == nil:
		return found[0], true, nil
	case errors.Is(err, memory.ErrForgotten):
		return memory.Record{}, false, err
	}
	return memory.Record{}, false, nil
}

// Pin puts an entry into the profile: the words of what, or of the record whose id it is, if those are the user's own. Inside a run it is
// refused with [ErrInRun].
func (m *Memory) Pin(ctx context.Context, what string) (Pin, error) {
	if err := m.requirePerson(); err != nil {
		return Pin{}, err
	}
	r, is, err := m.findRecord(ctx, what)
	if err != nil {
		return Pin{}, err
	}
	if is {
		if r.Origin != memory.OriginUser || r.Quarantined {
			return Pin{}, fmt.Errorf(`%w: %s is %s. Read it, and say it in your own words: plimsoll memory pin "…"`, memory.ErrOrigin, r.ID, r.Origin.Phrase())
		}
		what = r.Text
	}
	e, err := m.Profile.Pin(ctx, what)
	if errors.Is(err, notes.ErrPending) {
		err = fmt.Errorf("%w; look at it and put it in force with plimsoll memory pin --confirm", err)
	}
	if err != nil {
		return Pin{}, err
	}
	return Pin{e.ID, e.Text, e.Bytes}, m.syncPins(ctx)
}

// Unpin takes the entry with an id out of the profile. Inside a run it is refused with [ErrInRun].
func (m *Memory) Unpin(ctx context.Context, id string) error {
	if err := m.requirePerson(); err != nil {
		return err
	}
	err := m.Profile.Unpin(ctx, id)
	switch {
	case errors.Is(err, notes.ErrPending):
		return fmt.Errorf("%w; look at it and put it in force with plimsoll memory pin --confirm", err)
	case errors.Is(err, notes.ErrNoEntry):
		return fmt.Errorf("%w; plimsoll memory pin lists them", err)
	case err != nil:
		return err
	}
	return m.syncPins(ctx)
}

// Confirm puts the edited profile in force, unless its text is not draft any more, which the person saw. Inside a run it is refused with
// [ErrInRun].
func (m *Memory) Confirm(ctx context.Context, draft string) error {
	if err := m.requirePerson(); err != nil {
		return err
	}
	if err := m.Profile.Confirm(ctx, notes.Digest(draft)); err != nil {
		return err
	}
	return m.syncPins(ctx)
}

// EditProfile opens the profile in the user's editor, and gives what it says then. Nothing of it is in force before [Memory.Confirm]. Inside a run
// it is refused with [ErrInRun].
func (m *Memory) EditProfile(ctx context.Context) (Pins, error) {
	if err := m.requirePerson(); err != nil {
		return Pins{}, err
	}
	path := m.Profile.Path()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Pins{}, err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		// An empty file, so that the editor does not make one that others may read.
		f, err := statefile.Open(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err != nil {
			return Pins{}, err
		}
		if err := f.Close(); err != nil {
			return Pins{}, err
		}
	}
	if err := runEditor(ctx, path); err != nil {
		return Pins{}, err
	}
	return m.Pins()
}

// EditText opens a text in the user's editor, in a private file that is removed afterwards, and returns the edited text. One larger than
// memory.MaxNote is an error.
func EditText(ctx context.Context, text string) (string, error) {
	dir, err := os.MkdirTemp("", "plimsoll-memory-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "memory.md")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := runEditor(ctx, path); err != nil {
		return "", err
	}
	after, err := statefile.Read(path, memory.MaxNote)
	return string(after), err
}

// runEditor opens a file in the editor that VISUAL, else EDITOR, names, without either in vi or on Windows in notepad, and waits until it ends. No
// shell sees the name.
func runEditor(ctx context.Context, path string) error {
	line := os.Getenv("VISUAL")
	if line == "" {
		line = os.Getenv("EDITOR")
	}
	if line == "" {
		if line = "vi"; runtime.GOOS == "windows" {
			line = "notepad"
		}
	}
	words, err := shellwords.Split(line)
	if err != nil || len(words) == 0 {
		return fmt.Errorf("VISUAL or EDITOR is %q, which names no editor; set it, as to vi, or edit %s yourself", line, path)
	}
	c := exec.CommandContext(ctx, words[0], append(words[1:], path)...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w; set VISUAL or EDITOR, or edit %s yourself", words[0], err, path)
	}
	return nil
}
