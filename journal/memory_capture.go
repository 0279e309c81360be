package journal

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
