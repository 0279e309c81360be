package metrics

import (
	"cmp"

	"github.com/plimsoll/plimsoll/journal"
)

// stepBuckets are counts of steps: an agent has 20 unless it is told otherwise.
var stepBuckets = []float64{1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100}

// agents are the instruments of the agent plane.
type agents struct {
	duration, calling                                                          *instrument
	steps, memory                                                              *instrument
	queries, refused, tokens, cut, leaked, loops, rooms, retries, forgot, took *instrument
	closed, reopened, dropped, evicted                                         *instrument
	removed, shortened, damaged                                                *instrument
}

// register adds the instruments for agents.
func (a *agents) register(all *instruments) {
	a.queries = all.counter("plimsoll.agent.queries", "{query}", "Queries that ended, by how.")
	a.duration = all.histogram("plimsoll.agent.query.duration", "s", "Time from the start of a query to its end.", operationBuckets)
	a.steps = all.histogram("plimsoll.agent.steps", "{step}", "Requests to the model that a query took.", stepBuckets)
	a.memory = all.histogram("plimsoll.agent.query.memory", "By", "Most that a query held: messages, results, remembered calls.", sizeBuckets)
	a.tokens = all.counter("plimsoll.agent.tokens", "{token}", "Tokens as providers counted them, by type.")
	a.refused = all.counter("plimsoll.agent.refused", "{query}", "Queries that were not begun, by reason.")
	a.calling = all.histogram("plimsoll.agent.call.duration", "s", "Time from a call of a tool to its result.", operationBuckets)
	a.took = all.counter("plimsoll.agent.calls", "{call}", "Calls of tools, by what ended them.")
	a.cut = all.counter("plimsoll.agent.results.cut", "{result}", "Results that were larger than what is kept or sent of one.")
	a.leaked = all.counter("plimsoll.agent.calls.leaked", "{call}", "Tools that went on after their call was given up.")
	a.loops = all.counter("plimsoll.agent.loops", "{loop}", "Models that repeated themselves: told, or ended.")
	a.rooms = all.counter("plimsoll.agent.rooms", "{time}", "Times that room was made in a conversation, by reason.")
	a.retries = all.counter("plimsoll.agent.retries", "{request}", "Requests to models that were made again, by failure.")
	a.forgot = all.counter("plimsoll.agent.sessions.forgotten", "{session}", "Sessions in memory that were dropped for others.")
	a.removed = all.counter("plimsoll.agent.sessions.evicted", "{session}", "Conversations that a bound of their store removed, by reason.")
	a.shortened = all.counter("plimsoll.agent.sessions.cut", "{time}", "Times that a conversation reached its own bound.")
	a.damaged = all.counter("plimsoll.agent.sessions.damaged", "{file}", "Files of conversations with what nobody wrote, or a record whose writer died.")
	a.closed = all.counter("plimsoll.a2a.queues.closed", "{episode}", "Event queues of tasks that were closed, one for each episode.")
	a.reopened = all.counter("plimsoll.a2a.queues.reopened", "{episode}", "Event queues that were opened again.")
	a.dropped = all.counter("plimsoll.a2a.events.dropped", "{event}", "Events that nobody read in time: counted when their queue is opened again or removed.")
	a.evicted = all.counter("plimsoll.a2a.tasks.evicted", "{task}", "Tasks that a bound of their store removed, by reason.")
}

// observe counts an event of an agent.
func (a *agents) observe(m *Metrics, e journal.Event) {
	by := func(agent string, list ...label) labels { return append(list, m.agentLabel(agent)) }
	switch e := e.(type) {
	case journal.AgentQueryEnded:
		a.queries.add(1, by(e.Agent, textLabel("outcome", e.Outcome)))
		a.duration.observe(e.Duration.Seconds(), by(e.Agent, textLabel("outcome", e.Outcome)))
		a.steps.observe(float64(e.Steps), by(e.Agent))
		a.memory.observe(float64(e.PeakBytes), by(e.Agent))
		a.tokens.add(e.TokensIn, by(e.Agent, textLabel("gen_ai.token.type", "input")))
		a.tokens.add(e.TokensOut, by(e.Agent, textLabel("gen_ai.token.type", "output")))
	case journal.AgentQueryRefused:
		a.refused.add(1, by(e.Agent, textLabel("reason", e.Why)))
	case journal.AgentCalled:
		of := labels{m.toolLabel("agent\x00"+e.Agent, e.Tool), boolLabel("failed", e.Failed)}
		a.calling.observe(e.Duration.Seconds(), by(e.Agent, of...))
		if e.Why != "" {
			of = append(of, textLabel("reason", e.Why))
		}
		a.took.add(1, by(e.Agent, of...))
	case journal.AgentResultCut:
		a.cut.add(1, by(e.Agent, textLabel("where", e.Where)))
	case journal.AgentCallLeaked:
		a.leaked.add(1, by(e.Agent))
	case journal.AgentLoop:
		a.loops.add(1, by(e.Agent, textLabel("rule", e.Rule), boolLabel("ended", e.Ended)))
	case journal.AgentRoom:
		a.rooms.add(1, by(e.Agent, textLabel("reason", e.Why)))
	case journal.AgentRetry:
		a.retries.add(1, by(e.Agent, textLabel("failure", e.Failure)))
	case journal.AgentForgot:
		a.forgot.add(1, by(e.Agent))
	case journal.AgentSessionsEvicted:
		a.removed.add(int64(e.Sessions), makeLabels(textLabel("reason", e.Why)))
	case journal.AgentSessionCut:
		a.shortened.add(1, nil)
	case journal.AgentSessionDamaged:
		a.damaged.add(1, makeLabels(textLabel("reason", "damaged")))
	case journal.AgentSessionTorn:
		a.damaged.add(1, makeLabels(textLabel("reason", "torn")))
	case journal.AgentQueueClosed:
		a.closed.add(1, by(e.Agent))
	case journal.AgentQueueReopened:
		a.reopened.add(1, by(e.Agent))
		a.dropped.add(int64(e.Dropped), by(e.Agent))
	case journal.AgentQueueRemoved:
		a.dropped.add(int64(e.Dropped), by(e.Agent))
	case journal.AgentTasksEvicted:
		a.evicted.add(int64(e.Tasks), by(e.Agent, textLabel("reason", e.Why)))
	}
}

