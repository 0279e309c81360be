// Package shellenv writes the text by which an interactive shell starts agents in runs: `claude` typed at a prompt becomes
// `plimsoll run -- claude`.
//
//	text, err := shellenv.Script(shellenv.Options{Shell: "zsh"}) // for eval "$(plimsoll shellenv)"
//
// # What the text does
//
// It defines a function for each agent that is installed. The function passes its arguments on as they are, and its status is that of
// the run. In a shell that is not interactive nothing is defined, and a function that got there another way (bash can export them, and
// agents hand the functions of their user's shell to the shells that they start) calls the agent itself. So scripts, and what an
// agent starts, are as they were. `command claude` goes around the function in every shell.
//
// A function of the same name that the user has made is left alone, and that is said. The names of the functions that were defined are
// in the shell's variable __plimsoll_tools, which is not exported: by it the text of Undo knows what to remove, and the text may be
// read twice.
//
// The text for bash and zsh uses the word "function", after which no alias is expanded: alias claude='claude --verbose' goes on
// working, and calls the function. In a plain sh the alias is put aside while the function is defined.
//
// # Concurrency and tests
//
// All functions may be called from any goroutine. They read the environment and look for files in PATH, and start nothing. The
// texts are run in real shells: dash, bash, zsh and fish, in a pseudo-terminal and without.
package shellenv
