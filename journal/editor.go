package journal

// Editor describes the traffic between an editor and an agent that speak the Agent Client Protocol over the streams of a run.
type Editor struct {
	// Sessions are those that are open, the newest last, at most 16 of them; Open counts all.
	Sessions []EditorSession `json:"sessions,omitempty"`
	Open     int             `json:"open,omitempty"`
	// Opened counts all sessions that ever were, Requests the editor's requests, Answered those that Plimsoll answered for an agent that
	// was ended.
	Opened   int64 `json:"opened,omitempty"`
	Requests int64 `json:"requests,omitempty"`
	Answered int64 `json:"answered,omitempty"`
	// LongestLine is the longest message either way, in bytes.
	LongestLine int64 `json:"longest_line_bytes,omitempty"`
	// Servers counts the MCP servers that the editor named and that were put behind the gateway.
	Servers int64 `json:"servers,omitempty"`
	// Missed counts messages that could not be read, or found no room in the tables. They passed.
	Missed int64 `json:"missed,omitempty"`
}

// EditorSession is one conversation of an editor with the agent. Times are RFC 3339.
type EditorSession struct {
	ID     string `json:"id"`
	Folder string `json:"folder"`
	Began  string `json:"began"`
	Active string `json:"active"` // its last message
	// UsedTokens of SizeTokens are in its context, as the agent told last; 0 before that.
	UsedTokens int64 `json:"used_tokens,omitempty"`
	SizeTokens int64 `json:"size_tokens,omitempty"`
}

// EditorSeen is recorded when a session begins or ends, once a minute while messages pass, and at the end of the run. It holds all there is.
type EditorSeen struct {
	Editor Editor `json:"editor"`
}

// Kind implements [Event].
func (EditorSeen) Kind() string { return "editor.seen" }