// agentLabel returns the label of an agent's name; beyond maxAgents that of all others.
func (m *Metrics) agentLabel(name string) label {
	return label{"agent", m.labelValue(m.agents, maxAgents, name, name)}
}

// Buckets that the semantic conventions give for MCP operations, in seconds, and ours for
// sizes of results, in bytes: the lines of 10, 100 and 200 KB are among them.
var (
	operationBuckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}
	sizeBuckets      = []float64{1 << 10, 4 << 10, 10 << 10, 40 << 10, 100 << 10, 200 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30}
)

// tools are the instruments of the tools plane.
type tools struct {
	duration, reading                                       *instrument
	upstream, delivered                                     *instrument
	calls, spilled, large, refused, moved, noise, gone, sum *instrument
}

// register adds the instruments for MCP servers and tools.
func (t *tools) register(all *instruments) {
	t.duration = all.histogram("mcp.client.operation.duration", "s", "Time from a call to the end of the server's answer.", operationBuckets)
	t.reading = all.histogram("plimsoll.tools.read.duration", "s", "Time that a page, a search or a query of a kept result took.", operationBuckets)
	t.upstream = all.histogram("plimsoll.tools.result.size", "By", "Results as servers sent them.", sizeBuckets)
	t.delivered = all.histogram("plimsoll.tools.delivered.size", "By", "Results as clients got them.", sizeBuckets)
	t.calls = all.counter("plimsoll.tools.calls", "{call}", "Calls that were answered.")
	t.spilled = all.counter("plimsoll.tools.spilled", "{result}", "Results that went to the spool, so that the client got a page.")
	t.large = all.counter("plimsoll.tools.large", "{result}", "Results over 100 KB (warning) and over 200 KB (alert).")
	t.refused = all.counter("plimsoll.tools.refused", "{call}", "Calls that were not passed on, by reason.")
	t.moved = all.counter("plimsoll.tools.server.states", "{change}", "What became of servers: started, ended, restarting, given_up, lost, killed.")
	t.noise = all.counter("plimsoll.tools.noise", "By", "Bytes from servers that were no message to anybody, by what they were.")
	t.gone = all.counter("plimsoll.tools.spool.evictions", "{result}", "Kept results that were removed, by reason.")
	t.sum = all.counter("plimsoll.tools.spool.evicted", "By", "Bytes of kept results that were removed, by reason.")
}

// observe counts an event of an MCP server.
func (t *tools) observe(m *Metrics, e journal.Event) {
	switch e := e.(type) {
	case journal.ToolCalled:
		t.countCall(m, e)
	case journal.ToolResultLarge:
		t.large.add(1, makeLabels(m.serverLabel(e.Server), m.toolLabel(e.Server, e.Tool), textLabel("level", e.Level)))
	case journal.ToolRefused:
		t.refused.add(1, makeLabels(m.serverLabel(e.Server), textLabel("reason", e.Why)))
	case journal.ToolRead:
		t.reading.observe(e.Duration.Seconds(), makeLabels(m.serverLabel(e.Server), textLabel("what", e.What), boolLabel("failed", e.Failed)))
	case journal.ToolServer:
		t.moved.add(1, makeLabels(m.serverLabel(e.Server), textLabel("state", e.State)))
	case journal.ToolNoise:
		t.noise.add(e.Bytes, makeLabels(m.serverLabel(e.Server), textLabel("what", e.What)))
	case journal.SpoolEvicted:
		t.gone.add(int64(e.Results), makeLabels(textLabel("reason", e.Why)))
		t.sum.add(e.Bytes, makeLabels(textLabel("reason", e.Why)))
	}
}

// countCall counts a call of a tool that was answered.
func (t *tools) countCall(m *Metrics, e journal.ToolCalled) {
	of := labels{m.serverLabel(e.Server), m.toolLabel(e.Server, cmp.Or(e.Tool, e.Method))}
	by := of
	t.calls.add(1, append(of, boolLabel("failed", e.Failed)))
	t.delivered.observe(float64(e.DeliveredBytes), by)
	if e.Spilled {
		t.spilled.add(1, by)
	}
	t.upstream.observe(float64(e.UpstreamBytes), by)
	operation := append(of, textLabel("mcp.method.name", e.Method))
	if e.Method == "tools/call" {
		operation = append(operation, label{"gen_ai.operation.name", "execute_tool"})
	}
	if e.Protocol != "" {
		operation = append(operation, textLabel("mcp.protocol.version", e.Protocol))
	}
	switch {
	case e.Cut:
		operation = append(operation, label{"error.type", "cut"})
	case e.Failed:
		operation = append(operation, label{"error.type", "tool_error"})
	}
	t.duration.observe(e.Duration.Seconds(), operation)
}

// serverLabel returns the label of an MCP server's name; beyond maxServers that of all others.
func (m *Metrics) serverLabel(name string) label {
	return label{"server", m.labelValue(m.servers, maxServers, name, name)}
}

// toolLabel returns the label of a tool's name; beyond maxTools, counted over all servers, that of all others.
func (m *Metrics) toolLabel(server, name string) label {
	return label{"gen_ai.tool.name", m.labelValue(m.tools, maxTools, server+"\x00"+name, name)}
}
