package agent

import (
	"fmt"
	"sync"
)

// emitter passes the events of a query to Query.Events, one at a time and in order.
type emitter struct {
	mu sync.Mutex
	to func(Event)
	// panicked is called when to panics. No further event is passed on then.
	panicked func(error)
}

// emit passes on one event.
func (e *emitter) emit(ev Event) { e.withUnsilenced(nil, func(emit func(Event)) { emit(ev) }) }

// withUnsilenced calls f with a function that passes events on, unless *silenced is true, under the lock that guards silenced. So no event
// of a tool or a model comes after its call was abandoned. silenced may be nil.
func (e *emitter) withUnsilenced(silenced *bool, f func(emit func(Event))) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if silenced != nil && *silenced {
		return
	}
	f(e.deliver)
}

// silence sets *silenced: from then on withUnsilenced drops the events it guards.
func (e *emitter) silence(silenced *bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*silenced = true
}

func (e *emitter) deliver(ev Event) {
	if e.to == nil {
		return
	}
	fine := false
	defer func() {
		if fine {
			return
		}
		e.to = nil
		p := recover()
		e.panicked(fmt.Errorf("agent: Query.Events broke off at %q: %v", ev.Kind, p))
	}()
	e.to(ev)
	fine = true
}
