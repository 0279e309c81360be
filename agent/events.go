package agent

import (
	"encoding/json"
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
