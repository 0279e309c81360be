package scripted

import (
	"strconv"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

// thinks reports whether the model thinks: where the request turned it on, and on models that do by
// themselves where it did not turn it off.
func (r *Request) thinks() bool {
	switch r.thinking().Type {
	case "enabled", "adaptive":
		return true
	case "":
		return r.bound != nil && r.bound.rule.Adaptive
	}
	return false
}

// reason completes an answer with what it owes to Options.Reasoning: signatures, a summary, and
// what was done to the request.
func (p *Provider) reason(r *Request, reply Reply, a *modelserver.Answer) {
	b := r.bound
	if r.Dialect == wire.Messages && (b == nil || !r.Summarize) {
		if !r.thinks() {
			a.Thinking, reply.Redacted = "", 0
		}
	}
	if b == nil {
		return
	}
	switch r.Dialect {
	case wire.Responses:
		p.items(r, a)
	case wire.Messages:
		if b.has(BetaBinding) {
			a.Transformations = r.transformations()
		}
		if r.Summarize {
			a.Iteration, a.Usage = &modelserver.Usage{}, modelserver.Usage{}
			*a.Iteration = p.usage(r, reply)
			a.Thinking, a.Calls = "", nil
			if a.Stop == "" && a.Text != "" {
				a.Summary = &modelserver.Summary{Content: a.Text, Signature: b.compaction(a.Text)}
				a.Stop = "compaction"
			}
			a.Text = ""
			return
		}
		if r.thinking().Display == "omitted" && a.Thinking != "" {
			a.Thinking = ""
			a.Signature = b.seal("thinking", "")
		} else if a.Thinking != "" {
			a.Signature = b.seal("thinking", a.Thinking)
		}
		for i := range reply.Redacted {
			a.Redacted = append(a.Redacted, b.seal("redacted", strconv.Itoa(i)))
		}
		r.Reasoning.Made = len(a.Redacted)
		if a.Signature != "" {
			r.Reasoning.Made++
		}
	}
}

// transformations returns the entries of input_transformations: a list, also where there are none.
func (r *Request) transformations() []Transformation {
	return append([]Transformation{}, r.Reasoning.Transformations...)
}
