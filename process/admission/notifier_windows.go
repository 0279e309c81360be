package admission

import (
	"errors"
	"path/filepath"
)

// pipeNotifiers wakes nobody here: listen returns an error, and every waiter polls.
type pipeNotifiers struct{ l *Ledger }

func (l *Ledger) notifierPath(id string) string { return filepath.Join(l.dir, "waiters", id) }

// listen makes the named pipe into which others write to wake the waiter id.
func (pipeNotifiers) listen(string) (notifier, error) { return nil, errors.ErrUnsupported }
func (pipeNotifiers) wake(string)                     {}
func (pipeNotifiers) watch(string)                    {}
