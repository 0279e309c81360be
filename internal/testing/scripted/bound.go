package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The betas of Messages that are known here.
const (
	BetaBinding = "thinking-binding-controls-2026-08-01"
	BetaCompact = "compact-2026-09-04"
)

// Reasoning counts the fates of the reasoning that a request brought back.
type Reasoning struct {
	Sent, Accepted, Dropped int // blocks of Messages, items of Responses
	Made                    int // that the answer holds
	// Transformations are the entries of input_transformations, also when the request did not
	// ask to be told.
	Transformations []Transformation
}

// A Transformation is one entry of input_transformations.
type Transformation struct {
	Type string `json:"type"` // "thinking_dropped", "thinking_mismatch_allowed", "reasoning_dropped"
	Path string `json:"path"`
	// Reason is "organization_binding_mismatch", "model_binding_mismatch" or
	// "prefix_binding_mismatch" in Messages, "prefix_mismatch" and so on in Responses.
	Reason string `json:"reason"`
}

// binding holds the findings of a walk over a request, which its answer is bound to.
type binding struct {
	rule    Rule
	account string
	betas   []string
	system  string
	tools   string
	// states are the digests of what was said so far: the first as it was sent, the others as it
	// was before the provider's own compaction took its place.
	states  []digest
	before  string // the id of the last block of reasoning that counts
	last    string // the role of the last message
	dropped [][2]int
}

func (b *binding) has(beta string) bool { return slices.Contains(b.betas, beta) }

func (b *binding) step(kind string, sum digest) {
	for i, s := range b.states {
		b.states[i] = s.chain(kind, sum)
	}
}

// readBetas returns those of the header, and of the body, where Bedrock and Vertex have them.
func (r *Request) readBetas() []string {
	var betas []string
	for _, line := range r.Header.Values("Anthropic-Beta") {
		for b := range strings.SplitSeq(line, ",") {
			betas = append(betas, strings.TrimSpace(b))
		}
	}
	var inside []string
	json.Unmarshal(r.top["anthropic_beta"], &inside)
	return append(betas, inside...)
}

// thinkingConfig is the request's thinking parameter.
type thinkingConfig struct {
	Type         string
	Budget       json.Number `json:"budget_tokens"`
	Display      string
	BlockBinding *struct {
		Mismatch string `json:"prefix_mismatch_behavior"`
	} `json:"block_binding"`
}

func (r *Request) thinking() thinkingConfig {
	var t thinkingConfig
	json.Unmarshal(r.top["thinking"], &t)
	var fields struct{ Thinking *thinkingConfig }
	if json.Unmarshal(r.top["additionalModelRequestFields"], &fields) == nil && fields.Thinking != nil {
		t = *fields.Thinking
	}
	return t
}

// checkReasoning checks the reasoning in a Messages request against what it is bound to, and notes in r.bound what the reasoning of the
// answer will be bound to.
func (p *Provider) checkReasoning(r *Request) error {
	b := &binding{rule: p.rule(r.Model), account: account(r.Header), betas: r.readBetas(), system: plainDigest(r.top["system"]), tools: toolsDigest(r.top["tools"]), states: []digest{{}}}
	r.bound = b
	behaviour, err := b.behaviour(r.thinking())
	if err != nil {
		return err
	}
	if err := p.blocks(r); err != nil {
		return err
	}
	assistant := r.lastAssistant(p)
	for i, raw := range r.list {
		m := p.parser.message(raw)
		marked := false
		for j, piece := range m.pieces {
			switch piece.kind {
			case "compaction":
				if piece.signed {
					b.begin(piece, p.firstKept(r, i, j))
					continue
				}
			case "thinking", "redacted_thinking":
				r.Reasoning.Sent++
				if err := p.judgeBlock(r, i, j, piece, behaviour, i == assistant); err != nil {
					return err
				}
				continue
			}
			if !marked {
				b.step("role "+m.role, digest{})
				marked = true
			}
			b.step(piece.kind, piece.sum)
		}
		if m.role != "" {
			b.last = m.role
		}
	}
	return nil
}

