package app

import (
	"context"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// interrupted is why a run that waited in the queue gave up.
type interrupted struct{ signal int }

func (e *interrupted) Error() string { return "gave up waiting on " + sandbox.SignalName(e.signal) }

// Is makes it a cancelled context for everybody who asks for no more.
func (e *interrupted) Is(target error) bool { return target == context.Canceled }
