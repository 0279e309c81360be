package client

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A Speaker knows whose words the user messages of one client's requests are. The role says little: results of tools,
// reminders, contents of files, expanded commands and the tasks of sub-agents share it. Only what the client's own form proves to
// have been typed by a person counts as that.
//
// The forms were read off recorded sessions at a terminal (testdata/sessions), of the versions in [Profiles]. Whoever holds the
// proxy's token can imitate them: the proof is against what stands in a conversation, not against another program of the user.
type Speaker struct {
	// Client is the name of the profile, "" for a client that is not known.
	Client string
	// Person says that whoever writes the prompts is a person at the client's prompt: no script (claude -p, codex exec), no
	// sub-agent, no task of the client's own.
	Person bool
	// Side says that the request is none of the conversation with the user: a sub-agent's, or one of the client's own, such as
	// the title of the session.
	Side bool
}

// maxTurnMetadata bounds what is read of the header in which Codex describes a request, in bytes.
const maxTurnMetadata = 16 << 10

// SpeakerOf reads what a request says of itself.
func SpeakerOf(h http.Header, r *wire.Request) Speaker {
	agent := h.Get("User-Agent")
	switch {
	case strings.HasPrefix(agent, "claude-cli/"):
		return claudeSpeaker(agent, r)
	case strings.HasPrefix(agent, "codex"):
		return codexSpeaker(h)
	case strings.HasPrefix(agent, "GeminiCLI"):
		return Speaker{Client: "gemini", Side: len(r.Tools) == 0}
	case strings.HasPrefix(agent, "QwenCode/"):
		return Speaker{Client: "qwen", Side: len(r.Tools) == 0}
	case strings.HasPrefix(agent, "opencode/"):
		return Speaker{Client: "opencode", Side: len(r.Tools) == 0 || h.Get("X-Parent-Session-Id") != ""}
	}
	return Speaker{}
}

// claudeSpeaker reads "claude-cli/2.1.197 (external, cli)" and the first block of the system prompt:
// "x-anthropic-billing-header: cc_version=…; cc_entrypoint=cli; cc_is_subagent=true;".
func claudeSpeaker(agent string, r *wire.Request) Speaker {
	s := Speaker{Client: "claude", Side: true}
	if len(r.System) == 0 || len(r.System[0].Texts) == 0 || r.System[0].Span.Len() > maxTurnMetadata {
		return s
	}
	said, ok := strings.CutPrefix(r.Words(&r.System[0]), "x-anthropic-billing-header:")
	entry, sub := "", false
	for field := range strings.SplitSeq(said, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "cc_entrypoint":
			entry = value
		case "cc_is_subagent":
			sub = value != "false"
		}
	}
	s.Side = sub || len(r.Tools) == 0
	s.Person = ok && !s.Side && entry == "cli" && strings.HasSuffix(agent, ", cli)")
	return s
}

// codexSpeaker reads the header X-Codex-Turn-Metadata: a JSON object that says who began the thread, what began the turn, and
// what the request is for.
func codexSpeaker(h http.Header) Speaker {
	s := Speaker{Client: "codex", Side: true}
	said := h.Get("X-Codex-Turn-Metadata")
	var turn struct {
		Agent  string `json:"agent_name"`
		Kind   string `json:"request_kind"`
		Source string `json:"thread_source"`
		By     string `json:"turn_trigger"`
	}
	if len(said) > maxTurnMetadata || json.Unmarshal([]byte(said), &turn) != nil {
		return s
	}
	s.Side = turn.Source != "user" || turn.Kind != "turn" || turn.Agent != "" && turn.Agent != "/root"
	s.Person = !s.Side && turn.By == "user" && h.Get("Originator") == "codex-tui"
	return s
}

// Typed lists the parts of a message that a person typed, by their positions. Each of them is one text.
func (s Speaker) Typed(r *wire.Request, message int) []int {
	m := &r.Messages[message]
	if !s.Person || m.Role != wire.RoleUser {
		return nil
	}
	for i := range m.Parts {
		// Beside a result stands what the client adds to it.
		if k := m.Parts[i].Kind; k == wire.Result || k == wire.Call || k == wire.Other {
			return nil
		}
	}
	switch s.Client {
	case "claude":
		return claudeTyped(r, m)
	case "codex":
		if len(m.Parts) > 0 && codexWrote(r.Words(&m.Parts[0])) {
			return nil
		}
		return typedTexts(r, m, codexWrote)
	}
	return nil
}

// typedTexts are the texts of a message but for those that the client wrote.
func typedTexts(r *wire.Request, m *wire.Message, wrote func(string) bool) (typed []int) {
	for i := range m.Parts {
		if p := &m.Parts[i]; p.Kind == wire.Text && len(p.Texts) == 1 && p.Raw.IsZero() && !wrote(r.Words(p)) {
			typed = append(typed, i)
		}
	}
	return typed
}

// claudeTyped: of one message a person has typed the last text at most. Before it stand only texts that Claude Code wrote, each in
// an element; behind <command-name> of a command that is no local one comes the text that the command stands for.
func claudeTyped(r *wire.Request, m *wire.Message) []int {
	last := -1
	expands := false
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case wire.Media:
			continue
		case wire.Text:
		default:
			return nil
		}
		if len(p.Texts) != 1 {
			return nil
		}
		if last >= 0 {
			return nil // two texts that are in no element: one is the client's
		}
		text := strings.TrimSpace(r.Words(p))
		switch {
		case strings.HasPrefix(text, "<command-name>"), strings.HasPrefix(text, "<command-message>"):
			expands = true
		case strings.HasPrefix(text, "<local-command-stdout>"), strings.HasPrefix(text, "<local-command-stderr>"):
			expands = false
		case claudeWrote(text):
			if !inElement(text) {
				return nil
			}
		default:
			last = i
		}
	}
	if last < 0 || expands {
		return nil
	}
	return []int{last}
}

// inElement says that a text begins with an element or a note in brackets.
func inElement(text string) bool {
	return text == "" || text[0] == '<' || text[0] == '['
}

// claudeOpenings begin texts of Claude Code and of its hooks in the role of the user, outside of elements.
var claudeOpenings = []string{
	"This session is being continued from", "CRITICAL: Respond with TEXT ONLY", "Implement the following plan", "Caveat: The messages below",
	"Stop hook ", "Base directory for this skill", "Another Claude session", "Continue from where you left off", "Your task is to create a detailed summary",
	"Unknown skill", "The user ", "API Error",
}

// claudeWrote says that a text is none that a person typed: an element (a reminder, a command, a notification), a note in brackets
// ([Request interrupted by user]), or an opening of the client's own. A person's prompt that looks so is not taken for one.
func claudeWrote(text string) bool { return clientWrote(text, claudeOpenings) }

// codexOpenings likewise: the project's AGENTS.md, and a summary of what was compacted.
var codexOpenings = []string{"# AGENTS.md instructions", "Another language model started", "Generate a concise", "Warning:", "Message Type:", "Sender:"}

func codexWrote(text string) bool { return clientWrote(text, codexOpenings) }

func clientWrote(text string, openings []string) bool {
	text = strings.TrimSpace(text)
	if inElement(text) {
		return true
	}
	for _, o := range openings {
		if strings.HasPrefix(text, o) {
			return true
		}
	}
	return false
}