// behaviour returns how the request wants blocks to be treated whose prefix has changed: "error", "drop_block", or "" if it does not say.
func (b *binding) behaviour(t thinkingConfig) (string, error) {
	if t.BlockBinding == nil {
		return "", nil
	}
	if !b.has(BetaBinding) {
		return "", deny(CauseParameter, "thinking."+t.Type+".block_binding: Extra inputs are not permitted")
	}
	switch how := t.BlockBinding.Mismatch; how {
	case "", "error", "drop_block":
		return how, nil
	}
	return "", deny(CauseParameter, "thinking."+t.Type+".block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'")
}

func (r *Request) lastAssistant(p *Provider) int {
	for i := len(r.list) - 1; i >= 0; i-- {
		if p.parser.message(r.list[i]).role == "assistant" {
			return i
		}
	}
	return -1
}

// judgeBlock accepts one block of reasoning, drops it, or returns the error with which the request is refused.
func (p *Provider) judgeBlock(r *Request, i, j int, block piece, behaviour string, latest bool) error {
	b, path := r.bound, fmt.Sprintf("messages.%d.content.%d", i, j)
	if b.rule.Bound == ToNothing {
		r.Reasoning.Accepted++
		return nil
	}
	kind, member := "thinking", "signature"
	if block.kind == "redacted_thinking" {
		kind, member = "redacted", "data"
	}
	invalid := path + ": Invalid `" + member + "` in `" + block.kind + "` block"
	if !block.signed {
		return deny(CauseSignature, path+"."+block.kind+"."+member+": Field required")
	}
	t, ok := unseal(block.sealed, kind)
	switch {
	case ok && kind == "thinking" && t.Text != textDigest(block.text) && latest:
		return deny(CauseSignature, path+": `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.")
	case !ok, kind == "thinking" && t.Text != textDigest(block.text):
		return deny(CauseSignature, invalid)
	case t.Account != b.account:
		b.drop(r, i, j, "thinking_dropped", path, "organization_binding_mismatch")
		return nil
	case !b.rule.reads(t):
		b.drop(r, i, j, "thinking_dropped", path, "model_binding_mismatch")
		return nil
	case b.rule.Bound != ToPrefix || t.Prefix == digest{}:
		r.Reasoning.Accepted++
		return nil
	}
	changed := b.changed(t)
	switch {
	case changed == "":
	case behaviour == "drop_block":
		b.drop(r, i, j, "thinking_dropped", path, "prefix_binding_mismatch")
		return nil
	default:
		words := invalid + ". The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
		if !b.has(BetaBinding) {
			words += " That setting requires the `" + BetaBinding + "` value in the `anthropic-beta` header."
		}
		return deny(CausePrefix, words+" "+changed)
	}
	r.Reasoning.Accepted++
	b.before = t.id
	return nil
}

// changed returns what differs from when the block was made; "" when nothing does. The vendor ends
// its refusal with such a sentence; its wording is ours.
//
// The blocks before are no part of the prefix, but each names the one before it: those that come
// back have to be a run of what was made, from wherever it begins.
func (b *binding) changed(t *token) string {
	switch {
	case t.System != b.system:
		return "The `system` prompt differs from when the block was created."
	case t.Tools != b.tools:
		return "The `tools` list differs from when the block was created."
	case !slices.Contains(b.states, t.Prefix):
		return "A message before the block differs from when the block was created."
	case b.before != "" && b.before != t.Before:
		return "A thinking block before the block was removed, moved or put back."
	}
	return ""
}

func (b *binding) drop(r *Request, i, j int, kind, path, reason string) {
	b.dropped = append(b.dropped, [2]int{i, j})
	r.Reasoning.Dropped++
	r.Reasoning.Transformations = append(r.Reasoning.Transformations, Transformation{kind, path, reason})
}

// seal makes the signature of the n-th block of reasoning of an answer.
func (b *binding) seal(kind, text string) string {
	t := token{Kind: kind, Family: b.rule.Family, Rank: b.rule.Rank, Open: b.rule.Alone, Account: b.account, Text: textDigest(text)}
	if b.rule.Bound == ToPrefix {
		t.System, t.Tools, t.Prefix, t.Before = b.system, b.tools, b.states[0], b.before
	}
	sealed := t.seal()
	if made, ok := unseal(sealed, kind); ok {
		b.before = made.id
	}
	return sealed
}
