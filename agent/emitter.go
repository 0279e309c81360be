package agent

import (
	"fmt"
	"sync"
)

// emitter hands the events of a query to whoever asked, one at a time and in order.
type emitter struct {
	mu sync.Mutex
	to func(Event)
	// broke is told when to panics; nothing more is handed on then.
	broke func(error)
}

// emit hands on one event.
func (e *emitter) emit(ev Event) { e.while(nil, func(emit func(Event)) { emit(ev) }) }

// while runs f with the means to hand on events, unless over is true; it is guarded by the
// emitter. What a tool or a model says after it was given up is dropped that way.
func (e *emitter) while(over *bool, f func(emit func(Event))) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if over != nil && *over {
		return
	}
	f(e.hand)
}

// end makes over true: from then on while drops what belongs to it.
func (e *emitter) end(over *bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*over = true
}

func (e *emitter) hand(ev Event) {
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
		e.broke(fmt.Errorf("agent: Query.Events broke off at %q: %v", ev.Kind, p))
	}()
	e.to(ev)
	fine = true
}
