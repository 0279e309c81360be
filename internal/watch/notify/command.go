package notify

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// command gives notices by a program: JSON on standard input, and variables.
type command struct {
	argv    []string
	environ []string
}

// String returns the way for people: the name of the program, without its arguments.
func (c *command) String() string {
	return "the command " + printable.Name(limit.Short(c.argv[0], maxName))
}

// Check returns an error when the program is not found.
func (c *command) Check() error {
	if _, err := exec.LookPath(c.argv[0]); err != nil {
		return fmt.Errorf("%w; install it, or write its whole path", err)
	}
	return nil
}

// Send runs the program with the notice as JSON on its standard input and in variables.
func (c *command) Send(ctx context.Context, n Notice) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return runProgram(ctx, c.argv, append(c.environ[:len(c.environ):len(c.environ)], variables(&n)...), append(text, '\n'))
}

// FromNotice reports whether a process was started by a command that gives a notice. A run in it is told of by nobody: each notice would make the
// next one.
func FromNotice(getenv func(string) string) bool { return getenv(CauseName) != "" }

// CauseName is the variable that a command of notices always has.
const CauseName = "PLIMSOLL_NOTICE_CAUSE"

// variables returns a notice as an environment has it.
func variables(n *Notice) []string {
	return []string{
		CauseName + "=" + string(n.Cause), "PLIMSOLL_NOTICE_TITLE=" + n.Title, "PLIMSOLL_NOTICE_TEXT=" + n.Text,
		"PLIMSOLL_NOTICE_TIME=" + n.Time.Format(time.RFC3339), "PLIMSOLL_NOTICE_RUN=" + n.Run, "PLIMSOLL_NOTICE_TOOL=" + n.Tool,
		"PLIMSOLL_NOTICE_PROJECT=" + n.Project, "PLIMSOLL_NOTICE_OUTCOME=" + n.Outcome,
		"PLIMSOLL_NOTICE_PEAK_BYTES=" + strconv.FormatInt(n.PeakBytes, 10), "PLIMSOLL_NOTICE_LIMIT_BYTES=" + strconv.FormatInt(n.LimitBytes, 10),
	}
}

const (
	// maxOutput bounds what is kept of a command's output, in bytes: it is for the message when it fails.
	maxOutput = 4 << 10
	// outputWait bounds the wait for output once the command has ended: what it left running may hold it open.
	outputWait = 200 * time.Millisecond
)

// runProgram runs a program, without a shell and outside of every run, until it or ctx ends; then all that it started in its process group is killed.
// The error has the last line that it printed.
func runProgram(ctx context.Context, argv, environ []string, in []byte) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out := &limit.Head{Max: maxOutput}
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, bytes.NewReader(in), out, out
	cmd.WaitDelay = outputWait
	cmd.Dir = homeDir()
	killWhole := ownGroup(cmd)
	ended, err := sandbox.Beside(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return err
	}
	err = cmd.Wait()
	killWhole()
	ended()
	switch {
	case ctx.Err() != nil:
		return errors.New("it took too long and was ended")
	case errors.Is(err, exec.ErrWaitDelay):
		return nil
	case err != nil:
		if last := lastLine(out.Bytes()); last != "" {
			return fmt.Errorf("%w: %s", err, last)
		}
	}
	return err
}

// homeDir returns the directory to start commands in: never the project, whose files may not be this user's.
func homeDir() string {
	home, err := os.UserHomeDir()
	if info, statErr := os.Stat(home); err != nil || statErr != nil || !info.IsDir() {
		return os.TempDir()
	}
	return cmp.Or(home, os.TempDir())
}

// lastLine returns the last line of a text that is not empty, cut and cleaned.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return cleanText(string(text[bytes.LastIndexByte(text, '\n')+1:]), 200)
}
