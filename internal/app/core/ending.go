package core

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/plimsoll/plimsoll/internal/process/termination"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// A Closer collects what a process has opened, and closes it in the reverse order. The zero value is ready; one goroutine at a time uses it.
type Closer struct{ steps []func(error) error }

// Add makes Close call a function that can fail, and join its error with the others.
func (c *Closer) Add(closing func() error) {
	c.Tell(func(err error) error {
		if failed := closing(); failed != nil {
			return errors.Join(err, failed)
		}
		return err
	})
}

// Do has Close call what cannot fail, or whose failure is told elsewhere.
func (c *Closer) Do(closing func()) {
	c.Tell(func(err error) error { closing(); return err })
}

// Tell has Close call what wants to know how it came to the end: of the error so far it returns the one to go on with.
func (c *Closer) Tell(closing func(error) error) { c.steps = append(c.steps, closing) }

// Close closes everything, the last added first, also where something fails, and returns err with all that failed. A second call does nothing.
func (c *Closer) Close(err error) error {
	steps := c.steps
	c.steps = nil
	for _, closing := range slices.Backward(steps) {
		err = closing(err)
	}
	return err
}

// Interrupted is the cause of a context that a signal has cancelled.
type Interrupted struct{ Signal int }

func (e *Interrupted) Error() string { return "gave up waiting on " + sandbox.SignalName(e.Signal) }

// Is makes it a cancelled context for everybody who asks for no more.
func (e *Interrupted) Is(target error) bool { return target == context.Canceled }

// WatchContainer watches the memory of the container around this process, and writes the reason into the container's termination message
// before it dies of memory. inner describes the limits inside the container. Warnings go to warn, and into the journal j unless that is nil.
// The result is nil if there is no termination message to write, and inside a run, which watches itself.
func WatchContainer(inner string, j *journal.Journal, warn func(text string)) *termination.Watch {
	if InsideRun() != "" {
		return nil
	}
	path, err := termination.Path(os.Getenv)
	if err != nil {
		warn(err.Error())
		return nil
	}
	w, err := termination.Start(termination.Options{
		Path: path, Inner: inner, Warn: warn,
		Note: func(e termination.Event) {
			if j != nil {
				j.Append(journal.Warned{About: "container", Text: e.String()})
			}
			warn(e.String())
		},
	})
	if err != nil {
		warn("nobody will be told why this container ended: " + err.Error())
	}
	return w
}

// LastWords returns what a termination message says of a program that ended with an error; "" for none.
func LastWords(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
