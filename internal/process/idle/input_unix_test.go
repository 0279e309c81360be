//go:build unix

package idle_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/plimsoll/plimsoll/internal/process/idle"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// What is read from a terminal moves the time of its last input, what is written to it does not. The kernel keeps it in steps of eight
// seconds.
func TestTheLastInputAtATerminal(t *testing.T) {
	t.Parallel()
	person, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	defer terminal.Close()
	last := idle.InputOf(terminal)
	if last == nil {
		t.Fatal("a terminal is none")
	}
	go func() { _, _ = io.Copy(io.Discard, person) }() // the screen
	began := last()
	line := make([]byte, 64)
	wait.Until(t, "the input is told", func() bool {
		if _, err := terminal.WriteString("a word\n"); err != nil {
			t.Fatal(err)
		}
		if now := last(); !now.Equal(began) {
			t.Fatalf("what was written counts as input: %v, %v before", now, began)
		}
		if _, err := person.WriteString("yes\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := terminal.Read(line); err != nil {
			t.Fatal(err)
		}
		return last().After(began)
	})
	if time.Since(last()) > time.Minute {
		t.Errorf("the last input was at %v", last())
	}
}

func TestWhatIsNoTerminalTellsNoInput(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	for name, f := range map[string]*os.File{"a file": f, "a pipe": read} {
		if idle.InputOf(f) != nil {
			t.Errorf("%s is a terminal", name)
		}
	}
}
