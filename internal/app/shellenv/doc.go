// Package shellenv writes the text by which an interactive shell starts agents in runs: `claude` typed at a prompt becomes
// `plimsoll run -- claude`.
//
//	text, err := shellenv.Script(shellenv.Options{Shell: "zsh"}) // for eval "$(plimsoll shellenv)"
//
// The text defines a function for each agent that is installed. In a shell that is not interactive nothing is defined, and a function that
// got there another way (bash can export them) calls the agent itself: scripts, and what an agent starts, are as they were. A function of
// the same name that the user has made is left alone, and that is said. The shell's variable __plimsoll_tools, which is not exported, has
// the names that were defined: by it the text of Undo knows what to remove.
//
// For bash and zsh the text uses the word "function", after which no alias is expanded: alias claude='claude --verbose' goes on working.
// In a plain sh the alias is put aside while the function is defined. The texts are tested in real shells, in a pseudo-terminal and without.
package shellenv
