package agent

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// EventKind is the kind of an event.
type EventKind string

// The kinds, and the fields of [Event] that are set for each; Step is set as well once the requests to the model have begun.
const (
	EventQueued    EventKind = "queued"    // another query of the session runs: Text
	EventStep      EventKind = "step"      // a request to the model begins: Step, Tokens
	EventText      EventKind = "text"      // a piece of the answer: Text
	EventDiscarded EventKind = "discarded" // the pieces since the last EventStep were no answer (the request failed and is made again)
	EventCall      EventKind = "call"      // a call begins: Call
	EventChunk     EventKind = "chunk"     // a piece of a call's output: Call, Text
	EventResult    EventKind = "result"    // a call ended: Call, Result
	EventRetry     EventKind = "retry"     // a request is made again after Wait: Err, Wait, Tries
	EventRoom      EventKind = "room"      // room was made in the window, or old messages were left out: Text, Tokens (0 for the latter)
	EventNudge     EventKind = "nudge"     // the model was told that it repeats itself: Text
	EventWarning   EventKind = "warning"   // Text
)

// Event is one thing that happened in a query. Text and Err have at most 8 KiB each. Tokens is the size of the request's input, and Tries
// the number of requests that have failed.
type Event struct {
	Kind   EventKind     `json:"kind"`
	Step   int           `json:"step,omitempty"`
	Text   string        `json:"text,omitempty"`
	Call   *Call         `json:"call,omitempty"`
	Result *StepResult   `json:"result,omitempty"`
	Tokens int           `json:"tokens,omitempty"`
	Tries  int           `json:"tries,omitempty"`
	Wait   time.Duration `json:"-"`
	Err    string        `json:"error,omitempty"`
}

// MarshalJSON implements json.Marshaler. It writes Wait as wait_ms, in milliseconds.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event // without this method
	return json.Marshal(struct {
		plain
		WaitMS int64 `json:"wait_ms,omitempty"`
	}{plain(e), e.Wait.Milliseconds()})
}

// emitter passes the events of a query to Query.Events, one at a time and in order.
type emitter struct {
	mu sync.Mutex
	to func(Event)
	// panicked is called when to panics. No further event is passed on then.
	panicked func(error)
}

// emit passes on one event.
func (e *emitter) emit(ev Event) { e.withUnsilenced(nil, func(emit func(Event)) { emit(ev) }) }

// withUnsilenced calls f with a function that emits events, but not if *silenced is true. It holds the lock that guards silenced, so no
// event of a tool or a model comes after its call was given up. silenced may be nil.
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

// deliver calls the query's function for events. If that panics, the panic is reported and no further event is delivered.
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
