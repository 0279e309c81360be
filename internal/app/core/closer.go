package core

import (
	"errors"
	"slices"
)

// A Closer collects what a process has opened, and closes it in the reverse order. The zero value is ready; one goroutine at a time uses it.
type Closer struct{ steps []func(error) error }

// Add has Close call what may fail.
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
