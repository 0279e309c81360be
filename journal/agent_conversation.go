package journal

// The events of the store of conversations. No word of a conversation, and no id of a
// session, goes into an event.
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
