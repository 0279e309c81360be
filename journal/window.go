package journal

import "time"

// The events of the window plane. Counts of tokens are the best estimate unless the field says otherwise; sizes are in bytes. A conversation is
// named by the first 12 hexadecimal digits of the digest it is stored under. Request numbers the requests to models of one proxy from 1, so that
// what belongs to one can be found among those of others; 0: not known.
type (
	// WindowRequest records that one model request was read and is about to be forwarded.
	WindowRequest struct {
		Upstream     string `json:"upstream"` // name of the upstream: "openai", "anthropic", "gemini", …
		Dialect      string `json:"dialect"`
		Model        string `json:"model"`
		Request      uint64 `json:"request,omitempty"`
		Conversation string `json:"conversation,omitempty"`
		Messages     int    `json:"messages"`
		// Tokens is the input as it is forwarded, Low and High the band it was known within.
		Tokens int64 `json:"tokens"`
		Low    int64 `json:"low"`
		High   int64 `json:"high"`
		// Counted is the way of counting: "exact", "estimate", "usage" (known prefix and a tail), "provider".
		Counted string `json:"counted"`
		// LimitTokens is the window in force, 0 when none is known.
		LimitTokens int64 `json:"limit_tokens"`
		// LimitSource is the source of the limit: "config", "learned", "catalogue", "default", "breaker".
		LimitSource string `json:"limit_source,omitempty"`
		// ReceivedBytes and ForwardedBytes are the body's, as it came and as it goes on.
		ReceivedBytes  int64         `json:"received_bytes"`
		ForwardedBytes int64         `json:"forwarded_bytes"`
		Replayed       bool          `json:"replayed,omitempty"` // frozen checkpoints were put in again
		Overhead       time.Duration `json:"overhead_ns"`        // between the last byte read and the first byte sent
	}
	// WindowResponse records that a provider answered a model request. Usage is as the provider
	// reported it; 0 where it did not.
	WindowResponse struct {
		Upstream  string `json:"upstream"`
		Dialect   string `json:"dialect"`
		Model     string `json:"model"`
		Request   uint64 `json:"request,omitempty"`
		Status    int    `json:"status"`
		Stream    bool   `json:"stream"`
		TokensIn  int64  `json:"tokens_in"` // cache reads and writes included
		TokensOut int64  `json:"tokens_out"`
		CacheRead int64  `json:"cache_read"`
		// CacheWrite and Reasoning are parts of TokensIn and TokensOut, CacheHour is one of CacheWrite: what is kept for an hour.
		CacheWrite int64 `json:"cache_write,omitempty"`
		CacheHour  int64 `json:"cache_hour,omitempty"`
		Reasoning  int64 `json:"reasoning,omitempty"`
		// GuessIn and GuessOut stand in for TokensIn and TokensOut where the provider named none, or the answer broke off before it did.
		GuessIn  int64 `json:"guess_in,omitempty"`
		GuessOut int64 `json:"guess_out,omitempty"`
		// Cost is the price of the answer in US dollars; 0 is unknown. With Plan it was asked with the login of a subscription, which
		// pays for it: that is what it would have cost.
		Cost float64 `json:"cost_usd,omitempty"`
		Plan bool    `json:"plan,omitempty"`
		// Server is the provider's host, with its port where it names one. ID, AnsweredBy and Finish are its own words: the answer's
		// name, the model where it is another than Model, and why it ended.
		Server     string `json:"server,omitempty"`
		ID         string `json:"id,omitempty"`
		AnsweredBy string `json:"answered_by,omitempty"`
		Finish     string `json:"finish,omitempty"`
		// EndsTurn is true when the answer came whole and calls no tool: who asks next is the user.
		EndsTurn  bool          `json:"ends_turn,omitempty"`
		Estimated int64         `json:"estimated"` // what was expected for TokensIn
		FirstByte time.Duration `json:"first_byte_ns"`
		Duration  time.Duration `json:"duration_ns"`
		Bytes     int64         `json:"bytes"`
		// Ended is "complete", "client_gone", "upstream_cut" or "stalled".
		Ended string `json:"ended"`
	}
	// WindowStalled records that a streamed answer was ended because its provider sent nothing but signs of life for too long.
	WindowStalled struct {
		Upstream  string        `json:"upstream"`
		Dialect   string        `json:"dialect"`
		Model     string        `json:"model"`
		Request   uint64        `json:"request,omitempty"`
		Quiet     time.Duration `json:"quiet_ns"`            // since the newest event
		Reasoning bool          `json:"reasoning,omitempty"` // while the provider said that the model reasons
		// Ended is the way in which it ended: "error" (in the provider's own words) or "cut" (the connection was).
		Ended string `json:"ended"`
	}
	// WindowRateWaited records that requests wait until the provider lets them through, or have waited. One comes every two seconds at the
	// most, about all requests to one model.
	WindowRateWaited struct {
		Upstream string `json:"upstream"`
		Model    string `json:"model"`
		// Waiting is the number of those that wait now, the longest of them since Since before the record's time.
		Waiting int           `json:"waiting"`
		Since   time.Duration `json:"since_ns,omitempty"`
		// Requests went on after they had waited Waited in all, since the last such record; Again is how many of them the provider had
		// refused, and were sent again.
		Requests int           `json:"requests"`
		Again    int           `json:"again,omitempty"`
		Waited   time.Duration `json:"waited_ns"`
		Longest  time.Duration `json:"longest_ns"`
		// Unit is short: "requests", "tokens", "input tokens" or "output tokens", of which Left of Limit a minute are left. Without a Limit
		// the provider has named none. Pause is what is left of the time for which it asked to be left alone.
		Unit  string        `json:"unit,omitempty"`
		Left  int64         `json:"left,omitempty"`
		Limit int64         `json:"limit,omitempty"`
		Pause time.Duration `json:"pause_ns,omitempty"`
	}
	// WindowPlan records that a provider told how much of a subscription is used, whenever that has changed by a hundredth.
	WindowPlan struct {
		Upstream string `json:"upstream"`
		// Account names the login by the first 12 hexadecimal digits of a digest under a key of this host.
		Account     string    `json:"account"`
		Window      string    `json:"window"`           // its length, and a model where it is of that only: "5h", "7d", "7d_opus"
		Utilization float64   `json:"utilization"`      // 1 is all of it
		Status      string    `json:"status,omitempty"` // the provider's word: "allowed", "allowed_warning", "rejected"
		Reset       time.Time `json:"reset,omitzero"`   // when it begins anew
	}
	// WindowRepaired records that calls and results of one request were paired again.
	WindowRepaired struct {
		Upstream     string `json:"upstream"`
		Model        string `json:"model"`
		Conversation string `json:"conversation,omitempty"`
		// What is one of package window/repair's kinds: "synthesised", "moved", "dropped", …
		What   string `json:"what"`
		Count  int    `json:"count"`
		CallID string `json:"call_id,omitempty"` // of the first
	}
	// WindowCompacted records that room was made in a conversation.
	WindowCompacted struct {
		Upstream     string        `json:"upstream"`
		Model        string        `json:"model"`
		Request      uint64        `json:"request,omitempty"`
		Conversation string        `json:"conversation,omitempty"`
		Checkpoint   string        `json:"checkpoint,omitempty"`
		Reason       string        `json:"reason"`             // "trigger", "overflow", "limit", "result_size" (a result was over max_tool_output), "topic" (one task ended)
		Boundary     string        `json:"boundary,omitempty"` // what showed the end of a task, of package internal/window/topic: "prompt", "idle", "clear", "directory", "branch", "todos"
		Rungs        []string      `json:"rungs"`              // those that did something, in order
		Before       int64         `json:"before_tokens"`
		After        int64         `json:"after_tokens"`
		Messages     int           `json:"messages"` // cut, replaced or summarised
		CutBytes     int64         `json:"cut_bytes"`
		Took         time.Duration `json:"took_ns"`
		SummaryIn    int64         `json:"summary_tokens_in,omitempty"` // what a model summary cost
		SummaryOut   int64         `json:"summary_tokens_out,omitempty"`
		SummaryError string        `json:"summary_error,omitempty"` // why a model's summary was not used
	}
	// WindowBreak records that what a provider has read before was sent to it in another form: from Message on its prompt cache does not
	// hold, and reasoning that is bound to what stands before it counts no more.
	WindowBreak struct {
		Upstream     string `json:"upstream"`
		Dialect      string `json:"dialect"`
		Model        string `json:"model"`
		Request      uint64 `json:"request,omitempty"`
		Conversation string `json:"conversation,omitempty"`
		// Cause is one of [BreakCauses].
		Cause       string `json:"cause"`
		Message     int    `json:"message"`                // the first that changed, from 0 in what is sent
		ThinkingOut int    `json:"thinking_out,omitempty"` // blocks of reasoning that were taken out with it
	}
	// WindowTransformed records that a provider reported in its answer that it changed the input before the model read it.
	WindowTransformed struct {
		Upstream string `json:"upstream"`
		Dialect  string `json:"dialect"`
		Model    string `json:"model"`
		Request  uint64 `json:"request,omitempty"`
		// What and Reason are the provider's own words: "thinking_dropped", "prefix_binding_mismatch", …; "" where it gives none.
		What   string `json:"what,omitempty"`
		Reason string `json:"reason,omitempty"`
		Blocks int    `json:"blocks"`
	}
	// WindowSummaryUnused records that a model was asked for a summary in a compaction that came
	// to nothing.
	WindowSummaryUnused struct {
		Upstream     string `json:"upstream"`
		Model        string `json:"model"`
		Conversation string `json:"conversation,omitempty"`
		SummaryIn    int64  `json:"summary_tokens_in,omitempty"` // what it cost all the same
		SummaryOut   int64  `json:"summary_tokens_out,omitempty"`
		Error        string `json:"summary_error,omitempty"`
	}
	// WindowSummary records what came of wanting a summary of a model.
	WindowSummary struct {
		Outcome string        `json:"outcome"` // "written", "failed", "timed_out", "skipped" (left alone after failures), "refused" (there is no such thing)
		Took    time.Duration `json:"took_ns"`
		Rest    time.Duration `json:"rest_ns,omitempty"` // for which the model is left alone from now on
		Error   string        `json:"error,omitempty"`
		// The rest is of one that was written in the background, while no request waited for it. By is "provider" for the provider's
		// own compaction, and "model" for a model with a key of its own.
		By           string `json:"by,omitempty"`
		Upstream     string `json:"upstream,omitempty"`
		Model        string `json:"model,omitempty"`
		Conversation string `json:"conversation,omitempty"`
		Messages     int    `json:"messages,omitempty"`          // of the client's, that it covers
		SummaryIn    int64  `json:"summary_tokens_in,omitempty"` // what it cost, with what was read from the cache
		SummaryOut   int64  `json:"summary_tokens_out,omitempty"`
		CacheRead    int64  `json:"summary_cache_read,omitempty"`
	}
	// WindowOverflow records that a provider refused a request as too long.
	WindowOverflow struct {
		Upstream string `json:"upstream"`
		Model    string `json:"model"`
		Request  uint64 `json:"request,omitempty"`
		// Form names the row of the table of phrases that matched.
		Form string `json:"form"`
		// LimitTokens is the limit that the error named, where it passed the sanity check, else 0.
		LimitTokens int64 `json:"limit_tokens"`
		Try         int   `json:"try"` // 1 for the first refusal of a request
		// Action is "retried", "recovered", "given_up" or "learned" (a stop reason after content).
		Action string `json:"action"`
	}
	// WindowRefused records that Plimsoll itself answered a request with an error.
	WindowRefused struct {
		Upstream string `json:"upstream,omitempty"`
		Model    string `json:"model,omitempty"` // where the request was read
		Request  uint64 `json:"request,omitempty"`
		Status   int    `json:"status"`
		Reason   string `json:"reason"` // "token", "host", "origin", "peer", "too_large", "memory", "stalled", "does_not_fit", "upstream", "websocket", "loop"
		Text     string `json:"text"`
	}
	// WindowPassed records that a request went through without being looked into.
	WindowPassed struct {
		Upstream string `json:"upstream"`
		Path     string `json:"path"`
		Reason   string `json:"reason"` // "path", "mode", "aside", "unreadable", "size", "giants" (another large body is being looked into); "invalid": an edit was taken back
		Detail   string `json:"detail,omitempty"`
	}
	// WindowBreaker records that the working limit of a model moved.
	WindowBreaker struct {
		Upstream    string `json:"upstream"`
		Model       string `json:"model"`
		State       string `json:"state"` // "tripped", "recovering", "closed"
		LimitTokens int64  `json:"limit_tokens"`
		Reason      string `json:"reason"`
	}
	// WindowOn records that a run's requests go through the proxy.
	WindowOn struct {
		Client string `json:"client"` // the profile: "claude", "codex", "generic", …
		// Through is true where it sends to the proxy of an outer run, which counts the same requests.
		Through bool `json:"through,omitempty"`
	}
	// WindowOff records why a run goes without the proxy.
	WindowOff struct {
		Reason string `json:"reason"`
		// Unknown is true when the program is none of the agents that are known: it may ask no model at all.
		Unknown bool `json:"unknown,omitempty"`
		// Through is true where its requests go through the proxy of an outer run, which counts them.
		Through bool `json:"through,omitempty"`
	}
	// WindowLoop records that an agent repeats itself: once for each episode.
	WindowLoop struct {
		Upstream     string `json:"upstream"`
		Dialect      string `json:"dialect"`
		Model        string `json:"model"`
		Request      uint64 `json:"request,omitempty"`
		Conversation string `json:"conversation,omitempty"`
		// Rule is one of package internal/window/loops: "identical", "cycle", "failing", "said".
		Rule string `json:"rule"`
		// Did is "warned", "hinted" (the model was told) or "stopped" (the request was refused).
		Did  string `json:"did"`
		Text string `json:"text"` // what repeats, for people
	}
	// WindowStore records what a bound of the store of checkpoints did.
	WindowStore struct {
		Evicted int    `json:"evicted"`
		Bytes   int64  `json:"bytes"`
		Reason  string `json:"reason"` // "bytes", "count", "age", "damaged", "full", "fleet"
	}
)

