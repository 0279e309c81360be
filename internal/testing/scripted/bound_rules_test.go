package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What is no question of the prefix: signatures that are foreign, lack or do not fit the text.
func TestSignaturesAreChecked(t *testing.T) {
	for _, e := range []struct {
		name   string
		change func(b m) // the thinking of the first turn or of the second
		turn   int
		words  string
	}{
		{"foreign", func(b m) { b["signature"] = "WyJvdGhlciIsIjAiLCJ4Il0=" }, 1, "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"missing", func(b m) { delete(b, "signature") }, 1, "messages.1.content.0.thinking.signature: Field required"},
		{"changed", func(b m) { b["thinking"] = "I meant well" }, 1, "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{"emptied in the latest", func(b m) { b["thinking"] = "" }, 3, "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."},
		{"changed in the latest", func(b m) { b["thinking"] = "I meant well" }, 3, "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified."},
		{"redacted, foreign", func(b m) { b["type"], b["data"] = "redacted_thinking", "AAAA"; delete(b, "thinking") }, 1, "messages.1.content.0: Invalid `data` in `redacted_thinking` block"},
	} {
		for _, model := range []string{"claude-fable-5-1", "claude-opus-5"} {
			_, server := bound(t, Options{})
			c := newTalk(t, server, model)
			c.turn()
			c.turn()
			e.change(at(c.messages[e.turn], "content", 0).(m))
			if words := c.refused(e.words); strings.Contains(words, "different conversation") {
				t.Errorf("%s, %s: %s", e.name, model, words)
			}
			c.betas = []string{BetaBinding} // asking for it to be dropped does not help
			c.body["thinking"] = m{"type": "adaptive", "block_binding": m{"prefix_mismatch_behavior": "drop_block"}}
			c.refused(e.words)
		}
	}
}

// A model that cannot read what another thought, or another account, goes on without; the history
// that comes back to the first one is whole again.
func TestOtherModelsAndAccountsReadNothing(t *testing.T) {
	p, server := bound(t, Options{})
	c := newTalk(t, server, "claude-fable-5-1")
	c.betas = []string{BetaBinding}
	c.turn()
	reading := func(model, key, reason string, accepted, dropped int) {
		t.Helper()
		c.model, c.key = model, key
		v := c.turn()
		told := v["input_transformations"].([]any)
		if r := last(p).Request.Reasoning; r.Accepted != accepted || r.Dropped != dropped || len(told) != dropped || dropped > 0 && at(told, 0, "reason") != reason {
			t.Errorf("%s: %+v, told %v", model, r, told)
		}
	}
	reading("claude-opus-5", "one", "model_binding_mismatch", 0, 1)
	reading("claude-fable-5-1", "one", "", 2, 0)
	reading("claude-fable-5-2", "one", "", 3, 0)
	reading("claude-fable-5-1", "one", "model_binding_mismatch", 3, 1)
	reading("claude-fable-5-1", "two", "organization_binding_mismatch", 0, 5)
}

func TestControlsNeedTheBeta(t *testing.T) {
	p, server := bound(t, Options{})
	c := newTalk(t, server, "claude-fable-5-1")
	c.body["thinking"] = m{"type": "adaptive", "block_binding": m{"prefix_mismatch_behavior": "drop_block"}}
	c.refused("thinking.adaptive.block_binding: Extra inputs are not permitted")
	c.betas = []string{"other-2026-01-01", BetaBinding}
	if v := c.turn(); len(v["input_transformations"].([]any)) != 0 {
		t.Errorf("%v", v["input_transformations"])
	}
	c.body["thinking"] = m{"type": "adaptive", "block_binding": m{"prefix_mismatch_behavior": "shrug"}}
	c.refused("Input should be 'error' or 'drop_block'")
	delete(c.body, "thinking")
	c.betas = nil
	if v := c.turn(); v["input_transformations"] != nil {
		t.Errorf("untold without the beta: %v", v["input_transformations"])
	}
	if s := p.Stats(); s.Refusals[CauseParameter] != 2 {
		t.Errorf("%+v", s)
	}
}

// Adaptive models take a turn without the thinking it began with; where thinking is enabled the
// running turn has to begin with it.
func TestRunningTurnsBeginWithThinking(t *testing.T) {
	for kind, words := range map[string]string{"adaptive": "", "enabled": "Expected `thinking` or `redacted_thinking`, but found `text`"} {
		_, server := bound(t, Options{})
		c := newTalk(t, server, "claude-fable-5-1")
		c.body["thinking"] = m{"type": kind, "budget_tokens": 500}
		c.turn()
		c.strip(1, 0)
		if words == "" {
			c.turn()
			continue
		}
		c.refused(words)
	}
}

func TestCountsRunTheSameCheck(t *testing.T) {
	_, server := bound(t, Options{})
	c := newTalk(t, server, "claude-fable-5-1")
	c.turn()
	c.edit(0, "another task")
	raw, err := json.Marshal(m{"model": c.model, "messages": c.messages, "tools": []any{m{"name": "Bash", "input_schema": json.RawMessage(shellSchema)}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages/count_tokens", strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Api-Key", c.key)
	if status, text := do(t, server, r); status != 400 || !strings.Contains(text, "bound to a different conversation") {
		t.Errorf("%d %s", status, text)
	}
}

// Thinking whose text is left out comes back with its signature alone.
func TestOmittedThinking(t *testing.T) {
	p, server := bound(t, Options{})
	c := newTalk(t, server, "claude-fable-5-1")
	c.body["thinking"] = m{"type": "adaptive", "display": "omitted"}
	for _, stream := range []bool{false, true} {
		c.stream = stream
		if v := c.turn(); at(v, "content", 0, "type") != "thinking" || at(v, "content", 0, "thinking") != "" || at(v, "content", 0, "signature") == "" {
			t.Errorf("%v", v["content"])
		}
	}
	c.turn()
	if r := last(p).Request.Reasoning; r.Accepted != 2 {
		t.Errorf("%+v", r)
	}
}

func TestRulesByName(t *testing.T) {
	for model, want := range map[string]Bound{
		"claude-fable-5-1": ToPrefix, "claude-opus-5-5-20261001": ToPrefix, "us.anthropic.claude-haiku-5-5-v1:0": ToPrefix, "anthropic/claude-fable-5-2": ToPrefix,
		"claude-opus-5": ToModel, "claude-sonnet-4-5": ToModel, "gpt-6.2-sol": ToPrefix, "gpt-5.1": ToModel, "deepseek-chat": ToNothing,
	} {
		if got := RuleOf(model).Bound; got != want {
			t.Errorf("%s is bound to %d, want %d", model, got, want)
		}
	}
}
