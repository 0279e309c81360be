package app

import (
	"context"
	"time"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

// giveUp is how long a phase of the start may take to notice that it was asked to end. What it
// leaves behind then (a claim, an empty group) the next command removes, as after SIGKILL.
const giveUp = 3 * time.Second

// interrupted is why a run that waited in the queue gave up.
type interrupted struct{ signal int }

func (e *interrupted) Error() string { return "gave up waiting on " + sandbox.SignalName(e.signal) }

// Is makes it a cancelled context for everybody who asks for no more.
func (e *interrupted) Is(target error) bool { return target == context.Canceled }
