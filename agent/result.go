package agent

import (
	"encoding/json"
	"time"
)

// Outcome is the end of a query.
type Outcome string

// The outcomes.
const (
	Completed       Outcome = "completed"
	StepLimit       Outcome = "step-limit"       // a limit was used up: answered without tools, or the answer is cut
	LoopDetected    Outcome = "loop-detected"    // the model repeated itself, also when told
	Cancelled       Outcome = "cancelled"        // by the caller, by a deadline, by the end of the agent
	ContextExceeded Outcome = "context-exceeded" // more than the window takes, whatever is left out
	ModelFailed     Outcome = "model-error"      // the model did not answer
	Failed          Outcome = "failed"           // another part failed: the conversation could not be kept, or the tools not be listed
)

// Result is the outcome of a query, with its answer and what it took.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Answer is the model's last text, as far as it came.
	Answer  string `json:"answer"`
	Session string `json:"session,omitempty"`
	Steps   int    `json:"steps"` // requests to the model, those that were made again counted once
	Calls   int    `json:"calls"` // of tools that were begun
	Usage   Usage  `json:"usage"` // of all requests together
	// Last is the usage of the last request that was answered: what the next one of the session begins with.
	Last Usage `json:"-"`
	// Detail explains for people why the query did not complete; "" when Completed.
	Detail string `json:"detail,omitempty"`
	// Err is the cause of ModelFailed (a *ModelError), ContextExceeded (a *TooLargeError, or a *ModelError if the provider kept
	// refusing), Cancelled or Failed; else nil. After Failed it may be nil too.
	Err        error       `json:"-"`
	PeakMemory MemoryUsage `json:"peak_memory"`
}

// StepResult is the stored result of a call: at most MaxStepResult bytes.
type StepResult struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Text ends in "[truncated]", within the bound, if the result was longer. Binary data
	// is described in words.
	Text string `json:"text"`
	// Size is the size of the tool's whole output, in bytes.
	Size      int64         `json:"size"`
	Truncated bool          `json:"truncated,omitempty"`
	Failed    bool          `json:"failed,omitempty"`
	Took      time.Duration `json:"-"`
}

// MarshalJSON implements json.Marshaler. It writes Took as took_ms, in milliseconds.
func (s StepResult) MarshalJSON() ([]byte, error) {
	type plain StepResult // without this method
	return json.Marshal(struct {
		plain
		TookMS int64 `json:"took_ms"`
	}{plain(s), s.Took.Milliseconds()})
}
