package journal

// The events of notes and facts. No word of what is remembered goes into an event.
type (
	// MemoryNoteEvicted records that a note of an agent's was removed to stay within a bound: "count" or "bytes".
	MemoryNoteEvicted struct {
		Path  string `json:"path"` // as the memory tool calls it
		Bytes int64  `json:"bytes"`
		Why   string `json:"why"`
	}
	// MemoryFacts records that a model was asked for facts, and what became of its proposals.
	MemoryFacts struct {
		Episodes int `json:"episodes"` // that were read
		Kept     int `json:"kept"`
		Known    int `json:"known"` // that stood already
		// Proposals that were rejected: without their quote in the passage, with a value that the quote does not have, and malformed ones.
		Unquoted    int `json:"unquoted"`
		Unsupported int `json:"unsupported"`
		Malformed   int `json:"malformed"`
		Tokens      int `json:"tokens"`
	}
	// MemoryFactsFailed records that facts were not drawn: "failed" (it is tried again), "gave_up", "dropped" (the queue was full),
	// "budget" (the day's tokens are spent).
	MemoryFactsFailed struct {
		Why      string `json:"why"`
		Episodes int    `json:"episodes"`
		Tokens   int    `json:"tokens"`
		Error    string `json:"error,omitempty"`
	}
)

// Kind implements [Event].
func (MemoryNoteEvicted) Kind() string { return "memory.note_evicted" }
func (MemoryFacts) Kind() string       { return "memory.facts" }
func (MemoryFactsFailed) Kind() string { return "memory.facts_failed" }
