package core

import (
	"context"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Interrupted is the cause of a context that a signal has cancelled.
type Interrupted struct{ Signal int }

func (e *Interrupted) Error() string { return "gave up waiting on " + sandbox.SignalName(e.Signal) }

// Is makes it a cancelled context for everybody who asks for no more.
func (e *Interrupted) Is(target error) bool { return target == context.Canceled }
