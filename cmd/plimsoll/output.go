package main

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

// standardOutput is the writer that commands print on. It remembers a write that failed, on a full disk say: what a script reads must be
// all of it, or the exit status must tell, and not every printing of a line can ask.
type standardOutput struct {
	*os.File
	failure atomic.Pointer[error]
}

func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.File.Write(p)
	o.note(err)
	return n, err
}

func (o *standardOutput) WriteString(s string) (int, error) {
	n, err := o.File.WriteString(s)
	o.note(err)
	return n, err
}

// ReadFrom keeps what [os.File] can do with a file or a pipe.
func (o *standardOutput) ReadFrom(r io.Reader) (int64, error) {
	n, err := o.File.ReadFrom(r)
	o.note(err)
	return n, err
}

func (o *standardOutput) note(err error) {
	if err != nil {
		o.failure.CompareAndSwap(nil, &err)
	}
}

// check returns the error of a command that ended with err.
func (o *standardOutput) check(err error) error {
	if failure := o.failure.Load(); err == nil && failure != nil {
		return fmt.Errorf("not all of the output was written: %w", *failure)
	}
	return err
}
