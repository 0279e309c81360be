package client

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// Exec returns a launcher of a program, without limits. template is copied for each start; only its Path, Args, Env, Dir and Err are used.
func Exec(template *exec.Cmd) func(context.Context) (*Process, error) {
	return func(ctx context.Context) (*Process, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cmd := &exec.Cmd{Path: template.Path, Args: template.Args, Env: template.Env, Dir: template.Dir, Err: template.Err}
		return start(cmd)
	}
}

func start(cmd *exec.Cmd) (*Process, error) {
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
