package wire

import "bytes"

// requests are the words with which agents ask a model for a summary of their own
// history, as the clients have them (Claude Code 2.1, Codex 0.169, Gemini CLI 0.61 and the
// older words that Qwen Code still has, opencode 1.18). They stand near the beginning of
// the system prompt or of a text of the last message. None has a character that a client
// might write as an escape.
var requests = [...][]byte{
	[]byte("Your task is to create a detailed summary of "),
	[]byte("You are a helpful AI assistant tasked with summarizing conversations"),
	[]byte("You are performing a CONTEXT CHECKPOINT COMPACTION"),
	[]byte("specialized system component responsible for distilling chat history"),
	[]byte("component that summarizes internal chat history into a given structure"),
	[]byte("You are a context summarization agent"),
	[]byte("Create a new anchored summary from the conversation history"),
	[]byte("anchored context summarization assistant"),
}

const (
	// Claude Code puts some 600 bytes of warnings before its request.
	requestBytes = 2 << 10
	// A request stands in one of the last texts of a message: reminders may follow it.
	requestParts = 8
)

// summarising returns Summarising if the agent asks for a summary, otherwise 0.
func summarising(r *Request) Bypass {
	if n := len(r.Messages); n > 0 {
		if first := &r.Messages[0]; first.Role == RoleSystem && r.asksForSummary(first.Parts[:min(len(first.Parts), requestParts)]) {
			return Summarising
		}
		for n > 1 && r.Messages[n-1].Role == RoleSystem {
			n-- // reminders of Claude Code
		}
		last := &r.Messages[n-1]
		if last.Role == RoleUser && r.asksForSummary(last.Parts[max(0, len(last.Parts)-requestParts):]) {
			return Summarising
		}
	}
	if r.asksForSummary(r.System[:min(len(r.System), requestParts)]) {
		return Summarising
	}
	return 0
}

func (r *Request) asksForSummary(parts []Part) bool {
	for i := range parts {
		if parts[i].Kind != Text || len(parts[i].Texts) != 1 {
			continue
		}
		lit := parts[i].Texts[0]
		head := r.Body[lit.Start:min(lit.End, lit.Start+requestBytes)]
		for _, words := range requests {
			if bytes.Contains(head, words) {
				return true
			}
		}
	}
	return false
}
