package scripted

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/modelserver"
)

// checkItems does for a Responses request what [Provider.checkReasoning] does for a Messages request. Here reasoning after a change is
// dropped without a refusal, and the response says so (developers.openai.com, "Keep the prefix unchanged", November 2026). The prefix is made
// of tools, text.format and every item before; not of instructions, which GPT-6.2 was the first to leave out. The form of the entries in
// input_transformations is ours: no page shows one.
func (p *Provider) checkItems(r *Request) error {
	b := &binding{rule: p.rule(r.Model), account: account(r.Header), states: []digest{{}}}
	var text struct{ Format json.RawMessage }
	json.Unmarshal(r.top["text"], &text)
	b.tools = toolsDigest(r.top["tools"]) + plainDigest(text.Format)
	r.bound = b
	list := r.list
	if list == nil { // a plain text
		raw, _ := json.Marshal(map[string]json.RawMessage{"role": json.RawMessage(`"user"`), "content": r.top["input"]})
		list = []json.RawMessage{raw}
	}
	for i, raw := range list {
		m := p.parser.message(raw)
		if m.role != "" {
			b.step("role "+m.role, digest{})
			b.last = m.role
		}
		for _, piece := range m.pieces {
			switch piece.kind {
			case "reasoning":
				if piece.signed {
					if err := p.judgeItem(r, i, piece); err != nil {
						return err
					}
				}
				continue
			case "compaction":
				if err := b.beginItem(i, piece); err != nil {
					return err
				}
				continue
			case "compaction_trigger":
				continue // asks for a summary, and is no part of what is said
			}
			b.step(piece.kind, piece.sum)
		}
	}
	if r.Summarize && !b.rule.Compacts {
		return deny(CauseCompaction, "Compaction is not supported with this model.")
	}
	return nil
}

// refuseForeign returns the refusal of encrypted content that is not this provider's.
func refuseForeign(i int, kind string) error {
	return &denial{CauseSignature, fmt.Sprintf("The encrypted content for item input[%d] of type '%s' could not be verified. Reason: Encrypted content could not be decrypted or parsed.", i, kind), "invalid_encrypted_content"}
}

// judgeItem accepts one item of reasoning or drops it. Only an item that this provider did not make is an error.
func (p *Provider) judgeItem(r *Request, i int, item piece) error {
	b := r.bound
	r.Reasoning.Sent++
	if b.rule.Bound == ToNothing {
		r.Reasoning.Accepted++
		return nil
	}
	t, ok := unseal(item.sealed, "reasoning")
	reason := ""
	switch {
	case !ok:
		return refuseForeign(i, "reasoning")
	case t.Account != b.account:
		reason = "organization_mismatch"
	case !b.rule.reads(t):
		reason = "model_mismatch"
	case b.rule.Bound == ToPrefix && t.Prefix != digest{} && !b.hasPrefixOf(t):
		reason = "prefix_mismatch"
	}
	if reason != "" {
		b.drop(r, i, -1, "reasoning_dropped", fmt.Sprintf("input.%d", i), reason)
		return nil
	}
	r.Reasoning.Accepted++
	return nil
}

// hasPrefixOf reports whether the prefix is the one that a token names.
func (b *binding) hasPrefixOf(t *token) bool {
	if slices.Contains(b.states, t.Prefix) {
		return t.Tools == b.tools
	}
	return false
}

// beginItem puts a compaction item in the place of everything before it. Reasoning that is kept
// behind it is bound to the item, or to what stood there before.
func (b *binding) beginItem(i int, item piece) error {
	t, ok := unseal(item.sealed, "compaction")
	if !ok {
		if b.rule.Bound == ToNothing {
			b.states = []digest{digest{}.chain("compaction", item.sum)}
			return nil
		}
		return refuseForeign(i, "compaction")
	}
	b.states = []digest{digest{}.chain("compaction", digestOf([]byte(item.sealed)))}
	if t.Tools == b.tools {
		b.states = append(b.states, t.Origins...)
	}
	return nil
}

// completeItems adds to a Responses answer its reasoning, its summary, and a list of what was dropped from the request.
func (p *Provider) completeItems(r *Request, a *modelserver.Answer) {
	b := r.bound
	if len(r.Reasoning.Transformations) > 0 {
		a.Transformations = r.transformations()
	}
	switch {
	case b.rule.Bound == ToNothing:
	case r.Summarize:
		a.Signature = b.compaction(a.Text)
	default:
		if r.overThreshold() { // what is said from here on is bound to the item
			a.Compacted = b.compaction("")
			b.states = []digest{digest{}.chain("compaction", digestOf([]byte(a.Compacted)))}
		}
		if a.Thinking != "" {
			a.Signature = b.seal("reasoning", "")
			r.Reasoning.Made = 1
		}
	}
}

// overThreshold reports whether the request exceeds the size from which it asks for a compaction of its input.
func (r *Request) overThreshold() bool {
	var edits []struct {
		Type      string
		Threshold int `json:"compact_threshold"`
	}
	json.Unmarshal(r.top["context_management"], &edits)
	for _, e := range edits {
		if e.Type == "compaction" && e.Threshold > 0 && r.Input > e.Threshold {
			return true
		}
	}
	return false
}

// answerCompact answers /responses/compact with the window to go on with: the messages of the user, and after them one compaction item.
func (p *Provider) answerCompact(s *stream, r *Request, a *modelserver.Answer) {
	output := []any{}
	for _, raw := range r.list {
		if p.parser.message(raw).role == "user" {
			output = append(output, raw)
		}
	}
	sealed := a.Signature
	if sealed == "" {
		sealed = token{Kind: "compaction"}.seal()
	}
	output = append(output, m{"id": p.id("cmp_"), "type": "compaction", "encrypted_content": sealed})
	s.JSON(200, m{
		"id": p.id("resp_"), "object": "response.compaction", "created_at": created, "output": output,
		"usage": m{
			"input_tokens": a.Usage.Input, "input_tokens_details": m{"cached_tokens": a.Usage.Cached},
			"output_tokens": a.Usage.Output, "output_tokens_details": m{"reasoning_tokens": 0}, "total_tokens": a.Usage.Input + a.Usage.Output,
		},
	})
}
