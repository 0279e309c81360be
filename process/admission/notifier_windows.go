package admission

import "errors"

// pipeNotifiers wakes nobody here: listen returns an error, and every waiter polls.
type pipeNotifiers struct{ l *Ledger }

// listen returns an error: there are no named pipes of that kind here.
func (pipeNotifiers) listen(string) (notifier, error) { return nil, errors.ErrUnsupported }
func (pipeNotifiers) wake(string)                     {}
func (pipeNotifiers) watch(string)                    {}