// BreakCauses are the causes of a [WindowBreak]. Room was made: at the trigger, at the limit, between two tasks, after a refusal for
// length, or because the provider's cache had expired anyway. The client changed what it had sent; reasoning was refused because of it;
// what was kept of the conversation is gone; content that no provider would take was mended, or calls and results were paired again,
// where the provider had read them before.
var BreakCauses = []string{"trigger", "limit", "topic", "overflow", "cold", "client", "binding", "log", "content", "repair"}

// The kinds of the window plane.
func (WindowRequest) Kind() string       { return "window.request" }
func (WindowResponse) Kind() string      { return "window.response" }
func (WindowStalled) Kind() string       { return "window.stalled" }
func (WindowRateWaited) Kind() string    { return "window.rate_waited" }
func (WindowPlan) Kind() string          { return "window.plan" }
func (WindowRepaired) Kind() string      { return "window.repaired" }
func (WindowCompacted) Kind() string     { return "window.compacted" }
func (WindowBreak) Kind() string         { return "window.prefix_break" }
func (WindowTransformed) Kind() string   { return "window.transformed" }
func (WindowOverflow) Kind() string      { return "window.overflow" }
func (WindowRefused) Kind() string       { return "window.refused" }
func (WindowPassed) Kind() string        { return "window.passed" }
func (WindowBreaker) Kind() string       { return "window.breaker" }
func (WindowOn) Kind() string            { return "window.on" }
func (WindowOff) Kind() string           { return "window.off" }
func (WindowSummaryUnused) Kind() string { return "window.summary_unused" }
func (WindowSummary) Kind() string       { return "window.summary" }
func (WindowLoop) Kind() string          { return "window.loop" }
func (WindowStore) Kind() string         { return "window.store" }

// Then returns words for what was done about the loop, as the end of a sentence; "" if the user was only told of it.
func (e WindowLoop) Then() string {
	switch e.Did {
	case "hinted":
		return "; the model is told so"
	case "stopped":
		return "; its requests are refused until its user says something new"
	}
	return ""
}

// Why returns the reason with what showed the boundary, for people: "topic: prompt".
func (e WindowCompacted) Why() string {
	if e.Boundary == "" {
		return e.Reason
	}
	return e.Reason + ": " + e.Boundary
}
