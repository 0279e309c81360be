package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Process is a server that was started.
type Process struct {
	// Stdin gets the messages. It is closed to ask the server to end.
	Stdin io.WriteCloser
	// Stdout yields the server's messages and Stderr its log; Stderr is nil if that goes elsewhere. After the
	// server's end they are closed if they are an io.Closer, which they must be if another process may hold the
	// other end open.
	Stdout, Stderr io.Reader
	PID            int
	// Wait returns when the server has ended. It is called once.
	Wait func() (Exit, error)
	// Terminate asks the server to end (SIGTERM), Kill forces it to. A nil Terminate means Kill.
	Terminate, Kill func()
}

// Exit describes the end of a server's process.
type Exit struct {
	Code int // the exit status; -1 if a signal ended the process
	// Signal is the signal's name, such as "killed"; "" if there was none.
	Signal string
	// OutOfMemory is set when the process was killed for its memory limit. Limit is that limit (0 if not known) and
	// Peak the most memory it used, in bytes.
	OutOfMemory bool
	Limit, Peak int64
	// Text describes the end if the server is not a process; else "".
	Text string
}

func (e Exit) String() string {
	switch {
	case e.Text != "":
		return e.Text
	case e.OutOfMemory && e.Limit > 0:
		return fmt.Sprintf("killed: out of memory, it needed more than its limit of %s; ask for less, or raise its memory_max", limit.Bytes(e.Limit).Human())
	case e.OutOfMemory:
		return "killed: out of memory"
	case e.Signal != "":
		return "ended by signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Lost reports that a server ended before it answered a request. It was not sent again: the server may have acted on it.
type Lost struct {
	Server string
	Reason string // how the server ended
	// Words are the last four lines the server wrote to its standard error, each at most 200 bytes.
	Words string
}

func (e *Lost) Error() string {
	text := fmt.Sprintf("the MCP server %s ended before it answered (%s); it is started again for the next request, and this one was not repeated: check what it did before you repeat it", e.Server, e.Reason)
	if e.Words != "" {
		text += "; its last words: " + e.Words
	}
	return text
}

// Unavailable reports that a server cannot be started or does not stay up, and a message was not sent.
type Unavailable struct {
	Server string
	Reason string
	Words  string    // as in [Lost]
	Tries  int       // number of starts in a row without an answer
	Again  time.Time // from when on it can be started again
}

func (e *Unavailable) Error() string {
	text := fmt.Sprintf("the MCP server %s is not running: %s", e.Server, e.Reason)
	if e.Words != "" {
		text += "; its last words: " + e.Words
	}
	if e.Tries >= giveUpAfter {
		return fmt.Sprintf("%s; given up after %d tries, the next request after %s tries again: check the server's command and its log",
			text, e.Tries, e.Again.UTC().Format("15:04:05Z"))
	}
	return text + "; the message was not sent: check the server's command, then send it again"
}

// TimeoutError reports that a server did not answer in time; the request was cancelled.
type TimeoutError struct {
	Server, Method string
	After          time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the MCP server %s did not answer %s within %v and was told to stop: raise the timeout, or ask for less", e.Server, e.Method, e.After)
}

// Timeout implements net.Error's method.
func (e *TimeoutError) Timeout() bool { return true }

// Exec returns a function that starts a program, without limits. Only Path, Args, Env, Dir and Err of template are used.
func Exec(template *exec.Cmd) func(context.Context) (*Process, error) {
	return func(ctx context.Context) (*Process, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cmd := &exec.Cmd{Path: template.Path, Args: template.Args, Env: template.Env, Dir: template.Dir, Err: template.Err}
		return startProcess(cmd)
	}
}

// startProcess starts cmd with three pipes of its own. Those of os/exec would be closed by Wait, with what is still in them. The caller
// closes the pipes in the result.
func startProcess(cmd *exec.Cmd) (*Process, error) {
	// Pipes of our own: those of os/exec are closed by Wait, with what is still in them.
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			_ = f.Close()
		}
	}
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return nil, err
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	ours[0], theirs[0] = theirs[0], ours[0] // standard input flows the other way
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	err := cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	return &Process{
		Stdin: ours[0], Stdout: ours[1], Stderr: ours[2], PID: cmd.Process.Pid,
		Wait: func() (Exit, error) {
			err := cmd.Wait()
			if cmd.ProcessState == nil {
				return Exit{Code: -1}, err
			}
			if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
				return Exit{Code: -1}, err
			}
			return exitOf(cmd.ProcessState), nil
		},
		Terminate: func() { terminate(cmd.Process) },
		Kill:      func() { _ = cmd.Process.Kill() }, // an error means that it has ended
	}, nil
}
