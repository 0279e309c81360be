package remember

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// Reach holds the circumstances that decide, beside the settings, about the memory of a tool here.
type Reach struct {
	// Agent is the profile of the tool; nil for none in particular.
	Agent *profile.Agent
	// NoProxy is the reason why the tool's requests do not go through the proxy; "" if they do, or for no tool in particular.
	NoProxy string
	// NoTools is the reason why the tool is not offered the memory's tools; "" if it is.
	NoTools string
}

// Describe returns one line for people: what the memory does, what it does not, and why. Doctor, `config check`, dry runs and reports all use it.
func (r Reach) Describe(s config.Settings) string {
	if s.Memory.State == config.MemoryOff {
		return "off: nothing is kept, and nothing is added to prompts (" + s.Source("memory.on").String() + ")"
	}
	if s.Window.Store == "off" {
		return "off: nothing is kept, because [window] store is off (" + s.Source("window.store").String() + ")"
	}
	on := s.Memory.State == config.MemoryOn
	var all []string
	say := func(text string) { all = append(all, text) }
	switch {
	case on && r.NoProxy == "":
		say("every turn is kept, and what you said before is added to prompts")
	case on:
		say("nothing is kept or added to prompts, because " + r.NoProxy)
	case r.NoProxy == "":
		say("what a compaction cuts is kept, and nothing is added to prompts")
	default:
		say("nothing is kept, because " + r.NoProxy)
	}
	switch {
	case !on:
		say("no tools")
	case r.NoTools != "" && r.NoTools == r.NoProxy:
		say("no tools either")
	case r.NoTools == "":
		say("tools to search it")
	default:
		say("no tools, because " + r.NoTools)
	}
	say(describeFacts(s.Memory))
	if s.Memory.EmbedURL != "" {
		say("searched by words and, with " + cmp.Or(s.Memory.EmbedModel, "a model that embed_model has to name") + ", by meaning")
	}
	switch {
	case !on:
		say("[memory] on = true, or plimsoll setup, switches it on")
	case r.NoProxy == "" && (r.Agent == nil || r.Agent.Typed == nil):
		say("what you type at a terminal counts as yours only in Claude Code and Codex")
	}
	return strings.Join(all, "; ")
}

// describeFacts returns the clause about facts: whether a model draws them from what is said, and if not, why.
func describeFacts(m config.MemorySettings) string {
	switch {
	case !m.Facts:
		return "no facts, because no model was agreed to (a subscription is never used)"
	case m.FactsModel == "":
		return "no facts, because facts_model names no model"
	}
	at := ""
	if m.FactsURL != "" {
		at = " at " + m.FactsURL
	}
	return fmt.Sprintf("facts by %s%s while plimsoll serve runs, at most %d tokens a day", m.FactsModel, at, m.FactsTokens)
}
