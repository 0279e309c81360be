package journal

import "time"

// The events of the tools plane. Sizes are in bytes. Server is the name that the gateway
// has for an MCP server, Tool a tool's own name, cut at 64 bytes.
type (
	// ToolCalled records that a tools/call or resources/read was answered.
	ToolCalled struct {
		Server string `json:"server"`
		Method string `json:"method"` // "tools/call" or "resources/read"
		Tool   string `json:"tool,omitempty"`
		// UpstreamBytes is the message as the server sent it, DeliveredBytes as the client got it.
		UpstreamBytes  int64 `json:"upstream_bytes"`
		DeliveredBytes int64 `json:"delivered_bytes"`
		// Spilled is true when the result went to the spool and the client got a page of it.
		Spilled bool  `json:"spilled,omitempty"`
		Items   int64 `json:"items,omitempty"` // of a spilled result
		// Failed is true when the result was an error: the tool's (isError) or the protocol's.
		Failed bool `json:"failed,omitempty"`
		// Cut is true when the result broke off; what came of it can be read.
		Cut      bool          `json:"cut,omitempty"`
		Protocol string        `json:"protocol,omitempty"` // the client's, "2025-11-25"
		Address  string        `json:"address,omitempty"`  // of a remote server that was asked: its host, with the port where that is not 443
		Duration time.Duration `json:"duration_ns"`
		// TraceParent is the client's span (W3C Trace Context), where the call's _meta named one.
		TraceParent string `json:"traceparent,omitempty"`
	}
	// ToolResultLarge records that a result passed a line of size: "warning" or "alert".
	ToolResultLarge struct {
		Server string `json:"server"`
		Tool   string `json:"tool,omitempty"`
		Bytes  int64  `json:"bytes"`
		Level  string `json:"level"`
	}
	// ToolsListed records that a client was given a server's list of tools.
	ToolsListed struct {
		Server string `json:"server"`
		Tools  int    `json:"tools"`            // of the server, in the list
		Hidden int    `json:"hidden,omitempty"` // by the policy
		// Deferred are tools that are found by tool_search and are not in the list.
		Deferred int `json:"deferred,omitempty"`
		// Tokens counts the tokens that the list takes of a model's window; 0 where they were not counted.
		Tokens int `json:"tokens,omitempty"`
		// Defers is true when the client loads definitions when it wants them, so that they may take less of the window.
		Defers bool `json:"defers,omitempty"`
		// Long counts descriptions over 2,048 characters, which clients cut.
		Long  int   `json:"long_descriptions,omitempty"`
		Bytes int64 `json:"bytes"`
		// Rest is true when the list was too long for one page and goes on behind a cursor.
		Rest bool `json:"rest,omitempty"`
	}
	// ToolRefused records that a call was not passed on: the tool is not allowed, writes are
	// off, the request was too large.
	ToolRefused struct {
		Server string `json:"server"`
		Tool   string `json:"tool,omitempty"`
		Why    string `json:"why"` // "denied", "read_only", "too_large", "busy", "protocol", "internal", "hops"
	}
	// ToolRead records that a kept result was read: "page", "search", "query", or "tools" for a search for tools.
	ToolRead struct {
		Server   string        `json:"server"`
		What     string        `json:"what"`
		Bytes    int64         `json:"bytes"`
		Failed   bool          `json:"failed,omitempty"`
		Duration time.Duration `json:"duration_ns"`
	}
	// ToolServer records what became of a server: "started", "ended", "restarting", "given_up",
	// "lost", "killed".
	ToolServer struct {
		Server string        `json:"server"`
		State  string        `json:"state"`
		PID    int           `json:"pid,omitempty"`
		Reason string        `json:"reason,omitempty"`
		After  time.Duration `json:"after_ns,omitempty"` // the pause before a restart
		Peak   int64         `json:"peak_bytes,omitempty"`
	}
	// ToolNoise records that a server sent what is no message: text on its standard output, an
	// answer to nobody, a second answer. Bytes were dropped.
	ToolNoise struct {
		Server string `json:"server"`
		What   string `json:"what"` // "text", "unknown_id", "second_answer", "too_large", "list", "unread", "stderr"
		Bytes  int64  `json:"bytes"`
	}
	// ToolsTallied adds up, at the run's end, the work of its gateways for one tool, or the size of a server's definitions.
	ToolsTallied struct {
		Server         string `json:"server"`
		Tool           string `json:"tool"`
		Calls          int64  `json:"calls"`
		UpstreamBytes  int64  `json:"upstream_bytes"`
		DeliveredBytes int64  `json:"delivered_bytes"`
		Spilled        int64  `json:"spilled"`
		// DefinitionTokens and Deferred are of the last list of the server's tools; no tool and no calls are beside them.
		DefinitionTokens int `json:"definition_tokens,omitempty"`
		Deferred         int `json:"deferred,omitempty"`
	}
	// SpoolEvicted records that kept results were removed and why: "age", "count", "bytes", "crash", "forgotten".
	SpoolEvicted struct {
		Results int    `json:"results"`
		Bytes   int64  `json:"bytes"`
		Why     string `json:"why"`
	}
)

// observe adds an event of the tools plane to the figures.
func (m *MCP) observe(e Event) {
	switch e := e.(type) {
	case ToolsListed:
		if e.Tokens > 0 { // the list that the client was given, not what was asked for behind it
			m.DefinitionTokens, m.Deferred = e.Tokens, e.Deferred
		}
	case ToolCalled:
		m.Calls++
		m.UpstreamBytes += e.UpstreamBytes
		m.DeliveredBytes += e.DeliveredBytes
		if e.Spilled {
			m.Spilled++
		}
	case ToolsTallied:
		m.Calls += e.Calls
		m.UpstreamBytes += e.UpstreamBytes
		m.DeliveredBytes += e.DeliveredBytes
		m.Spilled += e.Spilled
		m.DefinitionTokens += e.DefinitionTokens
		m.Deferred += e.Deferred
	}
}

// Kind implements [Event].
func (ToolCalled) Kind() string      { return "tools.called" }
func (ToolResultLarge) Kind() string { return "tools.result_large" }
func (ToolsListed) Kind() string     { return "tools.listed" }
func (ToolRefused) Kind() string     { return "tools.refused" }
func (ToolRead) Kind() string        { return "tools.read" }
func (ToolServer) Kind() string      { return "tools.server" }
func (ToolNoise) Kind() string       { return "tools.noise" }
func (ToolsTallied) Kind() string    { return "tools.tallied" }
func (SpoolEvicted) Kind() string    { return "tools.spool_evicted" }
