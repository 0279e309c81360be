package metrics

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/plimsoll/plimsoll/journal"
)

// Buckets that the semantic conventions for generative AI give.
var (
	tokenBuckets    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	durationBuckets = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
)

// Buckets of our own: what the proxy adds, in seconds, and how far a count was from the
// provider's, as a part of the latter.
var (
	overheadBuckets = []float64{0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5}
	errorBuckets    = []float64{-0.5, -0.2, -0.1, -0.05, -0.02, -0.01, 0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1}
)

// window are the instruments of the window plane.
type window struct {
	usage, before, after, counted              metric.Int64Histogram
	duration, first, overhead, off             metric.Float64Histogram
	requests, compactions, cut, repairs        metric.Int64Counter
	overflows, refused, passed, moved, evicted metric.Int64Counter
	limit                                      metric.Int64Gauge
}

func (w *window) make(meter metric.Meter) error {
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	whole := func(name, text string) metric.Int64Histogram {
		h, err := meter.Int64Histogram(name, metric.WithUnit("{token}"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(tokenBuckets...))
		errs = append(errs, err)
		return h
	}
	float := func(name, unit, text string, buckets []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	w.usage = whole("gen_ai.client.token.usage", "Input and output tokens as the provider counted them.")
	w.duration = float("gen_ai.client.operation.duration", "s", "Time from the request's last byte to the answer's.", durationBuckets)
	w.first = float("gen_ai.server.time_to_first_token", "s", "Time from the request's last byte to the answer's first.", durationBuckets)

	w.requests = counter("plimsoll.window.requests", "{request}", "Model requests that were looked into.")
	w.counted = whole("plimsoll.window.tokens", "Input tokens counted before a request was sent.")
	w.off = float("plimsoll.window.count.error", "1", "Our count less the provider's, as a part of the provider's.", errorBuckets)
	w.overhead = float("plimsoll.window.overhead", "s", "Time that the proxy took to look into a request and change it.", overheadBuckets)
	w.compactions = counter("plimsoll.window.compactions", "{compaction}", "How often room was made, by reason and last rung.")
	w.before = whole("plimsoll.window.compaction.before", "Input tokens before room was made.")
	w.after = whole("plimsoll.window.compaction.after", "Input tokens after room was made.")
	w.cut = counter("plimsoll.window.cut", "By", "Bytes left out of requests.")
	w.repairs = counter("plimsoll.window.repairs", "{repair}", "Tool calls and results that were paired again, by what was done.")
	w.overflows = counter("plimsoll.window.overflows", "{refusal}", "Refusals as too long, by the form of the error and what came of it.")
	w.refused = counter("plimsoll.window.refused", "{request}", "Requests that Plimsoll answered with an error, by reason.")
	w.passed = counter("plimsoll.window.passed", "{request}", "Requests that went through without being looked into, by reason.")
	w.moved = counter("plimsoll.window.breaker.moves", "{move}", "Moves of the working limit, by state.")
	w.evicted = counter("plimsoll.window.store.evictions", "{checkpoint}", "Kept compactions that a bound removed, by reason.")
	limit, err := meter.Int64Gauge("plimsoll.window.limit", metric.WithUnit("{token}"), metric.WithDescription("Working limit of a model, by where it comes from."))
	w.limit = limit
	return errors.Join(append(errs, err)...)
}

// provider is the name that the semantic conventions give an upstream.
func provider(upstream string) attribute.KeyValue {
	name := map[string]string{
		"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "bedrock": "aws.bedrock", "azure": "azure.ai.openai",
	}[upstream]
	if name == "" {
		name = clip(upstream)
	}
	return attribute.String("gen_ai.provider.name", name)
}

// operation is "generate_content" for Gemini's protocol and "chat" for the others.
func operation(dialect string) attribute.KeyValue {
	name := "chat"
	if dialect == "gemini" {
		name = "generate_content"
	}
	return attribute.String("gen_ai.operation.name", name)
}

func (w *window) observe(ctx context.Context, m *Metrics, e journal.Event) {
	with := func(kv ...attribute.KeyValue) metric.MeasurementOption { return metric.WithAttributes(kv...) }
	reason := func(text string) attribute.KeyValue { return attribute.String("reason", clip(text)) }
	switch e := e.(type) {
	case journal.WindowRequest:
		of := with(provider(e.Upstream), m.model(e.Model))
		w.requests.Add(ctx, 1, with(provider(e.Upstream), m.model(e.Model), attribute.String("dialect", e.Dialect), attribute.String("counted", e.Counted)))
		w.counted.Record(ctx, e.Tokens, of)
		w.overhead.Record(ctx, e.Overhead.Seconds(), of)
		if e.LimitTokens > 0 {
			w.limit.Record(ctx, e.LimitTokens, with(provider(e.Upstream), m.model(e.Model), attribute.String("source", clip(e.LimitSource))))
		}
	case journal.WindowResponse:
		w.response(ctx, m, e)
	case journal.WindowRepaired:
		w.repairs.Add(ctx, int64(e.Count), with(provider(e.Upstream), m.model(e.Model), attribute.String("what", clip(e.What))))
	case journal.WindowCompacted:
		of := with(provider(e.Upstream), m.model(e.Model))
		last := "none"
		if len(e.Rungs) > 0 {
			last = e.Rungs[len(e.Rungs)-1]
		}
		w.compactions.Add(ctx, 1, with(provider(e.Upstream), m.model(e.Model), reason(e.Reason), attribute.String("rung", clip(last))))
		w.before.Record(ctx, e.Before, of)
		w.after.Record(ctx, e.After, of)
		w.cut.Add(ctx, e.CutBytes, of)
	case journal.WindowOverflow:
		w.overflows.Add(ctx, 1, with(provider(e.Upstream), m.model(e.Model), attribute.String("form", clip(e.Form)), attribute.String("action", clip(e.Action))))
	case journal.WindowRefused:
		w.refused.Add(ctx, 1, with(reason(e.Reason)))
	case journal.WindowPassed:
		w.passed.Add(ctx, 1, with(provider(e.Upstream), reason(e.Reason)))
	case journal.WindowBreaker:
		w.moved.Add(ctx, 1, with(provider(e.Upstream), m.model(e.Model), attribute.String("state", clip(e.State))))
	case journal.WindowStore:
		w.evicted.Add(ctx, int64(e.Evicted), with(reason(e.Reason)))
	}
}

func (w *window) response(ctx context.Context, m *Metrics, e journal.WindowResponse) {
	of := []attribute.KeyValue{provider(e.Upstream), m.model(e.Model), operation(e.Dialect)}
	kind := attribute.Key("gen_ai.token.type")
	if e.TokensIn > 0 {
		w.usage.Record(ctx, e.TokensIn, metric.WithAttributes(append(of, kind.String("input"))...))
		if e.Estimated > 0 {
			w.off.Record(ctx, float64(e.Estimated-e.TokensIn)/float64(e.TokensIn), metric.WithAttributes(of[:2]...))
		}
	}
	if e.TokensOut > 0 {
		w.usage.Record(ctx, e.TokensOut, metric.WithAttributes(append(of, kind.String("output"))...))
	}
	ended := append(of, attribute.String("ended", clip(e.Ended)))
	if e.Status >= 400 {
		ended = append(ended, attribute.Int("error.type", e.Status))
	}
	w.duration.Record(ctx, e.Duration.Seconds(), metric.WithAttributes(ended...))
	if e.Stream && e.Status < 300 {
		w.first.Record(ctx, e.FirstByte.Seconds(), metric.WithAttributes(of...))
	}
}
