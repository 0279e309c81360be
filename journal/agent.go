package journal

import "time"

// The events of the agent plane. Sizes are in bytes. Agent is the name that an agent was given, Tool that of a tool as the model knows it; both
// are cut at 64 bytes. No words of a question, an answer or a result go into an event.
type (
	// AgentQueryStarted records that a query began to run.
	AgentQueryStarted struct {
		Agent string `json:"agent,omitempty"`
		// Waited is the time that other queries of its session ran before.
		Waited time.Duration `json:"waited_ns,omitempty"`
	}
	// AgentQueryEnded records how a query ended. Tokens are the provider's counts.
	AgentQueryEnded struct {
		Agent        string        `json:"agent,omitempty"`
		Outcome      string        `json:"outcome"`
		Steps        int           `json:"steps"`
		Calls        int           `json:"calls"`
		TokensIn     int64         `json:"tokens_in"`
		TokensCached int64         `json:"tokens_cached,omitempty"`
		TokensOut    int64         `json:"tokens_out"`
		PeakBytes    int64         `json:"peak_bytes"`
		Duration     time.Duration `json:"duration_ns"`
	}
	// AgentQueryRefused records that a query was not begun: "queries" or "waiting" (too many of
	// them), "question" (too large).
	AgentQueryRefused struct {
		Agent string `json:"agent,omitempty"`
		Why   string `json:"why"`
	}
	// AgentCalled records that a call of a tool ended. Why is "" or what it ended by:
	// "timeout", "cancelled", "panic", "malformed" (it was not run), "refused" (likewise).
	AgentCalled struct {
		Agent    string        `json:"agent,omitempty"`
		Tool     string        `json:"tool"`
		Bytes    int64         `json:"bytes"` // that the tool had to say
		Failed   bool          `json:"failed,omitempty"`
		Why      string        `json:"why,omitempty"`
		Duration time.Duration `json:"duration_ns"`
	}
	// AgentResultCut records that a result was larger than what is stored of one, or than what
	// goes to the model.
	AgentResultCut struct {
		Agent     string `json:"agent,omitempty"`
		Tool      string `json:"tool"`
		Bytes     int64  `json:"bytes"`
		KeptBytes int64  `json:"kept_bytes"`
		Where     string `json:"where"` // "store" or "message"
	}
	// AgentCallLeaked records that a tool still runs some time after its call was given up.
	AgentCallLeaked struct {
		Agent string `json:"agent,omitempty"`
		Tool  string `json:"tool"`
		Still int    `json:"still"` // how many such there are now, with this one
	}
	// AgentLoop records that the model repeated itself: it was told, or the query ended.
	AgentLoop struct {
		Agent string `json:"agent,omitempty"`
		Rule  string `json:"rule"` // "identical", "cycle", "failing", "errors"
		Ended bool   `json:"ended,omitempty"`
	}
	// AgentRequest records how full the window of a request to the model is. Counts are the best estimate.
	AgentRequest struct {
		Agent       string `json:"agent,omitempty"`
		Model       string `json:"model"`
		Tokens      int64  `json:"tokens"`
		LimitTokens int64  `json:"limit_tokens,omitempty"` // that the input may have
		Messages    int    `json:"messages"`
	}
	// AgentRoom records that room was made: "window", "overflow" (the provider refused the
	// length), "topic" (a new question began) or "history" (too many messages).
	AgentRoom struct {
		Agent        string   `json:"agent,omitempty"`
		Why          string   `json:"why"`
		Rungs        []string `json:"rungs,omitempty"` // of package internal/window/compact, those that did something
		BeforeTokens int64    `json:"before_tokens,omitempty"`
		Tokens       int64    `json:"tokens,omitempty"` // of the request after that
		LimitTokens  int64    `json:"limit_tokens,omitempty"`
		CutBytes     int64    `json:"cut_bytes,omitempty"`
		Messages     int      `json:"messages,omitempty"` // that were left out, cut, replaced or summarised
	}
	// AgentRetry records that a request to the model is made again after Wait.
	AgentRetry struct {
		Agent   string        `json:"agent,omitempty"`
		Model   string        `json:"model"`
		Failure string        `json:"failure"`
		Status  int           `json:"status,omitempty"`
		Tries   int           `json:"tries"`
		Wait    time.Duration `json:"wait_ns"`
	}
	// AgentForgot records that a session which was kept in memory was dropped for others.
	AgentForgot struct {
		Agent string `json:"agent,omitempty"`
		Bytes int64  `json:"bytes"`
	}
)

// Kind implements [Event].
func (AgentQueryStarted) Kind() string { return "agent.query_started" }
func (AgentQueryEnded) Kind() string   { return "agent.query_ended" }
func (AgentQueryRefused) Kind() string { return "agent.query_refused" }
func (AgentCalled) Kind() string       { return "agent.called" }
func (AgentResultCut) Kind() string    { return "agent.result_cut" }
func (AgentCallLeaked) Kind() string   { return "agent.call_leaked" }
func (AgentLoop) Kind() string         { return "agent.loop" }
func (AgentRequest) Kind() string      { return "agent.request" }
func (AgentRoom) Kind() string         { return "agent.room" }
func (AgentRetry) Kind() string        { return "agent.retry" }
func (AgentForgot) Kind() string       { return "agent.forgot" }

// The events of the store of conversations. No word of a conversation, and no id of a session, goes into an event.
type (
	// AgentSessionsEvicted records that conversations were removed to stay within a bound:
	// "count", "bytes" or "age". Damaged files that were set aside count too.
	AgentSessionsEvicted struct {
		Sessions int    `json:"sessions"`
		Bytes    int64  `json:"bytes"`
		Why      string `json:"why"`
	}
	// AgentSessionCut records that a conversation reached its own bound: its oldest turns went,
	// or a message was stored in part.
	AgentSessionCut struct {
		Messages int   `json:"messages"` // that went
		Parts    int   `json:"parts"`    // that are stored in part
		Bytes    int64 `json:"bytes"`    // of the conversation, after that
	}
	// AgentSessionDamaged records that the file of a conversation holds what nobody wrote. It was
	// set aside; what can be read was taken over.
	AgentSessionDamaged struct {
		File     string `json:"file"` // its name now, without the directory
		Messages int    `json:"messages"`
		Lines    int    `json:"lines"` // that are no records
		Bytes    int64  `json:"bytes"`
	}
	// AgentSessionTorn records that a process died while it wrote a record, which is dropped.
	AgentSessionTorn struct {
		Bytes int64 `json:"bytes"`
	}
)

// Kind implements [Event].
func (AgentSessionsEvicted) Kind() string { return "agent.sessions_evicted" }
func (AgentSessionCut) Kind() string      { return "agent.session_cut" }
func (AgentSessionDamaged) Kind() string  { return "agent.session_damaged" }
func (AgentSessionTorn) Kind() string     { return "agent.session_torn" }

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
