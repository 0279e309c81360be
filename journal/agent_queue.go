package journal

import "time"

// The events of what an agent's server keeps for its clients: queues of events by task, and
// the tasks themselves. Agent is the agent's name, Task the task's id, both cut at 64 bytes.
type (
	// AgentQueueClosed records that events of a task have begun to reach nobody. It is written
	// once per episode: what happens until AgentQueueReopened is counted there.
	AgentQueueClosed struct {
		Agent string `json:"agent,omitempty"`
		Task  string `json:"task"`
		// Why is "unread" (all clients have gone; events are kept for their return as far as
		// there is room) or "ended" (the task is
		// over and its tools went on to talk).
		Why string `json:"why"`
		// Seq is the number of the first event of the episode, 0 after the task's end.
		Seq uint64 `json:"seq,omitempty"`
	}
	// AgentQueueReopened ends what AgentQueueClosed began.
	AgentQueueReopened struct {
		Agent string `json:"agent,omitempty"`
		Task  string `json:"task"`
		Why   string `json:"why"` // as in AgentQueueClosed
		// Missed counts the events of the episode, Dropped those of them that are gone.
		Missed  uint64        `json:"missed"`
		Dropped uint64        `json:"dropped"`
		Closed  time.Duration `json:"closed_ns"`
	}
	// AgentQueueRemoved records that a queue was removed while it was closed: nobody came back.
	AgentQueueRemoved struct {
		Agent   string `json:"agent,omitempty"`
		Task    string `json:"task"`
		Why     string `json:"why"`
		Missed  uint64 `json:"missed"`
		Dropped uint64 `json:"dropped"`
	}
	// AgentTasksEvicted records what a bound of the store of tasks did.
	AgentTasksEvicted struct {
		Agent   string `json:"agent,omitempty"`
		Tasks   int    `json:"tasks"`
		Running int    `json:"running,omitempty"` // of them, tasks that had not ended
		Bytes   int64  `json:"bytes"`
		Why     string `json:"why"` // "count", "bytes", "age", "damaged"
	}
)

// Kind implements [Event].
func (AgentQueueClosed) Kind() string   { return "agent.queue_closed" }
func (AgentQueueReopened) Kind() string { return "agent.queue_reopened" }
func (AgentQueueRemoved) Kind() string  { return "agent.queue_removed" }
func (AgentTasksEvicted) Kind() string  { return "agent.tasks_evicted" }
