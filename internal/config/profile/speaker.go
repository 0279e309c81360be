package profile

import "strings"

// Request holds the properties of a request to a model by which its speaker is recognised.
type Request struct {
	Header func(name string) string
	Tools  int // that are offered to the model
	// System returns the first block of the system prompt; ok is false if there is none, or it is longer than [MaxSelfDescription].
	System func() (text string, ok bool)
}

// MaxSelfDescription bounds a text in which an agent describes its request, in bytes; a longer one is not read.
const MaxSelfDescription = 16 << 10

// Origin says who speaks in a request.
type Origin struct {
	// Person reports whether whoever writes the prompts is a person at the agent's prompt: no script (claude -p, codex exec), no
	// sub-agent, no task of the agent's own.
	Person bool
	// Side reports whether the request is not part of the conversation with the user: a sub-agent's, or one of the agent's own, such as
	// the title of the session.
	Side bool
}

// Said is one part of a message in the role of the user. The message has no call and no result, because beside a result the texts are the agent's.
type Said struct {
	Text  string
	Media bool
	// Single reports whether the part is one text, Bare whether it has no other properties.
	Single, Bare bool
}

// OfUserAgent returns the agent whose requests have a User-Agent like this; false if there is none.
func OfUserAgent(agent string) (*Agent, bool) {
	for _, a := range known {
		if a.UserAgent != "" && strings.HasPrefix(agent, a.UserAgent) {
			return a, true
		}
	}
	return nil, false
}

// inElement reports whether a text is empty or begins with an element or a note in brackets.
func inElement(text string) bool {
	return text == "" || text[0] == '<' || text[0] == '['
}

// agentWrote reports whether a text was not typed by a person: it is empty, an element (a reminder, a command, a notification), a note in brackets
// ([Request interrupted by user]), or begins with one of the agent's openings. A person's prompt that looks so counts as not typed.
func agentWrote(text string, openings []string) bool {
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
