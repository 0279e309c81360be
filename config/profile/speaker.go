package profile

import "strings"

// Request gives the properties of a request to a model by which its speaker is told.
type Request struct {
	Header func(name string) string
	Tools  int // that are offered to the model
	// System is the first block of the system prompt; ok is false where there is none, or it is longer than [MaxSelfDescription].
	System func() (text string, ok bool)
}

// MaxSelfDescription bounds what is read of a text in which an agent describes its request, in bytes.
const MaxSelfDescription = 16 << 10

// Origin is the speaker of a request.
type Origin struct {
	// Person is true when whoever writes the prompts is a person at the agent's prompt: no script (claude -p, codex exec), no
	// sub-agent, no task of the agent's own.
	Person bool
	// Side is true when the request is none of the conversation with the user: a sub-agent's, or one of the agent's own, such as
	// the title of the session.
	Side bool
}

// Said is one part of a message in the role of the user. No part of the message is a call or a result: beside a result stands what
// the agent adds to it.
type Said struct {
	Text  string
	Media bool
	// Single is true when it is one text; Bare when nothing else hangs on it.
	Single, Bare bool
}

// OfUserAgent finds the agent whose requests carry such a User-Agent.
func OfUserAgent(agent string) (*Agent, bool) {
	for _, a := range known {
		if a.UserAgent != "" && strings.HasPrefix(agent, a.UserAgent) {
			return a, true
		}
	}
	return nil, false
}

// inElement reports whether a text begins with an element or a note in brackets.
func inElement(text string) bool {
	return text == "" || text[0] == '<' || text[0] == '['
}

// agentWrote reports whether a text is none that a person typed: an element (a reminder, a command, a notification), a note in brackets
// ([Request interrupted by user]), or an opening of the agent's own. A person's prompt that looks so is not taken for one.
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
