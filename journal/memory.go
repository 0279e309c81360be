package journal

// The events of the memory plane. No word that is remembered, and no name of a project, goes into an event.
type (
	// MemoryEvicted records that records were removed to stay within a bound: "bytes" or "records" of a namespace, "total" of all.
	MemoryEvicted struct {
		Records int    `json:"records"`
		Bytes   int64  `json:"bytes"`
		Why     string `json:"why"`
	}
	// MemoryConsolidated records that a namespace came near its bound, and what counted no longer has left the disk: old versions,
	// passages that were written twice, what had expired. Left is its size now.
	MemoryConsolidated struct {
		Records int   `json:"records"`
		Bytes   int64 `json:"bytes"`
		Left    int64 `json:"left"`
	}
	// MemoryForgotten records that a person or a tool had records forgotten. Elsewhere counts the things that went in other stores.
	MemoryForgotten struct {
		Records   int   `json:"records"`
		Elsewhere int   `json:"elsewhere"`
		Bytes     int64 `json:"bytes"`
	}
	// MemoryRefused records that passages came again that had been forgotten; they were not stored.
	MemoryRefused struct {
		Records int `json:"records"`
	}
	// MemoryDamaged records that lines of the memory's files are nothing that was written; they are passed over.
	MemoryDamaged struct {
		Lines int `json:"lines"`
	}
	// MemoryVectorsMade records that texts of the memory were sent to the service for embeddings, and their vectors kept. Bytes is the size
	// of the namespace's vectors.
	MemoryVectorsMade struct {
		Records int   `json:"records"`
		Bytes   int64 `json:"bytes"`
	}
	// MemoryVectorsFailed records that the service for embeddings, or the file of vectors, failed: searches go by words only until it works
	// again. It is written when that begins. For is "question", "records" or "file".
	MemoryVectorsFailed struct {
		For   string `json:"for"`
		Error string `json:"error"`
	}
	// MemoryVectorsFull records that the vectors of a namespace are at their bound: those of the oldest records went.
	MemoryVectorsFull struct {
		Gone  int   `json:"gone"`
		Kept  int   `json:"kept"`
		Bytes int64 `json:"bytes"`
	}
)

// Kind implements [Event].
func (MemoryEvicted) Kind() string      { return "memory.evicted" }
func (MemoryConsolidated) Kind() string { return "memory.consolidated" }
func (MemoryForgotten) Kind() string    { return "memory.forgotten" }
func (MemoryRefused) Kind() string      { return "memory.refused" }
func (MemoryDamaged) Kind() string      { return "memory.damaged" }

// Kind implements [Event].
func (MemoryVectorsMade) Kind() string   { return "memory.vectors_made" }
func (MemoryVectorsFailed) Kind() string { return "memory.vectors_failed" }
func (MemoryVectorsFull) Kind() string   { return "memory.vectors_full" }

// The events of the memory: what is kept of conversations, and what of it is given to prompts.
type (
	// MemoryCaptured sums up, at the end of a run or a daemon, what was kept of conversations.
	MemoryCaptured struct {
		Parts        int64 `json:"parts"`   // of conversations that were handed over
		Records      int64 `json:"records"` // that were written or counted
		Dropped      int64 `json:"dropped,omitempty"`
		DroppedBytes int64 `json:"dropped_bytes,omitempty"`
		Failed       int64 `json:"failed,omitempty"` // records that could not be written
	}
	// MemoryDropped records that the queue of what is to be kept is full, or that it cannot be written. It is written at the first
	// of a kind, and when ten times as many were lost.
	MemoryDropped struct {
		Why     string `json:"why"` // "queue" or "write"
		Dropped int64  `json:"dropped"`
		Bytes   int64  `json:"bytes,omitempty"`
		Error   string `json:"error,omitempty"`
	}
	// MemoryReach records what the memory does in a run, what it does not, and why.
	MemoryReach struct {
		Words string `json:"words"`
	}
	// MemoryRecalled records that records were added to a prompt.
	MemoryRecalled struct {
		Conversation string   `json:"conversation,omitempty"`
		Records      []string `json:"records"` // their ids
		Bytes        int64    `json:"bytes"`
	}
)

// Kind implements [Event].
func (MemoryCaptured) Kind() string { return "memory.captured" }

// Kind implements [Event].
func (MemoryDropped) Kind() string { return "memory.dropped" }

// Kind implements [Event].
func (MemoryReach) Kind() string { return "memory.reach" }

// Kind implements [Event].
func (MemoryRecalled) Kind() string { return "memory.recalled" }

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
