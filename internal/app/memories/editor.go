package memories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/shellwords"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// EditProfile opens the profile in the user's editor, and gives what it says then. Nothing of it is in force before [Memory.Confirm].
func (m *Memory) EditProfile(ctx context.Context) (Pins, error) {
	if err := m.refuseAgent(); err != nil {
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
	if err := edit(ctx, path); err != nil {
		return Pins{}, err
	}
	return m.Pins()
}

// EditText opens words in the user's editor, in a private file, and gives what they are then.
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
	if err := edit(ctx, path); err != nil {
		return "", err
	}
	after, err := statefile.Read(path, memory.MaxNote)
	return string(after), err
}

// edit runs the editor that VISUAL or EDITOR names on a file. No shell sees the name.
func edit(ctx context.Context, path string) error {
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
