package metrics

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plimsoll/plimsoll/journal"
)

// stepBuckets are counts of steps: an agent has 20 unless it is told otherwise.
var stepBuckets = []float64{1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100}

// agents are the instruments of the agent plane.
type agents struct {
	duration, calling                                                          metric.Float64Histogram
	steps, memory                                                              metric.Int64Histogram
	queries, refused, tokens, cut, leaked, loops, rooms, retries, forgot, took metric.Int64Counter
	closed, reopened, dropped, evicted                                         metric.Int64Counter
	removed, shortened, damaged                                                metric.Int64Counter
}

func (a *agents) make(meter metric.Meter) error {
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	seconds := func(name, text string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(operationBuckets...))
		errs = append(errs, err)
		return h
	}
	whole := func(name, unit, text string, buckets []float64) metric.Int64Histogram {
		h, err := meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	a.queries = counter("plimsoll.agent.queries", "{query}", "Queries that ended, by how.")
	a.duration = seconds("plimsoll.agent.query.duration", "Time from the start of a query to its end.")
	a.steps = whole("plimsoll.agent.steps", "{step}", "Requests to the model that a query took.", stepBuckets)
	a.memory = whole("plimsoll.agent.query.memory", "By", "Most that a query held: messages, results, remembered calls.", sizeBuckets)
	a.tokens = counter("plimsoll.agent.tokens", "{token}", "Tokens as providers counted them, by type.")
	a.refused = counter("plimsoll.agent.refused", "{query}", "Queries that were not begun, by reason.")
	a.calling = seconds("plimsoll.agent.call.duration", "Time from a call of a tool to its result.")
	a.took = counter("plimsoll.agent.calls", "{call}", "Calls of tools, by what ended them.")
	a.cut = counter("plimsoll.agent.results.cut", "{result}", "Results that were larger than what is kept or sent of one.")
	a.leaked = counter("plimsoll.agent.calls.leaked", "{call}", "Tools that went on after their call was given up.")
	a.loops = counter("plimsoll.agent.loops", "{loop}", "Models that repeated themselves: told, or ended.")
	a.rooms = counter("plimsoll.agent.rooms", "{time}", "Times that room was made in a conversation, by reason.")
	a.retries = counter("plimsoll.agent.retries", "{request}", "Requests to models that were made again, by failure.")
	a.forgot = counter("plimsoll.agent.sessions.forgotten", "{session}", "Sessions in memory that were dropped for others.")
	a.removed = counter("plimsoll.agent.sessions.evicted", "{session}", "Conversations that a bound of their store removed, by reason.")
	a.shortened = counter("plimsoll.agent.sessions.cut", "{time}", "Times that a conversation reached its own bound.")
	a.damaged = counter("plimsoll.agent.sessions.damaged", "{file}", "Files of conversations with what nobody wrote, or a record whose writer died.")
	a.closed = counter("plimsoll.a2a.queues.closed", "{episode}", "Event queues of tasks that were closed, one for each episode.")
	a.reopened = counter("plimsoll.a2a.queues.reopened", "{episode}", "Event queues that were opened again.")
	a.dropped = counter("plimsoll.a2a.events.dropped", "{event}", "Events that nobody read in time: counted when their queue is opened again or removed.")
	a.evicted = counter("plimsoll.a2a.tasks.evicted", "{task}", "Tasks that a bound of their store removed, by reason.")
	return errors.Join(errs...)
}

func (a *agents) observe(ctx context.Context, m *Metrics, e journal.Event) {
	by := func(agent string, kv ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributes(append(kv, m.agent(agent))...)
	}
	text := func(key, value string) attribute.KeyValue { return attribute.String(key, clip(value)) }
	switch e := e.(type) {
	case journal.AgentQueryEnded:
		a.queries.Add(ctx, 1, by(e.Agent, text("outcome", e.Outcome)))
		a.duration.Record(ctx, e.Duration.Seconds(), by(e.Agent, text("outcome", e.Outcome)))
		a.steps.Record(ctx, int64(e.Steps), by(e.Agent))
		a.memory.Record(ctx, e.PeakBytes, by(e.Agent))
		a.tokens.Add(ctx, e.TokensIn, by(e.Agent, text("gen_ai.token.type", "input")))
		a.tokens.Add(ctx, e.TokensOut, by(e.Agent, text("gen_ai.token.type", "output")))
	case journal.AgentQueryRefused:
		a.refused.Add(ctx, 1, by(e.Agent, text("reason", e.Why)))
	case journal.AgentCalled:
		of := []attribute.KeyValue{m.tool("agent\x00"+e.Agent, e.Tool), attribute.Bool("failed", e.Failed)}
		a.calling.Record(ctx, e.Duration.Seconds(), by(e.Agent, of...))
		if e.Why != "" {
			of = append(of, text("reason", e.Why))
		}
		a.took.Add(ctx, 1, by(e.Agent, of...))
	case journal.AgentResultCut:
		a.cut.Add(ctx, 1, by(e.Agent, text("where", e.Where)))
	case journal.AgentCallLeaked:
		a.leaked.Add(ctx, 1, by(e.Agent))
	case journal.AgentLoop:
		a.loops.Add(ctx, 1, by(e.Agent, text("rule", e.Rule), attribute.Bool("ended", e.Ended)))
	case journal.AgentRoom:
		a.rooms.Add(ctx, 1, by(e.Agent, text("reason", e.Why)))
	case journal.AgentRetry:
		a.retries.Add(ctx, 1, by(e.Agent, text("failure", e.Failure)))
	case journal.AgentForgot:
		a.forgot.Add(ctx, 1, by(e.Agent))
	case journal.AgentSessionsEvicted:
		a.removed.Add(ctx, int64(e.Sessions), metric.WithAttributes(text("reason", e.Why)))
	case journal.AgentSessionCut:
		a.shortened.Add(ctx, 1)
	case journal.AgentSessionDamaged:
		a.damaged.Add(ctx, 1, metric.WithAttributes(text("reason", "damaged")))
	case journal.AgentSessionTorn:
		a.damaged.Add(ctx, 1, metric.WithAttributes(text("reason", "torn")))
	case journal.AgentQueueClosed:
		a.closed.Add(ctx, 1, by(e.Agent))
	case journal.AgentQueueReopened:
		a.reopened.Add(ctx, 1, by(e.Agent))
		a.dropped.Add(ctx, int64(e.Dropped), by(e.Agent))
	case journal.AgentQueueRemoved:
		a.dropped.Add(ctx, int64(e.Dropped), by(e.Agent))
	case journal.AgentTasksEvicted:
		a.evicted.Add(ctx, int64(e.Tasks), by(e.Agent, text("reason", e.Why)))
	}
}

// agent is the label of an agent's name.
func (m *Metrics) agent(name string) attribute.KeyValue {
	return attribute.String("agent", m.label(m.agents, maxAgents, name, name))
}
