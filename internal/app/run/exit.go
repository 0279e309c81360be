package run

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
)

// giveUp bounds the time that the start of a run has to react to a signal that asks it to end; then this process ends at once. What is left
// behind (a claim, an empty group) the next command removes, as after SIGKILL.
const giveUp = 3 * time.Second

// Exit ends this process the way the command ended. A command that died of SIGINT,
// SIGQUIT, SIGHUP or SIGTERM makes us die of it too: a shell stops its loop only when it
// sees that, and not on status 130.
func (s Status) Exit() { core.Exit(s.Code, s.Signal) }
