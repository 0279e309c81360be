package admission

import (
	"errors"
	"path/filepath"
)

// pipeNotifiers wakes nobody here: listen returns an error, and every waiter polls.
type pipeNotifiers struct{ l *Ledger }

func (l *Ledger) notifierPath(id string) string { return filepath.Join(l.dir, "waiters", id) }

// listen returns an error: there are no named pipes of that kind here.
func (pipeNotifiers) listen(string) (notifier, error) { return nil, errors.ErrUnsupported }
func (pipeNotifiers) wake(string)                     {}
func (pipeNotifiers) watch(string)                    {}
