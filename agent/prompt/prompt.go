package prompt

import "github.com/plimsoll/plimsoll/agent"

// Options say what the prompt is for.
type Options struct {
	// Intro says who the agent is; "" goes by Kind.
	Intro string
	// Kind is "argocd" for the agent of that name, or "".
	Kind string
	// Extra is appended as it is.
	Extra string
	// SearchForced: search before list, narrower pages.
	SearchForced bool
	// MaxTokens is what one answer of the model may have; 0 is not known.
	MaxTokens int
	// Window is the model's, in tokens; 0 is not known.
	Window int
}

// Compose returns what makes the prompt of a list of tools.
func Compose(o Options) func([]agent.ToolSpec) string {
	return func([]agent.ToolSpec) string { return o.Intro }
}
