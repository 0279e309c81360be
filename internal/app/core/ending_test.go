package core

import (
	"errors"
	"slices"
	"testing"
)

// What was opened last is closed first, whatever fails, and what wants to know how it ended hears of all that failed before it.
func TestACloserClosesInReverse(t *testing.T) {
	t.Parallel()
	first, second := errors.New("first"), errors.New("second")
	var order []string
	var heard error
	var c Closer
	c.Do(func() { order = append(order, "do") })
	c.Tell(func(err error) error { heard = err; return err })
	c.Add(func() error { order = append(order, "add"); return second })
	c.Add(func() error { order = append(order, "last"); return nil })
	err := c.Close(first)
	if !slices.Equal(order, []string{"last", "add", "do"}) || !errors.Is(err, first) || !errors.Is(err, second) || heard.Error() != err.Error() {
		t.Errorf("closed %q with %v, heard %v", order, err, heard)
	}
	if err := c.Close(nil); err != nil || len(order) != 3 {
		t.Errorf("a second time: %v, %q", err, order)
	}
}
