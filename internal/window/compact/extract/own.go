package extract

import (
	"slices"
	"strings"
)

// contextTags name elements that clients put around or before what the user typed. Claude
// Code writes reminders and the output of local commands, Codex the environment and the
// permissions, Gemini CLI the session, Cline the editor's state.
var contextTags = []string{
	"system-reminder", "environment_context", "user_instructions", "session_context", "permissions",
	"turn_aborted", "local-command-caveat", "local-command-stdout", "local-command-stderr",
	"environment_details", "recommended_plugins", "skills_instructions", "apps_instructions",
	"collaboration_mode", "personality_spec", "token_budget", "model_switch", "INSTRUCTIONS",
	"workspace_info", "environment_info", "reminderInstructions", "ide_selection", "ide_opened_file",
}

// contextEndings end the names of elements of the same kind that are not in the list: new
// clients keep coming, their habits of naming are older.
var contextEndings = []string{"_context", "-context", "_instructions", "-instructions", "-reminder", "_reminder", "-caveat"}

// Own returns the part of text that the user typed: without the blocks a client adds, with the space around
// it trimmed; "" when the client wrote all of it.
func Own(text string) string {
	if !strings.ContainsAny(text, "<#T") { // every client's addition starts with one of these
		return strings.TrimSpace(text)
	}
	rest := strings.TrimSpace(text)
	if isGeminiSetup(rest) {
		return ""
	}
	if strings.HasPrefix(rest, "# AGENTS.md instructions") {
		// Codex: a heading, then the file between two tags of its own.
		end := strings.Index(rest, "</INSTRUCTIONS>")
		if end < 0 {
			return ""
		}
		return Own(rest[end+len("</INSTRUCTIONS>"):])
	}
	var kept strings.Builder
	for tries := 0; tries < maxElements; {
		at := strings.IndexByte(rest, '<')
		if at < 0 {
			break
		}
		whole, looked := elementLength(rest[at:])
		if looked {
			tries++
		}
		if whole == 0 {
			kept.WriteString(rest[:at+1])
			rest = rest[at+1:]
			continue
		}
		kept.WriteString(rest[:at])
		rest = rest[at+whole:]
	}
	kept.WriteString(rest)
	return strings.TrimSpace(kept.String())
}

// isGeminiSetup reports whether a text is the first message of Gemini CLI or a client built from it: "This is the Gemini CLI. We are
// setting up the context for our chat. …".
func isGeminiSetup(text string) bool {
	first := text[:min(len(text), 200)]
	return strings.HasPrefix(first, "This is ") && strings.Contains(first, "We are setting up the context for our chat")
}

// isContext reports whether clients add an element of that name; it is not the user's words.
func isContext(name string) bool {
	if slices.Contains(contextTags, name) {
		return true
	}
	for _, ending := range contextEndings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

const (
	// maxTag bounds the length of a name.
	maxTag = 40
	// maxElements bounds how often the end of an element is looked for, so that a text of
	// nothing but openings is not read again for each of them.
	maxElements = 256
)

// elementLength returns the length of a client's element <name …>…</name> at the start of text, 0 if there is none; looked means that
// the text was searched for the element's end. Codex writes a space into a name ("<permissions instructions>"): the first word is enough.
func elementLength(text string) (length int, looked bool) {
	i := 1
	for i < len(text) && i <= maxTag && (text[i] == '_' || text[i] == '-' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z') {
		i++
	}
	name := text[1:i]
	if name == "" || i >= len(text) || text[i] != '>' && text[i] != ' ' || !isContext(name) {
		return 0, false
	}
	end := strings.Index(text, "</"+name)
	if end < 0 {
		return 0, true
	}
	shut := strings.IndexByte(text[end:], '>')
	if shut < 0 {
		return 0, true
	}
	return end + shut + 1, true
}
