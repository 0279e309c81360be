package traces

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/traceparent"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// Names of operations (gen_ai.operation.name).
const (
	invokeAgent = "invoke_agent"
	chat        = "chat"
	executeTool = "execute_tool"
	// callTool is the method of MCP that calls a tool.
	callTool = "tools/call"
)

// providers has the values of gen_ai.provider.name by the name of an upstream; dialects has them for upstreams of other names.
var providers = map[string]string{
	"openai": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "azure": "azure.ai.openai", "bedrock": "aws.bedrock",
}

var dialects = map[string]string{"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "gcp.gemini"}

// providerName returns the gen_ai.provider.name of an upstream: by its name, else by the dialect that it speaks, else the name as it is.
func providerName(upstream, dialect string) string {
	return cmp.Or(providers[upstream], dialects[dialect], upstream)
}

// modelSpan returns the span of a request to a model, with the attributes that are known before its answer.
func (f *fold) modelSpan(place, seq uint64, upstream, dialect, model string, q *request, start, end time.Time) span {
	if q.sent != nil {
		upstream, dialect, model = cmp.Or(upstream, q.sent.Upstream), cmp.Or(dialect, q.sent.Dialect), cmp.Or(model, q.sent.Model)
	}
	provider := providerName(upstream, dialect)
	f.provider, f.model = cmp.Or(provider, f.provider), cmp.Or(model, f.model)
	f.requests++
	s := f.newSpan(place, seq, spanName(chat, model), kindClient, start, end)
	a := &s.Attributes
	a.addText("gen_ai.operation.name", chat)
	a.addText("gen_ai.provider.name", provider)
	a.addText("gen_ai.request.model", model)
	if q.sent != nil {
		a.addText("gen_ai.conversation.id", q.sent.Conversation)
		a.addNumber("plimsoll.window.tokens", q.sent.Tokens)
		a.addKnown("plimsoll.window.limit_tokens", q.sent.LimitTokens)
		a.addTrue("gen_ai.conversation.compacted", q.made || q.sent.Replayed)
	}
	a.addText("plimsoll.run.id", f.id)
	s.Events = q.notes
	return s
}

// chatSpan returns the span of a request to a model that was answered, or whose client is gone. It closes the request and adds its tokens to
// those of the run.
func (f *fold) chatSpan(r *journal.Record, e *journal.WindowResponse) span {
	q := f.closeRequest(e.Request)
	start := r.Time.Add(-e.Duration)
	if e.Duration == 0 && q.sent != nil {
		start = q.at.Add(-q.sent.Overhead)
	}
	s := f.modelSpan(r.Seq, r.Seq, e.Upstream, e.Dialect, e.Model, q, start, r.Time)
	f.in, f.out, f.cached = f.in+e.TokensIn, f.out+e.TokensOut, f.cached+e.CacheRead
	a := &s.Attributes
	a.addTrue("gen_ai.request.stream", e.Stream)
	a.addKnown("gen_ai.usage.input_tokens", e.TokensIn)
	a.addKnown("gen_ai.usage.output_tokens", e.TokensOut)
	a.addKnown("gen_ai.usage.cache_read.input_tokens", e.CacheRead)
	a.addKnown("gen_ai.usage.cache_creation.input_tokens", e.CacheWrite)
	a.addKnown("gen_ai.usage.reasoning.output_tokens", e.Reasoning)
	a.addText("gen_ai.response.id", e.ID)
	if e.ID != "" || e.AnsweredBy != "" {
		a.addText("gen_ai.response.model", cmp.Or(e.AnsweredBy, e.Model))
	}
	a.addList("gen_ai.response.finish_reasons", e.Finish)
	a.addServer(e.Server)
	if e.Stream && e.FirstByte > 0 {
		a.addSeconds("gen_ai.response.time_to_first_chunk", e.FirstByte)
	}
	a.addKnown("http.response.status_code", int64(e.Status))
	a.addKnown("plimsoll.response.bytes", e.Bytes)
	switch {
	case e.Status >= 400:
		s.setFailed(strconv.Itoa(e.Status))
	case e.Ended != "" && e.Ended != "complete":
		s.setFailed(e.Ended)
	}
	return s
}

// refusedSpan returns the span of a request to a model that Plimsoll itself answered, and closes the request.
func (f *fold) refusedSpan(r *journal.Record, e *journal.WindowRefused) span {
	q := f.closeRequest(e.Request)
	start := r.Time
	if q.sent != nil {
		start = q.at.Add(-q.sent.Overhead)
	} else if q.seq != 0 {
		start = q.at
	}
	s := f.modelSpan(r.Seq, r.Seq, e.Upstream, "", e.Model, q, start, r.Time)
	s.Attributes.addKnown("http.response.status_code", int64(e.Status))
	s.setFailed(e.Reason)
	return s
}

// unansweredSpan returns the span of a request to a model that had no answer when the run ended.
func (f *fold) unansweredSpan(q *request, at time.Time) span {
	s := f.modelSpan(placeOpen, q.seq, "", "", "", q, q.at.Add(-q.sent.Overhead), at)
	s.setFailed("run_ended")
	return s
}

// callSpan returns the client span of a call of an MCP tool, or of a resource that was read, and counts the call.
func (f *fold) callSpan(r *journal.Record, e *journal.ToolCalled) span {
	s := f.toolSpan(r, e.Server, e.Tool, e.Method, r.Time.Add(-e.Duration))
	a := &s.Attributes
	s.Kind = kindClient
	a.addServer(e.Address)
	f.calls++
	a.addText("mcp.protocol.version", e.Protocol)
	a.addNumber("plimsoll.mcp.upstream_bytes", e.UpstreamBytes)
	a.addNumber("plimsoll.mcp.delivered_bytes", e.DeliveredBytes)
	a.addKnown("plimsoll.mcp.items", e.Items)
	a.addTrue("plimsoll.mcp.spilled", e.Spilled)
	a.addTrue("plimsoll.mcp.cut", e.Cut)
	if e.Failed {
		s.setFailed("tool_error")
	}
	f.setRemote(&s, e.TraceParent)
	return s
}

// refusedCallSpan returns the span of a call that was not passed on.
func (f *fold) refusedCallSpan(r *journal.Record, e *journal.ToolRefused) span {
	s := f.toolSpan(r, e.Server, e.Tool, callTool, r.Time)
	s.setFailed(e.Why)
	return s
}

// toolSpan returns a span with the attributes that all calls of tools have.
func (f *fold) toolSpan(r *journal.Record, server, tool, method string, start time.Time) span {
	name := method
	if method == callTool {
		name = spanName(callTool, tool)
	}
	s := f.newSpan(r.Seq, r.Seq, cmp.Or(cleanText(name), callTool), kindInternal, start, r.Time)
	a := &s.Attributes
	if method == callTool {
		a.addText("gen_ai.operation.name", executeTool)
	}
	a.addText("gen_ai.tool.name", tool)
	a.addText("mcp.method.name", method)
	a.addText("plimsoll.mcp.server", server)
	a.addText("plimsoll.run.id", f.id)
	return s
}

// setRemote makes the span in text, a traceparent, the parent of s, and links s to the run's trace. If that span is not sampled, and so would never
// be seen, s stays in the run's trace and is linked to it instead. It does nothing if text is no traceparent.
func (f *fold) setRemote(s *span, text string) {
	p, ok := traceparent.Parse(text)
	if !ok {
		return
	}
	if !p.Sampled {
		s.Links = append(s.Links, linkTo(parentIDs(p)))
		return
	}
	if f.traced {
		s.Links = append(s.Links, linkTo(f.whole))
	}
	s.TraceID, s.ParentID, s.Flags = parentIDs(p).traceHex(), parentIDs(p).spanHex(), flagsKnown|flagsRemote|1
}

// linkTo returns a link to the span with these IDs.
func linkTo(i ids) linkMessage { return linkMessage{i.traceHex(), i.spanHex()} }

// querySpan returns the span of a question to an agent of Plimsoll's own, and adds its tokens to those of the run.
func (f *fold) querySpan(r *journal.Record, e *journal.AgentQueryEnded) span {
	s := f.newSpan(r.Seq, r.Seq, spanName(invokeAgent, e.Agent), kindInternal, r.Time.Add(-e.Duration), r.Time)
	f.in, f.out, f.cached = f.in+e.TokensIn, f.out+e.TokensOut, f.cached+e.TokensCached
	a := &s.Attributes
	a.addText("gen_ai.operation.name", invokeAgent)
	a.addText("gen_ai.agent.name", e.Agent)
	a.addKnown("gen_ai.usage.input_tokens", e.TokensIn)
	a.addKnown("gen_ai.usage.output_tokens", e.TokensOut)
	a.addKnown("gen_ai.usage.cache_read.input_tokens", e.TokensCached)
	a.addNumber("plimsoll.agent.steps", int64(e.Steps))
	a.addNumber("plimsoll.agent.calls", int64(e.Calls))
	a.addText("plimsoll.outcome", e.Outcome)
	a.addText("plimsoll.run.id", f.id)
	if e.Outcome != "completed" {
		s.setFailed(e.Outcome)
	}
	return s
}

// wholeRunSpan returns the span of the whole run.
func (f *fold) wholeRunSpan(at time.Time, died bool, dropped int64, r *journal.Report) span {
	s := f.newSpan(placeRun, runSpan, spanName(invokeAgent, f.head.Report.Tool), kindInternal, f.head.Started, at)
	s.ParentID = ""
	if f.parent != "" {
		s.ParentID = ids{span: spanID(f.parent, runSpan)}.spanHex()
	}
	outcome := string(r.Outcome)
	if died {
		outcome = runs.Died
	}
	a := &s.Attributes
	a.addText("gen_ai.operation.name", invokeAgent)
	a.addText("gen_ai.agent.name", f.head.Report.Tool)
	a.addText("gen_ai.provider.name", f.provider)
	a.addText("gen_ai.request.model", f.model)
	a.addKnown("gen_ai.usage.input_tokens", f.in)
	a.addKnown("gen_ai.usage.output_tokens", f.out)
	a.addKnown("gen_ai.usage.cache_read.input_tokens", f.cached)
	a.addText("plimsoll.run.id", f.id)
	a.addText("plimsoll.run.kind", f.head.Kind)
	a.addText("plimsoll.project", f.head.Report.Project)
	a.addText("plimsoll.outcome", outcome)
	if f.head.Kind == runs.KindRun && !died && r.Outcome != journal.OutcomeRefused {
		a.addNumber("process.exit.code", int64(r.ExitCode))
	}
	a.addKnown("plimsoll.memory.peak_bytes", r.PeakBytes)
	a.addKnown("plimsoll.memory.limit_bytes", r.LimitBytes)
	a.addKnown("plimsoll.oom_kills", int64(r.OOMKills+r.OOMDKills))
	a.addKnown("plimsoll.killed_children", int64(len(r.KilledChildren)))
	a.addKnown("plimsoll.window.requests", f.requests)
	a.addKnown("plimsoll.window.compactions", f.made)
	a.addKnown("plimsoll.mcp.calls", max(f.calls, r.MCP.Calls))
	a.addKnown("plimsoll.events_dropped", dropped)
	if outcome != string(journal.OutcomeOK) {
		s.setFailed(outcome)
	}
	s.Events = f.notes
	return s
}

// ids are the IDs of a span and its trace: 8 and 16 bytes, written in hexadecimal.
type ids struct {
	trace [16]byte
	span  [8]byte
}

// runSpan is the number of the span for a whole run: records count from 1.
const runSpan = 0

// spanID returns the ID of the span that ends with record seq of a run.
func spanID(run string, seq uint64) [8]byte {
	sum := digest("span", run, seq)
	return [8]byte(sum[:8])
}

// runTraceID returns the ID of a run's trace.
func runTraceID(run string) [16]byte {
	sum := digest("trace", run, runSpan)
	return [16]byte(sum[:16])
}

// requestTraceID returns the ID of the trace of a single request to a daemon.
func requestTraceID(run string, seq uint64) [16]byte {
	sum := digest("trace", run, seq)
	return [16]byte(sum[:16])
}

// digest returns a hash of a kind of ID, a run and a number, from which an ID is taken.
func digest(what, run string, seq uint64) [sha256.Size]byte {
	text := append([]byte("plimsoll "+what+"\x00"+run+"\x00"), make([]byte, 8)...)
	binary.BigEndian.PutUint64(text[len(text)-8:], seq)
	return sha256.Sum256(text)
}

// parentIDs returns the IDs in a traceparent header.
func parentIDs(p traceparent.Parent) ids { return ids{p.Trace, p.Span} }

// traceHex and spanHex return the IDs in hexadecimal, as OTLP has them in JSON.
func (i ids) traceHex() string { return hex.EncodeToString(i.trace[:]) }
func (i ids) spanHex() string  { return hex.EncodeToString(i.span[:]) }
