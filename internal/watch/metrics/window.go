package metrics

import (
	"strconv"

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

// window are the instruments of the window plane. usage is nil where the latest names are wanted, input, output and cached where
// they are not.
type window struct {
	input, output, cached                      *instrument
	usage, before, after, counted              *instrument
	duration, first, overhead, off             *instrument
	requests, compactions, cut, repairs        *instrument
	summaries                                  *instrument
	breaks, removed, dropped, stalls, loops    *instrument
	overflows, refused, passed, moved, evicted *instrument
	limit, plan                                *instrument
	rateWaits, rateAgain, rateWaited           *instrument
}

// register adds the instruments for requests to models, under the names that the options want.
func (w *window) register(all *instruments, o Options) {
	const whole, first = "Time from the request's last byte to the answer's.", "Time from the request's last byte to the answer's first."
	if o.LatestNames {
		w.input = all.counter("gen_ai.client.inference.usage.input_tokens", "{token}", "Input tokens as the provider counted them, those read from a cache among them.")
		w.output = all.counter("gen_ai.client.inference.usage.output_tokens", "{token}", "Output tokens as the provider counted them.")
		w.cached = all.counter("gen_ai.client.inference.usage.cache_read.input_tokens", "{token}", "Input tokens that the provider read from its cache.")
		w.duration = all.histogram("gen_ai.client.inference.duration", "s", whole, durationBuckets)
		w.first = all.histogram("gen_ai.client.inference.time_to_first_chunk", "s", first, durationBuckets)
	} else {
		w.usage = all.histogram("gen_ai.client.token.usage", "{token}", "Input and output tokens as the provider counted them.", tokenBuckets)
		w.duration = all.histogram("gen_ai.client.operation.duration", "s", whole, durationBuckets)
		w.first = all.histogram("gen_ai.server.time_to_first_token", "s", first, durationBuckets)
	}

	w.requests = all.counter("plimsoll.window.requests", "{request}", "Model requests that were looked into.")
	w.counted = all.histogram("plimsoll.window.tokens", "{token}", "Input tokens counted before a request was sent.", tokenBuckets)
	w.off = all.histogram("plimsoll.window.count.error", "1", "Our count less the provider's, as a part of the provider's.", errorBuckets)
	w.overhead = all.histogram("plimsoll.window.overhead", "s", "Time that the proxy took to look into a request and change it.", overheadBuckets)
	w.compactions = all.counter("plimsoll.window.compactions", "{compaction}", "How often room was made, by reason and last rung.")
	w.before = all.histogram("plimsoll.window.compaction.before", "{token}", "Input tokens before room was made.", tokenBuckets)
	w.after = all.histogram("plimsoll.window.compaction.after", "{token}", "Input tokens after room was made.", tokenBuckets)
	w.cut = all.counter("plimsoll.window.cut", "By", "Bytes left out of requests.")
	w.summaries = all.counter("plimsoll.window.summaries", "{summary}", "Summaries that were wanted of a model, by what came of them.")
	w.repairs = all.counter("plimsoll.window.repairs", "{repair}", "Tool calls and results that were paired again, by what was done.")
	w.breaks = all.counter("plimsoll.window.prefix.breaks", "{break}", "Times that what a provider had read was sent to it in another form, by cause.")
	for _, cause := range journal.BreakCauses {
		w.breaks.add(0, makeLabels(textLabel("cause", cause)))
	}
	w.removed = all.counter("plimsoll.window.thinking.removed", "{block}", "Blocks of reasoning that were taken out because what stands before them changed.")
	w.removed.add(0, nil)
	w.dropped = all.counter("plimsoll.window.thinking.dropped", "{block}", "Blocks of reasoning that providers say they dropped, by the reason they give.")
	w.stalls = all.counter("plimsoll.window.stalls", "{answer}", "Answers that stood still and were ended, by how.")
	w.loops = all.counter("plimsoll.window.loops", "{loop}", "Agents that repeated themselves, each episode once, by rule and by what was done.")
	w.overflows = all.counter("plimsoll.window.overflows", "{refusal}", "Refusals as too long, by the form of the error and what came of it.")
	w.refused = all.counter("plimsoll.window.refused", "{request}", "Requests that Plimsoll answered with an error, by reason.")
	w.passed = all.counter("plimsoll.window.passed", "{request}", "Requests that went through without being looked into, by reason.")
	w.moved = all.counter("plimsoll.window.breaker.moves", "{move}", "Moves of the working limit, by state.")
	w.evicted = all.counter("plimsoll.window.store.evictions", "{checkpoint}", "Kept compactions that a bound removed, by reason.")
	w.rateWaits = all.counter("plimsoll.window.rate.waits", "{request}", "Requests that waited until their provider let them through.")
	w.rateAgain = all.counter("plimsoll.window.rate.again", "{request}", "Of these, those that the provider had refused before.")
	w.rateWaited = all.histogram("plimsoll.window.rate.wait", "s", "Longest wait of those that waited at one time.", operationBuckets)
	w.plan = all.gauge("plimsoll.window.plan", "1", "Part of a subscription that is used, as its provider told it last.")
	w.limit = all.gauge("plimsoll.window.limit", "{token}", "Working limit of a model, by where it comes from.")
}

// providerLabel returns the label with the name that the semantic conventions give an upstream.
func providerLabel(upstream string) label {
	name := map[string]string{
		"gemini": "gcp.gemini", "vertex": "gcp.vertex_ai", "bedrock": "aws.bedrock", "azure": "azure.ai.openai",
	}[upstream]
	if name == "" {
		name = cleanLabel(upstream)
	}
	return label{"gen_ai.provider.name", name}
}

// operationLabel returns the label of an operation: "generate_content" for Gemini's protocol and "chat" for the others.
func operationLabel(dialect string) label {
	name := "chat"
	if dialect == "gemini" {
		name = "generate_content"
	}
	return label{"gen_ai.operation.name", name}
}

// observe counts an event of the proxy.
func (w *window) observe(m *Metrics, e journal.Event) {
	reason := func(value string) label { return textLabel("reason", value) }
	switch e := e.(type) {
	case journal.WindowRequest:
		of := makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model))
		w.requests.add(1, makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), label{"dialect", e.Dialect}, label{"counted", e.Counted}))
		w.counted.observe(float64(e.Tokens), of)
		w.overhead.observe(e.Overhead.Seconds(), of)
		if e.LimitTokens > 0 {
			w.limit.set(e.LimitTokens, makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), textLabel("source", e.LimitSource)))
		}
	case journal.WindowResponse:
		w.countResponse(m, e)
	case journal.WindowStalled:
		w.stalls.add(1, makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), boolLabel("reasoning", e.Reasoning), textLabel("ended", e.Ended)))
	case journal.WindowLoop:
		w.loops.add(1, makeLabels(textLabel("rule", e.Rule), textLabel("did", e.Did)))
	case journal.WindowRateWaited:
		of := makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model))
		w.rateWaits.add(int64(e.Requests), of)
		w.rateAgain.add(int64(e.Again), of)
		w.rateWaited.observe(max(e.Longest, e.Since).Seconds(), of)
	case journal.WindowPlan:
		w.plan.setFloat(e.Utilization, makeLabels(providerLabel(e.Upstream), textLabel("window", e.Window)))
	case journal.WindowRepaired:
		w.repairs.add(int64(e.Count), makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), textLabel("what", e.What)))
	case journal.WindowCompacted:
		of := makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model))
		last := "none"
		if len(e.Rungs) > 0 {
			last = e.Rungs[len(e.Rungs)-1]
		}
		w.compactions.add(1, makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), reason(e.Reason), textLabel("rung", last)))
		w.before.observe(float64(e.Before), of)
		w.after.observe(float64(e.After), of)
		w.cut.add(e.CutBytes, of)
	case journal.WindowBreak:
		w.breaks.add(1, makeLabels(textLabel("cause", e.Cause)))
		w.removed.add(int64(e.ThinkingOut), nil)
	case journal.WindowTransformed:
		w.dropped.add(int64(e.Blocks), makeLabels(reason(e.Reason)))
	case journal.WindowSummary:
		w.summaries.add(1, makeLabels(textLabel("outcome", e.Outcome)))
	case journal.WindowOverflow:
		w.overflows.add(1, makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), textLabel("form", e.Form), textLabel("action", e.Action)))
	case journal.WindowRefused:
		w.refused.add(1, makeLabels(reason(e.Reason)))
	case journal.WindowPassed:
		w.passed.add(1, makeLabels(providerLabel(e.Upstream), reason(e.Reason)))
	case journal.WindowBreaker:
		w.moved.add(1, makeLabels(providerLabel(e.Upstream), m.modelLabel(e.Model), textLabel("state", e.State)))
	case journal.WindowStore:
		w.evicted.add(int64(e.Evicted), makeLabels(reason(e.Reason)))
	}
}

