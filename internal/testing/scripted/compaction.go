package scripted

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/plimsoll/plimsoll/window/wire"
)

// maxOrigins bounds what a compaction block remembers of the ones before it.
const maxOrigins = 64

const maxInstructions = 16384 // characters of compaction.instructions

// compactionConfig is the request's setting of the provider's own compaction.
type compactionConfig struct {
	Type         string
	Instructions string
}

// summarizes checks a request for a summary on demand against the rules of platform.claude.com,
// "Compaction on demand" (November 2026), and reports whether it is one.
func (p *Provider) summarizes(r *Request) (bool, error) {
	raw, ok := r.top["compaction"]
	if !ok || string(raw) == "null" {
		return false, nil
	}
	var c compactionConfig
	if json.Unmarshal(raw, &c) != nil || c.Type != "" && c.Type != "summarize" {
		return false, deny(CauseParameter, "compaction: Input tag does not match any of the expected tags: 'summarize'")
	}
	no := func(words string) (bool, error) { return false, deny(CauseCompaction, words) }
	if p.o.Bedrock || !r.bound.rule.Compacts {
		return no("compaction: this model does not support on-demand compaction")
	}
	if !r.bound.has(BetaCompact) {
		return no("compaction: the `compaction` parameter requires anthropic-beta: " + BetaCompact)
	}
	for _, name := range []string{"context_management", "stop_sequences"} {
		if excluded, ok := r.top[name]; ok && string(excluded) != "null" {
			return no("compaction: `compaction` and `" + name + "` cannot be combined on one request")
		}
	}
	var output struct {
		Format     json.RawMessage
		TaskBudget struct{ Remaining json.RawMessage } `json:"task_budget"`
	}
	json.Unmarshal(r.top["output_config"], &output)
	var choice struct{ Type string }
	json.Unmarshal(r.top["tool_choice"], &choice)
	switch {
	case output.Format != nil:
		return no("compaction: `compaction` and `output_config.format` cannot be combined on one request")
	case output.TaskBudget.Remaining != nil:
		return no("compaction: `compaction` and `output_config.task_budget.remaining` cannot be combined on one request")
	case choice.Type == "any" || choice.Type == "tool":
		return no("compaction: `compaction` and a `tool_choice` of type `" + choice.Type + "` cannot be combined on one request")
	case len([]rune(c.Instructions)) > maxInstructions:
		return no(fmt.Sprintf("compaction.instructions: String should have at most %d characters", maxInstructions))
	}
	content := false
	for _, m := range r.list {
		content = content || len(p.parser.message(m).pieces) > 0
	}
	if !content {
		return false, &denial{CauseCompaction, "compaction: there is nothing to summarize", "compaction_nothing_to_summarize"}
	}
	last := p.parser.message(r.list[len(r.list)-1])
	for _, piece := range last.pieces {
		if last.role == "assistant" && piece.kind == "tool_use" {
			return no("compaction: the last assistant turn ends in a tool call that has no result yet")
		}
	}
	return true, nil
}

// blocks holds the signed compaction blocks of a request to their rules.
func (p *Provider) blocks(r *Request) error {
	found := 0
	for i, raw := range r.list {
		for j, piece := range p.parser.message(raw).pieces {
			if piece.kind != "compaction" || !piece.signed {
				continue
			}
			path := fmt.Sprintf("messages.%d.content.%d", i, j)
			found++
			t, ok := unseal(piece.sealed, "compaction")
			code := func(code, words string) error { return &denial{CauseCompaction, path + ": " + words, code} }
			switch {
			case !r.bound.has(BetaCompact) || p.o.Bedrock:
				return deny(CauseCompaction, path+": Input tag 'compaction' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'search_result', 'text', 'thinking', 'tool_result', 'tool_use'")
			case piece.extra:
				return deny(CauseCompaction, path+".compaction: Extra inputs are not permitted")
			case !ok:
				return code("compaction_signature_invalid", "Invalid `signature` in `compaction` block")
			case t.Text != textDigest(piece.text):
				return code("compaction_content_mismatch", "The `content` of the `compaction` block is not what was returned")
			case found > 1:
				return deny(CauseCompaction, path+": a request carries exactly one `compaction` block")
			case i > 0 || j > 0:
				return code("compaction_block_misplaced", "the `compaction` block must come first in `messages`; remove the messages it summarizes")
			}
		}
	}
	return nil
}

// firstKept returns the role of the first content after a compaction block; "" if there is none.
func (p *Provider) firstKept(r *Request, i, j int) string {
	if m := p.parser.message(r.list[i]); j+1 < len(m.pieces) {
		return m.role
	}
	if i+1 < len(r.list) {
		return p.parser.message(r.list[i+1]).role
	}
	return ""
}

// begin puts a compaction block in the place of what it summarizes: what is kept behind it may be
// bound to the block, or to what stood there before. The latter holds while system and tools are
// those of the compaction request, and where the first kept message does not become one with the
// last that was summarized (platform.claude.com, "Compaction and preserved thinking").
func (b *binding) begin(block piece, next string) {
	b.states = []digest{digest{}.chain("compaction", block.sum)}
	t, ok := unseal(block.sealed, "compaction")
	if !ok || t.System != b.system || t.Tools != b.tools || next == t.Last || next == "system" {
		return
	}
	b.states = append(b.states, t.Origins...)
}

// compaction returns the block that a request for a summary is answered with.
func (b *binding) compaction(text string) string {
	t := token{Kind: "compaction", Family: b.rule.Family, Text: textDigest(text), System: b.system, Tools: b.tools, Last: b.last}
	if b.rule.Bound == ToPrefix {
		t.Origins = b.states[:min(len(b.states), maxOrigins)]
	}
	return t.seal()
}

// validated returns the body for the validators, which want a message of the user first: in place of a signed compaction block that is a
// message by itself, such a message is put.
func (p *Provider) validated(r *Request) []byte {
	if r.Dialect != wire.Messages || len(r.list) == 0 || !bytes.Contains(r.list[0], []byte(`"compaction"`)) {
		return r.Body
	}
	first := p.parser.message(r.list[0])
	if len(first.pieces) != 1 || first.pieces[0].kind != "compaction" || !first.pieces[0].signed {
		return r.Body
	}
	list := append([]json.RawMessage{json.RawMessage(`{"role":"user","content":"(summary)"}`)}, r.list[1:]...)
	top := map[string]any{}
	for name, raw := range r.top {
		top[name] = raw
	}
	top["messages"] = list
	body, err := json.Marshal(top)
	if err != nil {
		return r.Body
	}
	return body
}