// countResponse counts an answer of a model: its tokens, its time, and how far our count of the input was off.
func (w *window) countResponse(m *Metrics, e journal.WindowResponse) {
	of := labels{providerLabel(e.Upstream), m.modelLabel(e.Model), operationLabel(e.Dialect)}
	const kind = "gen_ai.token.type"
	if w.usage == nil {
		w.input.add(e.TokensIn, of)
		w.output.add(e.TokensOut, of)
		w.cached.add(e.CacheRead, of)
	}
	if e.TokensIn > 0 {
		if w.usage != nil {
			w.usage.observe(float64(e.TokensIn), append(of, label{kind, "input"}))
		}
		if e.Estimated > 0 {
			w.off.observe(float64(e.Estimated-e.TokensIn)/float64(e.TokensIn), of[:2])
		}
	}
	if e.TokensOut > 0 && w.usage != nil {
		w.usage.observe(float64(e.TokensOut), append(of, label{kind, "output"}))
	}
	ended := append(of, textLabel("ended", e.Ended))
	if e.Status >= 400 {
		ended = append(ended, label{"error.type", strconv.Itoa(e.Status)})
	}
	w.duration.observe(e.Duration.Seconds(), ended)
	if e.Stream && e.Status < 300 {
		w.first.observe(e.FirstByte.Seconds(), of)
	}
}
